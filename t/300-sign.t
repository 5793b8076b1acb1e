#!/bin/sh
# hook-sign: what it prints is what independent code computes, and a secret
# is never seen.
. "${0%/*}/lib.sh"
unset HOOK_SECRET
id=msg_p5jXN8AQM9LWM0D4loKWxJek
at=1614265330
v1=v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=
cd "$work" || exit
echo whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw >secret
echo whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD >other
printf '{"test": 2432232314}' >body

run hook-sign -s standard_webhooks -k secret -i $id -N $at <body
exits 0 'a body is signed'
is "$(cat out)" "webhook-id: $id
webhook-timestamp: $at
webhook-signature: $v1" '... as the vector that every library tests says'
mv out first
for name in standard standard-webhooks; do
	run hook-sign -s $name -k secret -i $id -N $at <body
	cmp -s out first
	check "$name is the same scheme"
done
HOOK_SECRET=$(cat secret) run hook-sign -s standard -i $id -N $at <body
cmp -s out first
check 'HOOK_SECRET is as good as a file'
HOOK_SECRET=$(cat other) run hook-sign -s standard -k secret -i $id -N $at \
    <body
cmp -s out first
check '... and -k goes before it'

run hook-sign -s standard -k other -k secret -i $id -N $at <body
like "$(cat out)" '^webhook-signature: v1,[^ ]{44} v1,g0hM9SsE' \
    'two secrets sign, in the order given'

before=$(date +%s)
run hook-sign -s standard -k secret <body
cp out second
run hook-sign -s standard -k secret <body
like "$(cat out)" '^webhook-id: msg_[0-9a-f]{32}$' 'an id is made'
[ "$(head -n 1 out)" != "$(head -n 1 second)" ]
check '... anew each time'
t=$(sed -n 's/^webhook-timestamp: //p' out)
[ "$t" -ge "$before" ] && [ "$t" -le "$(date +%s)" ]
check 'the timestamp is now'

# Independent code: openssl, and the libraries that receivers use.
hex() {
	od -An -v -tx1 | tr -d ' \n'
}
key=$(sed 's/^whsec_//' secret | base64 -d | hex)
n=0
bad=
while IFS= read -r text; do
	n=$((n + 1))
	printf %b "$text" >$n.body
	printf 'POST / HTTP/1.1\r\n' >$n.head
	hook-sign -s standard -k secret -i "evt_$n" <$n.body |
	    sed 's/$/\r/' >>$n.head
	t=$(sed -n 's/^webhook-timestamp: \(.*\)./\1/p' $n.head)
	want=$({ printf 'evt_%s.%s.' $n "$t"; cat $n.body; } |
	    openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary |
	    base64)
	grep -qF "webhook-signature: v1,$want" $n.head || bad="$bad $n"
	echo "$work/$n.head $work/$n.body $work/secret"
done <<'EOF' >requests
{}
{"b":1,"a":2}
{"a":1,"a":2}
{ "a" : 1 }\n
{"n":-0}
{"n":1E2,"m":1e400,"k":12345678901234567890}
{"s":"\\u00e9\\/"}
{"s":"\0303\0251"}
{"a":"x\\u0000y"}
"\\ud800"
null
{"a":1}\r\n

\0357\0273\0277{}
{"a":"x\0y"}
{"a":"\0377\0376"}
1.2.3
\040\040\040
EOF
n=$(wc -l <requests)
[ "$n" = 18 ] && [ -z "$bad" ]
check 'openssl computes the same for 18 odd bodies' || note "differ: $bad"
head -n 12 requests >json
run node "$top/t/npm/verify.js" - <json
exits 0 'standardwebhooks and svix accept those that are JSON'
is "$(sort out | uniq -c | xargs)" '12 ok standardwebhooks svix' \
    '... every one, both'
printf '%s %s %s\n' "$work/2.head" "$work/3.body" "$work/secret" >wrong
run node "$top/t/npm/verify.js" - <wrong
exits 1 '... and would have refused another body'

# ed25519: openssl verifies by the public key alone.
jq -r '.cases[] | select(.name == "ed25519-v1a-vector") |
    .signing_key, .headers["webhook-signature"]' \
    "$top/t/vectors/standard_webhooks.json" >vector
head -n 1 vector >pair
run hook-sign -s standard -k pair -i $id -N $at <body
exits 0 'an ed25519 pair signs'
is "$(sed -n 's/^webhook-signature: //p' out)" "$(sed -n 2p vector)" \
    '... as its vector says'
{
	printf '\060\052\060\005\006\003\053\145\160\003\041\000'
	sed -n 's/^whsk_//p' pair | base64 -d | tail -c 32
} >public.der
sed -n 's/^webhook-signature: v1a,//p' out | base64 -d >sig
{ printf '%s.%s.' $id $at; cat body; } >signed
run openssl pkeyutl -verify -pubin -keyform DER -inkey public.der -rawin \
    -in signed -sigfile sig
exits 0 '... and openssl accepts it'

# The legacy header, recomputed.
run hook-sign -s legacy -k secret -i $id -N $at <body
want=$({ printf '%s.' $at; cat body; } |
    openssl dgst -sha256 -hmac "$(cat secret)" | sed 's/.*= //')
