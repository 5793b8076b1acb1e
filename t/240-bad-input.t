#!/bin/sh
# Bad input to hook-enqueue and hook-sub: one clear line, the documented exit
# code, nothing stored.
. "${0%/*}/lib.sh"
need_db
unset HOOK_ALLOW_NET

refused() {	# STATUS NAME: the last run was, in one line
	is "$rc $(wc -c <"$work/out") $(wc -l <"$work/err")" "$1 0 1" "$2" ||
	    note "$(head -c 500 "$work/err")"
}
body() {	# TEXT as printf %b takes it
	printf %b "$1" >"$work/in"
}

# Payloads.  The limit is small, so that over it is short.
export HOOK_MAX_PAYLOAD=100
while IFS='|' read -r input name; do
	body "$input"
	run hook-enqueue -t a <"$work/in"
	refused 65 "payload: $name"
	like "$(cat "$work/err")" '^hook-enqueue: standard input: .' \
	    '... is the matter'
done <<'EOT'
|nothing
 \n\t|only spaces
{|half of an object
{"a":1|more than half
{"a":1}}|more than one
{} {}|two
{"a":}|no value
{'a':1}|other quotes
{"a":01}|a number with a zero before it
{"a":.5}|a number with nothing before the point
{"a":+1}|a plus
[1,]|a comma too many
NaN|not a number
nul|half a null
"\\x41"|an unknown escape
"\\u12"|half an escape
"a\nb"|a line break in a string
"a\tb"|a tab in a string
"\0001"|a control character
{}\0000|a NUL after it
\0000{}|a NUL before it
"a\0000b"|a NUL in a string
"\0377"|a byte that is never UTF-8
"\0303"|half a character
"\0300\0200"|a NUL in two bytes
"\0355\0240\0200"|a surrogate in UTF-8
"\0364\0220\0200\0200"|past the last character
\0357\0273\0277{}|a byte order mark
// x\n{}|a comment
EOT
like "$(printf '\357\273\277{}' | hook-enqueue -t a 2>&1)" 'byte order mark' \
    'a byte order mark is called that'
printf '"%098d"' 1 >"$work/in"
run hook-enqueue -n -t a <"$work/in"
exits 0 '100 bytes'
printf '"%099d"' 1 >"$work/in"
run hook-enqueue -t a <"$work/in"
refused 65 '101 are over the limit'
like "$(cat "$work/err")" 'more than 100 bytes \(HOOK_MAX_PAYLOAD\)' \
    '... which is named'
unset HOOK_MAX_PAYLOAD
head -c 100000 /dev/zero | tr '\0' '[' >"$work/in"
run hook-enqueue -t a <"$work/in"
refused 65 '100,000 brackets, which no stack holds'

# Fields.
echo '{}' >"$work/in"
long=$(printf '%0256d' 1)
bad_utf8=$(printf 'a\377')
line_break=$(printf 'a\nb')
while IFS='|' read -r option value name; do
	eval "value=$value"
	run hook-enqueue -t a "$option" "$value" <"$work/in"
	refused 65 "$name"
done <<'EOT'
-t|""|an empty type
-t|$line_break|a line break in a type
-t|$bad_utf8|invalid UTF-8 in a type
-a|$line_break|a line break in an aggregate
-a|$bad_utf8|invalid UTF-8 in an aggregate
-T|$line_break|a line break in a tenant
-v|$line_break|a line break in a version
-k|""|an empty key
-k|$long|a key of 256 bytes
-k|$line_break|a line break in a key
-p|""|an empty traceparent
-p|00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331|a short traceparent
-p|00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01|capitals in one
-p|00-00000000000000000000000000000000-b7ad6b7169203331-01|no trace in one
-p|00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01|no parent in one
-p|ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01|version ff
-p|00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x|more behind it
EOT
run hook-enqueue --sql -t "$line_break" <"$work/in"
refused 65 '--sql looks at fields'
body '"\0377"'
run hook-enqueue --sql -t a <"$work/in"
refused 65 '... and at what it can of the payload'

# Lines: the second of three is bad, each way.
export HOOK_MAX_PAYLOAD=100
while IFS='|' read -r line why; do
	{
		echo '{"event_type":"a","payload":1}'
		printf '%b\n' "$line"
		echo '{"event_type":"a","payload":3}'
	} >"$work/in"
	run hook-enqueue -l <"$work/in"
	refused 65 "line: $(printf %.60s "$line")"
	like "$(cat "$work/err")" "standard input: line 2: .*$why" \
	    '... is named, and why'
done <<'EOT'
|JSON object
[]|JSON object
{"event_type":"a","payload":1|JSON object
{"event_type":"a","payload":1}x|JSON object
{"event_type":"a","payload":{"a":}}|invalid input syntax
{"event_type":"a","payload":[1}|JSON object
{"event_type":"a","payload":[1}}|invalid input syntax
{"event_type":"a","payload":1 2}|JSON object
{"event_type":"a","payload":"\\x"}|invalid input syntax
{"event_type":"a"}|no payload
{"payload":1}|no event_type
{"event_type":null,"payload":1}|no event_type
{"event_type":"","payload":1}|event_type: empty
{"event_type":7,"payload":1}|event_type: not a string
{"event_type":"a\\nb","payload":1}|event_type: control character
{"event_type":"a\\u0007","payload":1}|event_type: control character
{"event_type":"a\\u0000","payload":1}|event_type: control character
{"event_type":"a\\u007F","payload":1}|event_type: control character
{"event_type":"a\\ud800","payload":1}|invalid
{"event_type":"a","payload":1,"tenant":{}}|tenant: not a string
{"event_type":"a","payload":1,"idempotency_key":""}|idempotency_key: empty
{"event_type":"a","payload":1,"traceparent":"x"}|traceparent: not a W3C
{"event_type":"a","payload":1,"id":"x"}|unknown key "id"
{"event_type":"a","payload":1,"payload":2}|repeated key "payload"
{"event_type":"a","payload":"\0377"}|invalid UTF-8
{"event_type":"a","payload":"\0000"}|NUL byte
EOT
printf '{"event_type":"a","payload":"%%0%dd"}\n' 98 99 >"$work/form"
# shellcheck disable=SC2059
printf "$(cat "$work/form")\n" 1 1 >"$work/in"
run hook-enqueue -l <"$work/in"
refused 65 'line: a payload over the limit'
like "$(cat "$work/err")" 'line 2: payload of 101 bytes, more than 100 ' \
    '... is named, and why'
awk 'BEGIN { print "{\"event_type\":\"a\",\"payload\":1}";
    for (i = 0; i < 70000; i++) printf "x" }' >"$work/in"
run hook-enqueue -l <"$work/in"
refused 65 'a line far over the limit'
like "$(cat "$work/err")" 'line 2: too long' '... is named'
unset HOOK_MAX_PAYLOAD
is "$(sql 'select count(*) from webhook_outbox')" 0 'nothing was stored'

# URLs: forms.
while IFS= read -r url; do
	eval "url=$url"
	run hook-sub add "$url"
	refused 65 "URL: $(printf '%.60s' "$url" | tr '\t\n\r' '???')"
done <<'EOT'
''
http://user:pa55w0rd@example.com/
http://user@example.com/
http://example.com:80@10.0.0.1/
'http://127.0.0.1:80\@example.com/'
'http://127.0.0.1:80#@example.com/'
http://example.com/#part
http:///127.0.0.1/
http:/127.0.0.1/
//127.0.0.1/
example.com
file:///etc/hostname
gopher://127.0.0.1:5432/_x
ftp://example.com/
javascript:1
http://
http://:80/
http://example.com:/
http://example.com:0/
http://example.com:65536/
http://example.com:-1/
http://example.com:80abc/
'http://example.com/a b'
"$(printf 'http://example.com/a\tb')"
"$(printf 'http://example.com/a\r\nb')"
"$(printf 'http://example.com/\001')"
"$(printf 'http://ex\303\244mple.com/')"
"http://example.com/$(printf '%02048d' 1)"
EOT
run hook-sub add 'http://user:pa55w0rd@example.com/?t0psecret'
is "$(grep -cE 'pa55w0rd|t0psecret' "$work/err")" 0 \
    'what is refused is not repeated'

# URLs: literal addresses.
for host in 127.0.0.1 127.1 2130706433 0x7f000001 0177.0.0.1 0 0.0.0.0 \
    localhost LOCALHOST a.localhost '[::1]' '[::]' '[::ffff:127.0.0.1]' \
    '[::ffff:7f00:1]' '[::7f00:1]' '[64:ff9b::a9fe:a9fe]' \
    '[64:ff9b:1::7f00:1]' '[2002:7f00:1::1]' '[fe80::1]' '[fe80::1%25lo]' \
    '[fc00::1]' '[fd00:ec2::254]' 169.254.169.254 10.0.0.1 172.16.0.1 \
    172.31.255.255 192.168.0.1 100.64.0.1 192.0.0.1 198.18.0.1 224.0.0.1 \
    240.0.0.1 255.255.255.255; do
	run hook-sub add "http://$host:8080/"
	refused 65 "address: $host"
done
for host in 172.32.0.1 100.128.0.1 169.253.0.1 11.0.0.1 \
    '[2002:808:808::1]' 8.8.8.8 example.com; do
	run hook-sub add -n "http://$host:8080/"
	exits 0 "address: $host is none of them"
done
HOOK_ALLOW_NET=10.0.0.0/8 run hook-sub add -n http://10.1.2.3/
exits 0 'an allowed network'
HOOK_ALLOW_NET=10.0.0.0/33 run hook-sub add http://10.1.2.3/
refused 64 'a network that is none'

# The other settings.
url=http://example.com/
tab=$(printf 'x\ty')
e_acute=$(printf '\303\251')
while IFS='|' read -r status option value name; do
	eval "value=$value"
	run hook-sub add "$option" "$value" $url
	refused "$status" "$name"
done <<'EOT'
65|-H|"$(printf 'A: x\r\nX-Evil: 1')"|CR LF in a header
65|-H|"$(printf 'A: x\nX-Evil: 1')"|LF in a header
65|-H|"A$line_break: x"|LF in a header's name
65|-H|'A B: x'|a space in a header's name
65|-H|': x'|a header without a name
65|-H|'A'|a header without a colon
65|-H|'A:'|a header without a value
65|-H|"A: $bad_utf8"|invalid UTF-8 in a header
65|-H|"$e_acute: x"|a header's name that is not ASCII
65|-H|'Webhook-Id: x'|a header of ours
65|-H|'webhook-anything: x'|one that may be ours
65|-H|'HOST: x'|the host
65|-H|'Content-Length: 1'|the length
65|-H|'transfer-encoding: chunked'|the framing
65|-H|'Proxy-Authorization: x'|a proxy's
65|-H|"A: $(printf '%08193d' 1)"|a header over the limit
65|-e|''|no event type
65|-e|a,|an empty event type at the end
65|-e|a,,b|an empty one within
65|-e|a*|a star behind a letter
65|-e|'*.a'|a star first
65|-e|a.*.b|a star within
65|-e|'**'|two stars
65|-e|.*|a star behind no name
65|-e|'a, b'|a space before an event type
65|-e|"$tab"|a tab in an event type
65|-e|"$bad_utf8"|invalid UTF-8 in an event type
65|-e|"$long"|an event type of 256 bytes
65|-f|'$.'|half a jsonpath
65|-f|'a b'|no jsonpath
65|-f|'$.a ? (@ like_regex "(")'|a bad expression in a jsonpath
65|-f|"$bad_utf8"|invalid UTF-8 in a jsonpath
65|-x|/nowhere/x.jq|no jq file
65|-x|"$work"|a directory as a jq file
65|-T|"$line_break"|a line break in a tenant
65|-T|"$bad_utf8"|invalid UTF-8 in a tenant
65|-v|"$long"|a version of 256 bytes
65|--name|"$line_break"|a line break in a name
65|-u|"$line_break"|a line break in who
65|-m|"$bad_utf8"|invalid UTF-8 in why
65|-k|/nowhere/secret|no secret file
64|-c|0|a cap of nothing
64|-c|1001|a cap over the limit
64|-c|5x|a cap that is no number
64|-c|-1|a negative cap
64|-c|99999999999999999999|a cap that no integer holds
64|-r|-1|a negative rate
64|-r|1e3|a rate with an exponent
64|-r|1000001|a rate over the limit
64|-r|nan|a rate that is not a number
64|-w|99ms|a timeout under the limit
64|-w|31s|a timeout over the limit
64|-w|''|an empty duration
64|-w|1.5s|a fraction
64|-w|' 1s'|a space
64|-w|1S|a capital unit
64|-w|1w|an unknown unit
64|-w|99999999999999999999s|a duration that no integer holds
64|-D|999ms|a deadline under the limit
64|-D|31d|a deadline over the limit
64|-S|''|an empty schedule
64|-S|1s,|a pause too many
64|-S|1s,x|a pause that is none
64|-S|31d|a pause over the limit
64|-b|html|an unknown body
EOT
pauses=$(printf '1s,%.0s' $(seq 100))1s
run hook-sub add -S "$pauses" $url
refused 64 '101 pauses'
# shellcheck disable=SC2046
run hook-sub add $(printf -- '-H X-%d:1 ' $(seq 25)) $url
refused 65 '25 headers'

# jq programs.
n=0
while IFS='|' read -r program why; do
	n=$((n + 1))
	printf %b "$program" >"$work/$n.jq"
	run hook-sub add -x "$work/$n.jq" $url
	refused 65 "jq: $why"
done <<'EOT'
|empty
.a +|nothing behind the plus
nosuch(1)|an unknown function
. + }|a bracket too many
import "a" as a; .|import
# a comment\ninclude "a"; .|include behind a comment
module {}; .|module
.\0000|a NUL
"\0377"|invalid UTF-8
EOT
awk 'BEGIN { for (i = 0; i < 16384; i++) printf " "; print "." }' \
    >"$work/long.jq"
run hook-sub add -x "$work/long.jq" $url
refused 65 'jq: too long'
echo . >"$work/good.jq"
HOOK_JQ=/nowhere/jq run hook-sub add -x "$work/good.jq" $url
refused 69 'jq: not there'

# Secrets.
while IFS='|' read -r text why; do
	printf %b "$text" >"$work/secret"
	run hook-sub add -k "$work/secret" $url
	refused 65 "secret: $why"
	is "$(grep -c MDEy "$work/err")" 0 '... which is not repeated'
done <<'EOT'
|empty
\n|an empty line
whsec_MDEyMzQ1|too short
whsec_MDEy!zQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=|no base64
whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=\nmore|two lines
whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=\0000|a NUL
whpk_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=|a public key
EOT
is "$(sql 'select count(*) from webhook_subscriptions')" 0 \
    'no subscription was made'

# Ids.
sql "insert into webhook_subscriptions (url) values ('http://example.com/'),
    ('http://example.com/')"
for id in 0 -1 x 1x 1.0 9223372036854775808 ' 1' ''; do
	run hook-sub pause -- 1 "$id"
	refused 64 "id: '$id'"
done
run hook-sub pause 1 -
refused 64 '- among other ids'
while IFS='|' read -r line why; do
	printf '1\n%b\n2\n' "$line" >"$work/in"
	run hook-sub pause - <"$work/in"
	refused 65 "id line: $line"
	like "$(cat "$work/err")" "^hook-sub: standard input: line 2: .*$why" \
	    '... is named, and why'
done <<'EOT'
|not an id
x|not an id
0|not an id
-1|not an id
1 2|not an id
1.0|not an id
9223372036854775808|not an id
[1]|not an id
"1"|not an id
{|invalid input syntax
{"id":|invalid input syntax
{"id":1}}|invalid input syntax
{}|no id
{"id":null}|no id
{"ID":1}|no id
{"id":"x"}|not an id
{"id":1.5}|not an id
{"id":[1]}|not an id
\0377|invalid UTF-8
1\0000|NUL byte
EOT
{ echo 1; head -c 1100000 /dev/zero | tr '\0' 1; } >"$work/in"
run hook-sub pause - <"$work/in"
refused 65 'an id line over the limit'
like "$(cat "$work/err")" 'line 2: too long' '... is named'
{ seq 1500; echo '{"id":x}'; seq 10; } >"$work/in"
run hook-sub pause - <"$work/in"
refused 65 'a bad line behind 1,500'
like "$(cat "$work/err")" 'line 1501: invalid input' '... is named'
is "$(sql "select count(*) from webhook_subscriptions
    where state = 'active'") $(sql 'select count(*) from webhook_audit')" \
    '2 0' 'nothing was changed'

done_testing
