#!/bin/sh
# hook-receive: what the senders' own packages sign is good, and with one bit
# changed it is not.  So is what hook-sign makes, and what hook-deliver sends.
. "${0%/*}/lib.sh"
need_db
. "$top/t/receive.sh"
whsec=whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=
cat "$top"/t/payloads/*.json 2>/dev/null | head -c 5000 >"$work/body"
[ -s "$work/body" ] || printf '{"id":"evt_1","n":1.0}' >"$work/body"
printf '{"id":"evt_1","type":"a.b","object":"event"}' >"$work/event"
cd "$top/t/npm" || exit
for s in $(node -p 'Object.keys(require("./official.js")).join(" ")'); do
	case $s in
	stripe)	secret=whsec_test_secret scheme=stripe body=$work/event ;;
	octokit | github)
		secret=topsecret scheme=github body=$work/body ;;
	*)	secret=$whsec scheme=standard_webhooks body=$work/body ;;
	esac
	source_of "$s" "$scheme" "$secret"
	echo "$s $scheme $body" >>"$work/senders"
done
source_of self standard "$whsec"
receiver
send() {	# SOURCE BODY: signed by $work/headers
	curl -s -o /dev/null -w '%{http_code}' -H "@$work/headers" \
	    --data-binary "@$2" "$rcv/webhooks/$1"
}
while read -r s scheme body; do
	node sign.js "$s" "$work/secret.$s" "$body" >"$work/headers"
	is "$(send "$s" "$body")" 202 "$s signs, and it is taken"
	perl -pe 'BEGIN { $/ = undef } substr($_, 7, 1) ^= "\x01"' \
	    "$body" >"$work/bit"
	is "$(send "$s" "$work/bit")" 401 '... with one bit changed it is not'
	sql "select encode(body, 'base64') from webhook_inbox
	    where source = '$s'" | base64 -d | cmp - "$body"
	check '... and kept byte for byte'
done <"$work/senders"
[ "$(wc -l <"$work/senders")" -ge 4 ]
check 'four packages were tried'

hook-sign -s standard -k "$work/secret.self" -i msg_1 <"$work/body" \
    >"$work/headers"
is "$(send self "$work/body")" 202 'what hook-sign makes is taken'
is "$(send self "$work/bit")" 401 '... and nothing else'

# From outbox to inbox
hook-sub add -k "$work/secret.self" "$rcv/webhooks/self" >/dev/null
for n in 1 2 3; do
	printf '{"n":%d}' "$n" | hook-enqueue -t order.made >/dev/null
done
hook-fanout
hook-deliver
is "$(sql "select state, count(*), min(last_status), max(last_status)
    from webhook_deliveries group by 1")" 'delivered|3|202|202' \
    'what hook-deliver sends is taken'
is "$(sql "select string_agg(n, ' ' order by n) from (
    select convert_from(body, 'UTF8')::json -> 'data' ->> 'n' as n
    from webhook_inbox
    where source = 'self' and event_type = 'order.made') m")" '1 2 3' \
    '... with its type'
done_testing
