#!/bin/sh
# hook-sign | hook-verify by every scheme; a CGI request's URL; what a refusal
# says the likely cause is; the list of schemes.
. "${0%/*}/lib.sh"
unset HOOK_SECRET
cd "$work" || exit
url='https://example.com/hook?a=1'

# Secrets of each kind: to sign with, and to check with.
printf 's3cret' >text
echo whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw >whsec
printf '%064d\n' 17 >hex
openssl genpkey -algorithm ED25519 -out ed.pem 2>/dev/null
openssl pkey -in ed.pem -pubout -outform DER | tail -c 32 |
    od -An -v -tx1 | tr -d ' \n' >ed.public
openssl pkey -in ed.pem -outform DER | tail -c 32 |
    od -An -v -tx1 | tr -d ' \n' >ed.seed
openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 \
    -out ec.pem 2>/dev/null
openssl pkey -in ec.pem -pubout -outform DER | base64 -w 0 >ec.public
openssl pkey -in ec.pem -pubout >ec.public.pem
openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-384 \
    -out p384.pem 2>/dev/null
printf '{"a":1}' >body

run hook-verify -l
exits 0 'the schemes are listed'
mv out list
is "$(jq -r .scheme list | sort | xargs)" "$(jq -r .scheme \
    "$top"/t/vectors/[a-z]*.json | sed 's/^hmac_raw$/hookutils_legacy/' |
    sort | xargs)" '... those of the vectors, and our own legacy one'
jq -r -f "$top/t/schemes.jq" list >want
awk '/^\.Ss Schemes/ { on = 1 } on && /^\.Ed/ { exit } copy { print }
    on && /^\.Bd/ { copy = 1 }' "$top/man/hook-signature.5" >page
diff want page >differ
check '... and hook-signature(5) has the same table' ||
    note "$(head -n 20 differ)"
run hook-sign -l -o json
cmp -s out list
check '... hook-sign -l lists the same'
run hook-sign -l -o table
is "$rc $(wc -l <out)" '0 46' '... as a table, with a heading'
awk 'length > 132' out >wide
[ ! -s wide ]
check '... that fits a wide terminal'
jq -r '[.scheme, .also // empty] | join(" ")' list >names
n=0
while read -r scheme also; do
	for name in $also; do
		n=$((n + 1))
		a=$(hook-sign -s "$name" -u "$url" -k text </dev/null 2>&1 |
		    sed "s/-s [^ ]* //")
		b=$(hook-sign -s "$scheme" -u "$url" -k text </dev/null 2>&1 |
		    sed "s/-s [^ ]* //")
		case $name in
		standard|legacy) ;;	# an id of its own each time
		*) is "$a" "$b" "$name is $scheme" ;;
		esac
	done
done <names
[ $n -ge 16 ]
check 'the short names were tried'

round() {	# SCHEME INSIDE
	sign=text check=text
	cp body b
	case $1 in
	standard_webhooks) sign=whsec check=whsec ;;
	adyen_*) sign=hex check=hex ;;
	discord) sign=ed.seed check=ed.public ;;
	sendgrid) sign=ec.pem check=ec.public ;;
	esac
	case $1 in
	adyen_notification_item)
		echo '{"notificationItems":[{"NotificationRequestItem":{}}]}' >b ;;
	linear)	printf '{"webhookTimestamp":%s000}' "$(date +%s)" >b ;;
	twilio)	printf 'From=%%2B1&Body=a+b&Empty=' >b ;;
	esac
	run hook-sign -s "$1" -k $sign -u "$url" -m PUT <b
	mv out headers
	exits 0 "$1 signs"
	[ "$2" = false ] || mv headers b
	[ "$2" = true ] || headers=$(cat headers)
	run hook-verify -s "$1" -k $check -u "$url" -m PUT \
	    -H "${headers-}" <b
	exits 0 '... and verifies'
	cmp -s out b
	check '... and the body comes out'
	sed 's/1/2/' b >changed
	[ "$1" != adyen_notification_item ] ||
	    sed 's/"hmacSignature":"./&./' b >changed
	[ "$1" != gitlab_token ] || headers='x-gitlab-token: S3cret'
	run hook-verify -s "$1" -k $check -u "$url" -m PUT \
	    -H "${headers-}" <changed
	[ "$rc" = 1 ] && [ ! -s out ] && [ "$(wc -l <err)" = 1 ]
	check '... but not another' || note "exit $rc" "$(cat err)"
}
jq -r '"\(.scheme) \(.inside)"' list >all
while read -r scheme inside; do
	round "$scheme" "$inside"