is "$(cat out)" "x-webhook-id: $id
x-webhook-signature: t=$at,v1=$want" 'the legacy header is keyed by the text'

# The worked example of hook-signature(5).
awk '/^\.Ss A worked example/ { on = 1 }
    on && /^\.Bd/ { copy = 1; next }
    /^\.Ed/ { copy = on = 0 }
    copy { cont = sub(/\\e$/, ""); sub(/^ +/, ""); printf "%s", $0
	if (!cont) print "" }' "$top/man/hook-signature.5" >example
value() {
	sed -n "s/^$1  *//p" example
}
is "$(wc -l <example)" 9 'hook-signature(5) has a worked example'
value secret >example.secret
value private >example.pair
value public >example.public
printf %s "$(value body)" >example.body
sign_example() {
	hook-sign -s "$1" -k "$2" -i "$(value id)" -N "$(value timestamp)" \
	    <example.body | sed -n "s/^.*signature: $3//p"
}
key=$(value secret | sed 's/^whsec_//' | base64 -d | hex)
is "$({ printf '%s.%s.' "$(value id)" "$(value timestamp)"
    cat example.body; } | openssl dgst -sha256 -mac HMAC \
    -macopt "hexkey:$key" -binary | base64)" "$(value v1)" \
    '... whose v1 openssl computes'
is "$(sign_example standard example.secret v1,)" "$(value v1)" '... as we do'
is "$(sign_example standard example.pair v1a,)" "$(value v1a)" \
    '... whose v1a is ours'
run hook-verify -q -s standard -k example.public -N "$(value timestamp)" \
    -H "webhook-id: $(value id)" \
    -H "webhook-timestamp: $(value timestamp)" \
    -H "webhook-signature: v1a,$(value v1a)" <example.body
exits 0 '... and verifies by its public key'
is "$(sign_example legacy example.secret 't=.*,v1=')" "$(value legacy)" \
    '... and the legacy one too'

# curl -H @- takes the lines as they are.
sink <<-'EOF'
	/ * status 204
EOF
hook-sign -s standard -k secret -i evt_curl <body |
    curl -sS -H @- --data-binary @body "$sink/hook"
check 'curl sends the headers'
cmp -s "$sink_dir/1.body" body
check '... and the body'
head=$(tr -d '\r' <"$sink_dir/1.head" | sed -n 's/^webhook-/&/p')
run hook-verify -s standard -k secret -H "$head" <"$sink_dir/1.body"
exits 0 '... and what arrives verifies'

# Which strings are secrets.
jq -r '.secret_cases[] | [.secret, .valid, .why] | join("\t")' \
    "$top/t/vectors/standard_webhooks.json" >cases
while IFS="$(printf '\t')" read -r secret valid why; do
	case $secret in
	true|false)	# read folds the empty first field
		why=$valid
		valid=$secret
		secret= ;;
	esac
	printf %s "$secret" >case
	run hook-sign -s standard -k case -i $id -N $at <body
	case $valid in
	true)	exits 0 "a secret: $why" ;;
	*)	exits 65 "no secret: $why"
		is "$(cat out)" '' '... and nothing is printed'
		is "$(wc -l <err)" 1 '... but one line of why'
		[ ${#secret} -lt 8 ] || ! grep -qF "${secret#*_}" err
		check '... without it' ;;
	esac
done <cases
is "$(wc -l <cases)" 14 'all secret cases were tried'

while IFS='|' read -r status why args; do
	eval "run hook-sign $args" <body
	exits "$status" "refused: $why"
	is "$(cat out)" '' '... and nothing is printed'
	is "$(wc -l <err)" 1 '... but one line of why'
done <<'EOF'
64|no scheme|-k secret
64|unknown scheme|-s nobody -k secret
64|no secret|-s standard
64|an argument|-s standard -k secret body
64|unknown option|-s standard -k secret -x
64|option without its value|-s standard -k
64|id with a dot|-s standard -k secret -i a.b
64|id with a line end|-s standard -k secret -i "$(printf 'a\nb')"
64|empty id|-s standard -k secret -i ''
64|id of 65 characters|-s standard -k secret -i "$(printf %065d 0)"
64|time 0|-s standard -k secret -N 0
64|time with letters|-s standard -k secret -N 12x
64|time after 9999|-s standard -k secret -N 253402300800
65|missing file|-s standard -k missing
65|empty file|-s standard -k /dev/null
65|a folder|-s standard -k .
EOF
is "$(HOOK_SECRET='' hook-sign -s standard <body 2>&1)" \
    'hook-sign: HOOK_SECRET: empty' 'an empty HOOK_SECRET is named'

head -c 67108865 /dev/zero >big
run hook-sign -s standard -k secret <big
exits 65 'a body over 64 MiB is refused'
truncate -s 67108864 big
run hook-sign -s standard -k secret <big
exits 0 'one of 64 MiB is not'
rm big
hook-sign -s standard -k secret <body >/dev/full 2>err
is $? 75 'a full disk is a failure'

done_testing
