#!/bin/sh
# hook-verify: a good body comes out as it went in; of a bad one nothing
# does, and one line says why.
. "${0%/*}/lib.sh"
unset HOOK_SECRET
cd "$work" || exit
id=msg_p5jXN8AQM9LWM0D4loKWxJek
at=1614265330
v1=v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=
echo whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw >secret
echo whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD >other
printf '{"test": 2432232314}' >body

# refused NAME: status 1, nothing out, one line without the signature.
refused() {
	exits 1 "refused: $1"
	[ ! -s out ] && [ "$(wc -l <err)" = 1 ] && ! grep -q -F -e g0hM9SsE+ \
	    -e MfKQ9r8GKYqr err
	check '... with one line that gives nothing away' || note "$(cat err)"
}

# What no sender of ours writes.
good() {	# SIGNATURE [TIMESTAMP [ID]]: run with these headers
	run hook-verify -s standard -k secret -N $at -H "webhook-id: ${3-$id}" \
	    -H "webhook-timestamp: ${2-$at}" -H "webhook-signature: $1" <body
}
good "$v1"
exits 0 'the vector, by hand'
rep() {		# COUNT TEXT
	printf "%$1s" '' | sed "s/ /$2/g"
}
while IFS='|' read -r why sig; do
	eval "good \"$sig\""
	refused "signature: $why"