done <all

# An id on demand, where it is a header of the sender's.
like "$(hook-sign -s github -k text -i id_1 <body)" \
    '^x-github-delivery: id_1$' '-i adds the header with the id'
is "$(hook-sign -s github -k text <body | wc -l)" 1 '... only then'
is "$(hook-sign -s stripe -k text -i id_1 <body | wc -l)" 1 \
    '... and not where it stands in the body'

# Keys of pairs, in every form.
pair() {	# SCHEME SIGN CHECK
	h=$(hook-sign -s "$1" -k "$2" <body) &&
	    hook-verify -q -s "$1" -k "$3" -H "$h" <body
	is $? 0 "$1: $2 signs, $3 checks"
}
openssl pkey -in ed.pem -pubout >ed.public.pem
cat ed.seed ed.public >ed.both
openssl ec -in ec.pem -out sec1.pem 2>/dev/null
pair discord ed.seed ed.public.pem
pair discord ed.pem ed.public
pair discord ed.both ed.both
pair discord ed.pem ed.pem
pair sendgrid ec.pem ec.public.pem
pair sendgrid sec1.pem ec.pem
h=$(hook-sign -s sendgrid -k ec.pem <body)
printf %s "$h" | sed -n 's/^x-twilio.*signature: //p' | base64 -d >sig
{ printf %s "$h" | sed -n 's/.*timestamp: //p' | tr -d '\n'; cat body; } >signed
openssl dgst -sha256 -verify ec.public.pem -signature sig signed >/dev/null
check 'openssl accepts what we sign by ECDSA'

while IFS='|' read -r status why args; do
	eval "run hook-$args" <body
	is "$rc $(cat out)" "$status " "$status: $why"
	is "$(wc -l <err)" 1 '... and one line of why'
	! grep -qF -e "$(cat ed.seed)" -e s3cret err
	check '... without the secret'
done <<'EOF'
64|a signature of two secrets|sign -s github -k text -k hex
64|no URL|sign -s square -k text
64|an empty URL|sign -s square -k text -u ''
64|no URL to check with|verify -s twilio -k text
64|-o of nothing|sign -l -o xml
64|-l and an argument|verify -l all
65|a public key|sign -s discord -k ed.public.pem
65|another public key|sign -s sendgrid -k ec.public
65|its PEM|sign -s sendgrid -k ec.public.pem
65|another curve|sign -s sendgrid -k p384.pem
65|ed25519 for P-256|verify -s sendgrid -k ed.public.pem
65|P-256 for ed25519|verify -s discord -k ec.public.pem
65|text for hex|sign -s adyen_header -k text
65|text for a public key|verify -s discord -k text
65|text for another|verify -s sendgrid -k text
65|whsec_ for base64 of a public key|verify -s sendgrid -k whsec
65|text for whsec_|verify -s standard -k text
65|a body that Adyen does not send|sign -s adyen -k hex
EOF
printf '[]' >array
run hook-sign -s mailgun -k text <array
exits 65 'an array has no place for a signature'
hook-sign -s mailgun -k text <body >once
run hook-sign -s mailgun -k text <once
exits 65 'what is signed is not signed again'

