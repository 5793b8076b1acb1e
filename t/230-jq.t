#!/bin/sh
# Transforms: what a jq program makes of a payload is sent; what it does
# wrong costs that delivery alone.
. "${0%/*}/lib.sh"
need_db
sink <<-'EOT'
	/again 1 status 503
EOT

add() {		# NAME PROGRAM [option ...]: a subscription to NAME
	name=$1
	printf '%s' "$2" >"$work/$name.jq"
	shift 2
	hook-sub add -b raw -e "$name,all" -x "$work/$name.jq" --name "$name" \
	    "$@" "$sink/$name" >/dev/null 2>"$work/err" ||
	    { cat "$work/err"; exit 1; }
}
event() {	# TYPE PAYLOAD
	printf '%s' "$2" | hook-enqueue -t "$1" >"$work/id"
}
deliver() {
	hook-fanout
	run hook-deliver
	exits 0 'hook-deliver: done'
}
body() {	# PATH: of the last request there
	n=$(awk -v p="$1" '$1 == "in" && $5 == p { n = $2 } END { print n }' \
	    "$sink_dir/log")
	[ -z "$n" ] || cat "$sink_dir/$n.body"
}
went() {	# NAME: state, attempts and reason of its deliveries
	sql "select d.state, d.attempts, d.last_error
	    from webhook_deliveries d join webhook_subscriptions s
	    on s.id = d.subscription_id where s.name = '$1' order by d.id"
}

add pick '{id, total: .items | length}'
event pick '{"id": 7, "items": [1, 2, 3], "secret": "x"}'
deliver
is "$(body /pick)" '{"id":7,"total":3}' 'what the program makes is sent'
is "$(went pick)" 'delivered|1|' '... and delivered'
is "$(sql "select body from webhook_deliveries")" '{"id":7,"total":3}' \
    '... and kept with the delivery'

add env '[env | length, $ENV | length]'
add big '. + {more: ("x" * 100000)} | .more | length'
event env '{}'
event big "{\"a\":\"$(printf '%0200000d' 1)\"}"
deliver
is "$(body /env)" '[0,0]' 'it sees no environment'
is "$(body /big)" 100000 'a payload of 200 KB goes in'

# An envelope goes round what was made, too.
printf '{n: .n}' >"$work/wrapped.jq"
hook-sub add -e wrapped -x "$work/wrapped.jq" "$sink/wrapped" >/dev/null
event wrapped '{"n": 1e2, "m": 2}'
deliver
is "$(body /wrapped | jq -c '[.type, .data]')" '["wrapped",{"n":100}]' \
    'an envelope goes around it'
is "$(body /wrapped | jq -r .id)" "$(cat "$work/id")" '... with its id'

# Once made it stays, also on a retry, and whatever becomes of the program.
add again 'now' -S 0 -D 60s
event again '{}'
hook-fanout
run hook-deliver
hook-sub set -x "$work/pick.jq" "$(sql "select id from webhook_subscriptions
    where name = 'again'")" >/dev/null
wait_for 20 'hook-deliver 2>/dev/null; [ "$(body /again)" ] &&
    [ "$(sql "select count(*) from webhook_deliveries
    where state = '"'delivered'"' and attempts = 2")" = 1 ]' \
    'a second attempt is delivered'
sed -n 's/^in \([0-9]*\) .* \/again .*/\1/p' "$sink_dir/log" >"$work/tries"
is "$(while read -r n; do md5sum <"$sink_dir/$n.body"; done <"$work/tries" |
    sort | uniq -c | awk '{ print $1 }')" 2 'a retry sends the same bytes'

# All that can go wrong, at once, beside one that goes right.
add fine '.'
add throws 'error("no way")'
add types '.n.a'
add nothing empty
add two '1, 2'
add endless 'def f: f; f'
add flood 'repeat("x" * 10000)'
add memory '[range(1e9)]'
add broken .
add reads .
sql "update webhook_subscriptions set transform = case name
    when 'broken' then '. +' else 'include \"a\"; .' end
    where name in ('broken', 'reads')"
event all '{"n":1}'
hook-fanout
run hook-deliver
exits 0 'hook-deliver: done'
is "$(body /fine)" '{"n":1}' 'the good one is delivered'
while IFS='|' read -r name state reason; do
	like "$(went "$name")" "^$state\|[01]\|.*$reason" \
	    "$name: $state, $reason"
	is "$(body "/$name")" '' '... and nothing is sent'
done <<'EOT'
throws|failed|no way
types|failed|Cannot index number
nothing|discarded|.
two|failed|more than one result
endless|failed|(CPU|took longer)
flood|failed|over [0-9]+ bytes
memory|failed|.
broken|failed|syntax error
reads|failed|not allowed
EOT
done_testing