done <<'EOF'
empty|
one byte|x
63 hex digits|$(rep 63 a)
64 hex digits|$(rep 64 a)
65 hex digits|$(rep 65 a)
64 times z|$(rep 64 z)
32 times é|$(rep 32 é)
60 KB of a|$(rep 60000 a)
60 KB of v1,a|$(rep 15000 'v1,a ')
=|=
a comma|,
t=|t=
v1 and a comma|v1,
v1a and a comma|v1a,
no padding|v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE
too much padding|${v1}=
padding inside|v1,g0hM9SsE+OTPJTGt/tm=IKtSyZlE3uFJELVlNIOLJ1OE
a tab inside|v1,g0hM9SsE+OTPJTGt$(printf '\t')/tmIKtSyZlE3uFJELVlNIOLJ1OE=
bytes 80 to ff|v1,$(printf '\200\220\240\250\260\300\320\340\360\377')
twice with a comma between|$v1,$v1
other case of the tag|V1,${v1#v1,}
a prefix before the tag|xv1,${v1#v1,}
EOF
while IFS='|' read -r why time; do
	eval "good '$v1' \"$time\""
	refused "timestamp: $why"
done <<'EOF'
empty|
0|0
-1|-1
letters behind|1614265330abc
a plus|+1614265330
a fraction|1614265330.0
hex|0x60387a72
a leading zero|01614265330
milliseconds|1614265330000
2^31|2147483648
2^62|4611686018427387904
2^63|9223372036854775808
2^64|18446744073709551616
2^64 and the right one|18446744075323816946
30 digits|$(rep 30 9)
two of them|1614265330, 1614265330
EOF
good "$v1" $at ''
refused 'id: empty'
good "$v1" $at "${id}x"
refused 'id: another'
for h in id timestamp signature; do
	run hook-verify -s standard -k secret -N $at -H "webhook-id: $id" \
	    -H "webhook-timestamp: $at" -H "webhook-signature: $v1" \
	    -H "Webhook-$h: x" <body
	refused "$h: a second one"
	like "$(cat err)" "two $h headers" '... which it says'
done

# The window; both ends are inside.
set_time() {	# NOW [-t TOLERANCE]
	now=$1
	shift
	run hook-verify -s standard -k secret -N "$now" -H "webhook-id: $id" \
	    -H "webhook-timestamp: $at" -H "webhook-signature: $v1" "$@" <body
}
while read -r now status tolerance; do
	# shellcheck disable=SC2086 # several words or none
	set_time $now $tolerance
	exits "$status" "at $((now - at)) s, ${tolerance:-by default}: $status"
done <<'EOF'
1614265630 0
1614265631 1
1614265030 0
1614265029 1
1614265330 0 -t 0
1614265331 1 -t 0
1614265329 1 -t 0
1614265335 0 -t 5
1614265336 1 -t 5s
1614268930 0 -t 1h
1614268931 1 -t 1h
0 0 -t off
253402300799 0 -t off
EOF

# Several secrets, names, ways to give headers.
sign() {
	hook-sign -s standard "$@" <body
}
h=$(sign -k other)
run hook-verify -s standard -k secret -k other -H "$h" <body
exits 0 'the second of two secrets is enough'
run hook-verify -s standard -k secret -H "$h" <body
refused 'another secret'
h=$(sign -k secret -k other)
run hook-verify -s standard -k other -H "$h" <body
exits 0 'the second of two signatures is enough'
HOOK_SECRET=$(cat secret) run hook-verify -s standard -H "$h" <body
exits 0 'HOOK_SECRET is as good as a file'
run hook-verify -s standard-webhooks -k secret -u https://a.example/ -m PUT \
    -H "$(printf '%s\n' "$h" | sed 's/$/\r/; s/: /:   /')" <body
exits 0 'spaces, CR, URL and method do not matter'
run hook-verify -s standard -k secret \
    -H "$(printf '%s\n' "$h" | sed 's/^webhook-/SVIX-/')" <body
exits 0 'svix- names are taken, of any case'
run hook-verify -s legacy -k secret \
    -H "$(hook-sign -s legacy -k secret <body)" <body
exits 0 'the legacy header verifies'
head -c 300000 /dev/urandom >random
run hook-verify -s standard -k secret \
    -H "$(hook-sign -s standard -k secret <random)" <random
cmp -s random out
check 'any bytes pass unchanged'
printf '' >nothing
run hook-verify -s standard -k secret \
    -H "$(hook-sign -s standard -k secret <nothing)" <nothing
exits 0 'an empty body is one'

run hook-verify -q -s standard -k secret -H "$h" <body
is "$rc$(cat out err)" 0 '-q says nothing of a good one'
run hook-verify -q -s standard -k secret -H "$h" <random
is "$rc$(cat out err)" 1 '... nor of a bad one'

# CGI: headers from the environment, CONTENT_LENGTH bytes of a stream that
# stays open.
cgi() {
	env "HTTP_WEBHOOK_ID=$id" "HTTP_WEBHOOK_TIMESTAMP=$at" \
	    "HTTP_WEBHOOK_SIGNATURE=$v1" REQUEST_METHOD=POST "$@"
}
mkfifo stream
exec 3<>stream
cat body >&3
printf 'more' >&3
run cgi CONTENT_LENGTH=20 timeout 5 hook-verify -e -s standard -k secret \
    -N $at <stream
exits 0 'a CGI request verifies'
cmp -s out body
check '... and no byte behind CONTENT_LENGTH is read'
exec 3<&-
run cgi hook-verify -e -s standard -k secret -N $at <body
exits 0 'without CONTENT_LENGTH all is read'
run cgi CONTENT_LENGTH=19 hook-verify -e -s standard -k secret -N $at <body
refused 'a shorter CONTENT_LENGTH'
run hook-verify -e -s standard -k secret -N $at <body
refused 'a CGI request without headers'
run cgi HTTP_SVIX_ID=x hook-verify -s standard -k secret -N $at <body
refused 'variables without -e'
for length in 21 -1 x 99999999999999999999; do
	run cgi CONTENT_LENGTH=$length hook-verify -e -s standard -k secret \
	    -N $at <body
	is "$rc $(cat out)" '65 ' "CONTENT_LENGTH $length is bad data"
done

# The likely cause.
h=$(sign -k secret)
hint() {	# PATTERN NAME
	refused "$2"
	like "$(cat err)" "$1" '... and the hint says so'
}
verify() {
	run hook-verify -s standard -k secret -H "$h" "$@"
}
{ cat body; echo; } >changed
verify <changed
hint 'good without the line end' 'a newline was added'
{ cat body; printf '\r\n'; } >changed
verify <changed
hint 'good without the line end' 'CR and LF were added'
printf '{"a":1,\n"b":2}\n' >lines
h=$(hook-sign -s standard -k secret <lines)
head -c 14 lines >changed
verify <changed
hint 'good with a line end behind' 'the newline was taken off'
sed 's/$/\r/' lines >changed
verify <changed
hint 'good with LF line ends' 'LF became CRLF'
h=$(hook-sign -s standard -k secret <changed)
verify <lines
hint 'good with CRLF line ends' 'CRLF became LF'
h=$(sign -k secret)
jq -c . body >changed
verify <changed
hint 'another secret, or the body was changed' 'the body was written again'
verify -N $(($(date +%s) + 1000)) <body
hint 'too old: (999|100.) s old, tolerance 300 s' 'an old message'
h=$(sign -k secret -N $(($(date +%s) + 1000)))
verify <body
hint 'in the future: (999|100.) s ahead, tolerance 300 s' 'a wrong clock'
jq -r '.cases[] | select(.name == "ed25519-v1a-vector") | .signing_key' \
    "$top/t/vectors/standard_webhooks.json" >pair
h=$(sign -k pair)
verify <body
hint 'kind of secret: whsec_ secrets check v1, whpk_' 'the other kind'
h=$(hook-sign -s legacy -k secret <body)
verify <body
hint 'no signature header: the headers are hookutils_legacy' 'the other scheme'
h=$(sign -k secret | sed 's/^webhook-id/svix-id/')
verify <body
hint 'two families of names are mixed' 'some of the headers renamed'
run hook-verify -s standard -k secret <body
hint 'no header was given' 'no header'

while IFS='|' read -r status why args; do
	eval "run hook-verify $args" <body
	is "$rc $(cat out)" "$status " "$status: $why"
	is "$(wc -l <err)" 1 '... and one line of why'
done <<'EOF'
64|no scheme|-k secret
64|unknown scheme|-s nobody -k secret
64|no secret|-s standard
64|an argument|-s standard -k secret body
64|unknown option|-s standard -k secret -x
64|option without its value|-s standard -k
64|a header without a colon|-s standard -k secret -H webhook-id
64|a header without a name|-s standard -k secret -H ': x'
64|a tolerance of letters|-s standard -k secret -t none
64|a negative tolerance|-s standard -k secret -t -1
64|a tolerance of two years|-s standard -k secret -t 730d
64|a time with a sign|-s standard -k secret -N -1
65|missing secret|-s standard -k missing
65|empty secret|-s standard -k /dev/null
65|a secret that is none|-s standard -k body
EOF
truncate -s 67108865 big
verify <big
exits 65 'a body over 64 MiB is refused'
rm big
hook-verify -s standard -k secret -H "$(sign -k secret)" <body >/dev/full 2>err
is $? 75 'a full disk is a failure'

done_testing