# CGI: the URL and the method are the server's, -u goes before.
cgi() {
	printf %s '{"a":1}' | env -i PATH="$PATH" ASAN_OPTIONS="$ASAN_OPTIONS" \
	    HTTP_X_SQUARE_HMACSHA256_SIGNATURE="$sig" "$@" \
	    hook-verify -q -s square -k text -e
}
square() {
	sig=$(hook-sign -s square -k text -u "$1" <body)
	sig=${sig#*: }
}
square 'https://example.com/hook?a=1'
cgi HTTPS=on HTTP_HOST=example.com REQUEST_URI='/hook?a=1'
is $? 0 'the URL by HTTPS, Host and REQUEST_URI'
cgi REQUEST_SCHEME=https SERVER_NAME=example.com SERVER_PORT=443 \
    SCRIPT_NAME=/hook QUERY_STRING='a=1'
is $? 0 'the URL by SERVER_NAME, SCRIPT_NAME and QUERY_STRING'
cgi HTTPS=off HTTP_HOST=example.com REQUEST_URI='/hook?a=1'
is $? 1 'HTTPS=off is http'
cgi HTTPS=off HTTP_X_FORWARDED_PROTO=https HTTP_HOST=example.com \
    REQUEST_URI='/hook?a=1'
is $? 1 'a forwarded header is not believed'
cgi HTTPS=on HTTP_HOST=evil.example HTTP_X_FORWARDED_HOST=example.com \
    REQUEST_URI='/hook?a=1'
is $? 1 'nor is a forwarded host'
cgi HTTPS=on
is $? 1 'no URL is a no'
printf %s '{"a":1}' | HTTP_X_SQUARE_HMACSHA256_SIGNATURE=$sig HTTPS=off \
    HTTP_HOST=127.0.0.1:8080 REQUEST_URI=/ hook-verify -q -s square -k text \
    -e -u 'https://example.com/hook?a=1'
is $? 0 '-u goes before what the server saw'
square http://example.com:8080/x/y
cgi SERVER_NAME=example.com SERVER_PORT=8080 SCRIPT_NAME=/x PATH_INFO=/y
is $? 0 'a port that is not the usual one'
v2=$(hook-sign -s hubspot_v2 -k text -m GET -u http://a.example/h <body)
HTTP_X_HUBSPOT_SIGNATURE=${v2#*: } REQUEST_METHOD=GET HTTP_HOST=a.example \
    REQUEST_URI=/h hook-verify -q -s hubspot_v2 -k text -e <body
is $? 0 'the method is REQUEST_METHOD'
HTTP_X_HUBSPOT_SIGNATURE=${v2#*: } REQUEST_METHOD=POST HTTP_HOST=a.example \
    REQUEST_URI=/h hook-verify -q -s hubspot_v2 -k text -e <body
is $? 1 '... and it is signed'

# Header names that a proxy or shell spells its own way.
h=$(hook-sign -s adyen_header -k hex <body)
HTTP_HMACSIGNATURE=${h#*: } hook-verify -q -s adyen_header -k hex -e <body
is $? 0 'a header without dashes is found among the variables'
is "$(hook-sign -s github -k text <body | sed 's/^x-hub/X-HUB/' >h
    hook-verify -s github -k text -H "$(cat h)" <body | jq .a)" 1 \
    'a good body goes on to jq'

# Likely causes: scheme, secret of the sender, ours, options.
why() {		# PATTERN NAME
	[ "$rc" = 1 ] && [ ! -s out ] && [ "$(wc -l <err)" = 1 ] &&
	    ! grep -qF -e s3cret -e MfKQ9r8G -e "$url" err
	check "$2: one line that gives nothing away" || note "$(cat err)"
	like "$(cat err)" "$1" '... and the cause'
}
try() {		# SCHEME SENDER'S OURS [option...]
	scheme=$1
	h=$(hook-sign -s "$1" -k "$2" -u "$url" -N 1700000000 <body)
	ours=$3
	shift 3
	run hook-verify -s "$scheme" -k "$ours" -u "$url" -N 1700000000 \
	    -H "$h" "$@" <body
}
printf s3cret | base64 >b64
printf s3cret | od -An -tx1 | tr -d ' \n' >hexed
printf ' s3cret' >blank
printf whsec_s3cret >prefixed
printf other >other
try github text b64
why 'good with the secret decoded from base64' 'a secret that was base64'
try stripe text hexed
why 'good with the secret decoded from hex' 'a secret that was hex'
try slack text blank
why 'good without the white space' 'a secret with a space'
try stripe text prefixed
why 'good with the secret.s text without whsec_' 'a secret with a prefix'
printf '"s3cret"\n' >quoted
try github text quoted
why 'white space, quotes or' 'a secret in quotes'
printf '\357\273\277s3cret' >marked
try github text marked
why 'byte-order mark around' 'a secret behind a byte-order mark'
while IFS='|' read -r scheme secret want; do
	printf %s "$secret" >thing
	try $scheme text thing
	why "$want" "a secret that is another thing: $secret"
done <<'EOF'
stripe|sk_test_4eC39HqLyjWDarjtT1zdp7dc|an API key, where
twilio|AC0123456789abcdef0123456789abcdef|account's SID, where
twilio|AC0123456789abcdef0123456789abcdeX|another secret, or another URL
github|ghp_16C7e42F292c6912E7710c838347Ae178B4a|an access token, where
slack|xoxb-17653672481-19874698323|a token, where
EOF

# Bodies that something changed on their way
h=$(hook-sign -s github -k text -N 1700000000 <body)
with() {	# a body on standard input
	run hook-verify -s github -k text -H "$h"
}
{ printf '\357\273\277' && cat body; } | with
why 'good without the byte-order mark' 'a byte-order mark added'
gzip -c body | with
why 'good with the body unpacked' 'a body that is compressed'
with </dev/null
why 'the body is lost: it is empty' 'a body that is lost'
{ printf '\357\273\277' && cat body; } >markbody
h=$(hook-sign -s github -k text -N 1700000000 <markbody)
with <body
why 'good with a byte-order mark' 'a byte-order mark lost'

printf 'whsec_%s' "$(base64 <text)0000000000000000" >wh
cp wh wh.text
h="webhook-id: m
webhook-timestamp: 1700000000
webhook-signature: v1,$(printf 'm.1700000000.{"a":1}' |
    openssl dgst -sha256 -hmac "$(cat whsec)" -binary | base64)"
run hook-verify -s standard -k whsec -N 1700000000 -H "$h" <body
why 'good with the secret taken as text' 'base64 that was read as text'
try github other text -K hex -K other
why 'good with the secret of other' 'another secret that we know'
try github other text -K hex
why 'another secret, or the body was changed' '... or do not'
try gitlab other text
why 'does not match: another secret$' 'a token that is another'

try square text text -u http://example.com/hook?a=1
why 'good with https: in the URL' 'http behind a proxy'
try twilio text text -u https://example.com/hook/?a=1
why 'good without the slash' 'a slash too many'
try square text text -u https://example.com/hook
why 'another secret, or another URL' 'the query lost'
try hubspot_v3 text text -m PUT
why 'good with another method' 'another method'

h=$(hook-sign -s github -k text <body)
as() {		# HEADER SCHEME
	run hook-verify -s "$2" -k text -N 1700000000 -H "$1" <body
}
as 'x-hub-signature-256: '"${h#*sha256=}" github
why 'it does not begin as this scheme' 'a prefix lost'
as "$h" slack
why 'no signature header: the headers are github or meta' 'another scheme'
as 'x-hub-signature-256: sha256=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=' \
    github
why 'base64, where hex is due' 'base64 for hex'
as "x-shopify-hmac-sha256: ${h#*sha256=}" shopify
why 'hex, where base64 is due' 'hex for base64'
as 'x-shopify-hmac-sha256: AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' \
    shopify
why 'base64 without its padding' 'padding lost'
as 'x-hub-signature-256: sha256=00' github
why 'too long or too short' 'a signature cut off'
as 'stripe-signature: t=1700000000000,v1=00' stripe
why 'not a number of seconds: milliseconds' 'milliseconds for seconds'
as "workos-signature: t=1700000000, v1=${h#*sha256=}" workos
why 'in seconds, where milliseconds are due' 'seconds for milliseconds'
as 'stripe-signature: t=1700000000,v9=00' stripe
why 'none of the tags of this scheme' 'a version that is not known'
as 'svix-id: a' github
why 'no signature header$' 'nothing to go by'
as 'webhook-id: x' mailgun
why 'no signature in the body' 'a body without a signature'
h=$(hook-sign -s standard -k whsec -N 1700000000 <body | sed 's/^webhook/svix/')
as "$h" cloudflare
why 'the headers are standard_webhooks' 'the older names, another scheme'

done_testing
