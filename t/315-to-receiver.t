#!/bin/sh
# hook-sign | curl, to hook-receive: the example of the page, and what each
# scheme signs is stored once.
. "${0%/*}/lib.sh"
unset HOOK_SECRET
need_db
. "$top/t/receive.sh"
cd "$work" || exit
printf s3cret >text
echo whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE= >whsec
printf '%064d' 17 >hex
openssl genpkey -algorithm ED25519 -out ed.pem 2>/dev/null
openssl pkey -in ed.pem -pubout >ed.public
openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 \
    -out ec.pem 2>/dev/null
openssl pkey -in ec.pem -pubout >ec.public
printf '{"id":17}' >payload.json
cp text secret

hook-source add -s github -k secret github >/dev/null
hook-sign -l | jq -r '.scheme | select(. != "github")' >schemes
while read -r scheme; do
	case $scheme in
	standard_webhooks) key=whsec ;;
	adyen_*) key=hex ;;
	discord) key=ed.public ;;
	sendgrid) key=ec.public ;;
	*) key=text ;;
	esac
	hook-source add -s "$scheme" -k $key \
	    -u "https://example.com/webhooks/$scheme" "$scheme" >/dev/null ||
	    note "no source $scheme"
done <schemes
receiver

# The page's own words, but for the port.
awk '/^Send what GitHub would:/ { on = 1 } on && /^\.Ed/ { exit }
    copy { sub(/\\e$/, "\\"); print } on && /^\.Bd/ { copy = 1 }' \
    "$top/man/hook-sign.1" | sed "s/127.0.0.1:8080/127.0.0.1:$RCV_PORT/" >sent
is "$(wc -l <sent)" 3 'hook-sign(1) has an example'
run sh -e ./sent
exits 0 '... that runs'
is "$(cat out)" stored '... and hook-receive stores what it sends'
is "$(sql "select source, message_id, event_type,
    convert_from(body, 'UTF8') from webhook_inbox")" \
    'github|72d3162e|push|{"id":17}' '... with its id and type'

post() {	# SCHEME FILE: the status
	curl -sS -o answer -w '%{http_code}' -H @headers --data-binary "@$2" \
	    "$rcv/webhooks/$1"
}
while read -r scheme; do
	key=text
	cp payload.json body
	case $scheme in
	standard_webhooks) key=whsec ;;
	adyen_*) key=hex ;;
	discord) key=ed.pem ;;
	sendgrid) key=ec.pem ;;
	linear)	printf '{"webhookTimestamp":%s000}' "$(date +%s)" >body ;;
	twilio) printf 'Sid=1&Body=a+b' >body ;;
	esac
	[ "$scheme" != adyen_notification_item ] ||
	    echo '{"notificationItems":[{"NotificationRequestItem":{}}]}' >body
	hook-sign -s "$scheme" -k $key -u "https://example.com/webhooks/$scheme" \
	    <body >headers
	case $scheme in
	mailgun|adyen_n*)
		mv headers body
		: >headers ;;
	esac
	sent=$(post "$scheme" body)
	case $scheme in
	xero)	want=200 ;;
	*)	want=202 ;;
	esac
	is "$sent" $want "$scheme: what hook-sign signs is stored"
	is "$(post "$scheme" body)" 200 '... once'
	sed 's/1/2/' body >changed
	case $scheme in
	gitlab_token|adyen_n*) ;;	# of which no such byte is signed
	*) is "$(post "$scheme" changed)" 401 '... and nothing else' ;;
	esac
done <schemes
is "$(stored)" "$(hook-sign -l | wc -l)" 'one message of each scheme'
! grep -E 's3cret|MDEyMzQ1Njc4' "$rcv_log"
check 'and no secret is in the log'
is "$(sql "select count(*) from webhook_inbox
    where array_to_string(headers, ' ') ~ 's3cret'")" 0 '... or stored'

done_testing
