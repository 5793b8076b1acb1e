#!/bin/sh
# hook-verify: every case of t/vectors has the verdict that it should, and
# where official libraries differ, the one that hook-signature(5) tells.
. "${0%/*}/lib.sh"
unset HOOK_SECRET
cd "$work" || exit
# Verdicts of ours where either is right, as the page has them.
awk '/policy/ { on = 1 } /^\.Ed/ { on = 0 }
    on && ($3 == "good" || $3 == "no") { print $1, $2, $3 != "good" }' \
    "$top/man/hook-signature.5" >ours
is "$(sed 's/ [01]$//' ours | sort)" "$(jq -r '.scheme as $s |
    .cases[]? | select(.policy == "either") | "\($s) \(.name)"' \
    "$top"/t/vectors/[a-z]*.json | sort)" \
    'hook-signature(5) tells each verdict that could be either'

# Each case is a line of shell words.
jq -r 'select(.scheme != "hmac_raw") | .scheme as $scheme | .cases[] |
    [$scheme, .name, (if .valid then 0 else 1 end), .policy,
    (.now // 1700000000), (.tolerance_s // "off"),
    (.body_base64 // (.body_utf8 | @base64)),
    ([.secret] | flatten | map(@base64) | join(" ")),
    ([.headers | to_entries[] | .key as $k | [.value] | flatten[] |
	"\($k): \(.)"] | join("\n") | @base64),
    (.url // "none"), (.method // "POST")] | @sh' \
    "$top"/t/vectors/[a-z]*.json >cases
vector() {
	want=$3
	[ "$4" = must ] || want=$(sed -n "s/^$1 $2 //p" ours)
	printf %s "$7" | base64 -d >body
	scheme=$1 name=$2 now=$5 tolerance=$6 keys=$8
	shift 8
	headers=$(printf %s "$1" | base64 -d) url=$2 method=$3
	set -- -s "$scheme" -N "$now" -t "$tolerance" -H "$headers" \
	    -m "$method"
	[ "$url" = none ] || set -- "$@" -u "$url"
	i=0
	for k in ${keys:-''}; do
		i=$((i + 1))
		printf %s "${k#\'\'}" | base64 -d >key.$i
		set -- "$@" -k key.$i
	done
	run hook-verify "$@" <body
	if [ "$rc" = 65 ] && [ "$want" = 1 ] && [ ! -s out ]; then
		refused="$refused $scheme/$name"
		ok 0 "$scheme $name: no secret"
	elif [ "$want" = 0 ]; then
		[ "$rc" = 0 ] && cmp -s out body && [ ! -s err ]
		check "$scheme $name: good, and the body as it was" ||
		    note "$(cat err)"
	else
		[ "$rc" = 1 ] && [ ! -s out ] && [ "$(wc -l <err)" = 1 ]
		check "$scheme $name: no, with one line of why" ||
		    note "exit $rc" "$(cat err)"
	fi
}
refused=
tried=0
while IFS= read -r line; do
	eval "vector $line"
	tried=$((tried + 1))
done <cases
is $tried "$(cat "$top"/t/vectors/[a-z]*.json |
    jq -s 'map(select(.scheme != "hmac_raw") | .cases | length) | add')" \
    'every case of the vectors was tried'
[ $tried -ge 404 ]
check '... and they are 404 or more'
is "$refused" ' gitlab_token/empty-secret-empty-token square/sdk-empty-key' \
    'the secrets that were refused at once are the empty ones'

# Plain HMACs, by the schemes that are no more than that.
jq -r '.cases[] | [.name, .alg, .expected_hex,
    (.key_base64 // (.secret | @base64)),
    (.body_base64 // (.body_utf8 | @base64))] | @sh' \
    "$top/t/vectors/hmac_raw.json" >plain
hmac() {
	printf %s "$4" | base64 -d >key
	printf %s "$5" | base64 -d >body
	case $2 in
	sha1)	scheme=github_sha1_legacy want="x-hub-signature: sha1=$3" ;;
	*)	scheme=dropbox want="x-dropbox-signature: $3" ;;
	esac
	is "$(hook-sign -s $scheme -k key <body)" "$want" "$2 $1"
}
while IFS= read -r line; do
	eval "hmac $line"
done <plain
is "$(wc -l <plain)" 8 'every plain HMAC was made'

done_testing
