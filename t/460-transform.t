#!/bin/sh
# Transforms, end to end: what a jq program makes is kept with the delivery
# and is what is sent, on each attempt and replay; one that fails, hangs,
# eats memory or says too much ends its delivery with the reason, and costs
# nobody else anything; and it sees nothing but its input.
. "${0%/*}/lib.sh"
. "${0%/*}/wire.sh"
need_db

body_of() {	# PATH N: the body of the Nth request there
	n=$(awk -v path="$1" '$1 == "in" && $5 == path { print $2 }' \
	    "$sink_dir/log" | sed -n "$2p")
	cat "$sink_dir/$n.body"
}

sink <<'EOT'
/kept 1 status 500
EOT
echo '{order: .id, total: (.total * 2), list: [.items[] | .n]}' >"$work/jq"
hook-sub add -e order -x "$work/jq" -S 1h -k "$work/secret" "$sink/kept" \
    >"$work/made" || exit
kept=$(jq .id "$work/made")
hook-sub add -e order -x "$work/jq" -b raw -k "$work/secret" "$sink/raw" \
    >"$work/made" || exit
raw=$(jq .id "$work/made")
hook-sub add -e order -k "$work/secret" "$sink/plain" >"$work/made" || exit
event order '{"id": 17,  "total": 1.5, "items": [{"n":1},{"n":2}]}'
deliver
exits 0 'a transform'
result='{"order":17,"total":3,"list":[1,2]}'
is "$(body_of /raw 1)" "$result" 'its result is sent raw'
is "$(body_of /kept 1 | sed -E 's/("timestamp":")[^"]*/\1T/;
    s/(evt_)[0-9a-f]*/\1E/')" "{\"type\":\"order\",\"timestamp\":\"T\",\
\"api_version\":null,\"id\":\"evt_E\",\"data\":$result}" '... or enveloped'
like "$(body_of /plain 1)" '"data":\{"id": 17,  "total": 1.5, "items"' \
    '... and others get the event as it was'
is "$(sql "select subscription_id, body from webhook_deliveries 
    where body is not null order by subscription_id")" "$kept|$result
$raw|$result" 'it is kept with the delivery'

# The program changes; what was made before does not.
echo '{another: true}' >"$work/jq2"
hook-sub set -x "$work/jq2" "$kept" >/dev/null
hook-sub set -x "$work/jq2" "$raw" >/dev/null
again
run hook-deliver
is "$(body_of /kept 2)" "$(body_of /kept 1)" \
    'a retry sends the same, though the program has changed'
sql "select id from webhook_deliveries where subscription_id = $raw" |
    hook-replay --force - >/dev/null
run hook-deliver
is "$(body_of /raw 2)" "$result" '... and so does a replay'
event order '{}'
deliver
is "$(body_of /raw 3)" '{"another":true}' '... what comes later is made anew'
verify "$work/secret"
exits 0 'all of it is signed as it is sent'

# Programs that are no good, each with an event that it does not send.
n=0
while IFS='|' read -r program reason; do
	n=$((n + 1))
	psql -X -q -v ON_ERROR_STOP=1 -v n="$n" -v url="$sink/bad" \
	    -v secret="$secret" -v program="$(printf %b "$program")" <<-'EOT'
	with s as (
		insert into webhook_subscriptions (name, url, event_types,
		    transform)
		values ('bad ' || :'n', :'url', '{bad}', :'program')
		returning id)
	insert into webhook_secrets (subscription_id, secret)
	select id, :'secret' from s;
	EOT
	printf '%s\n' "$n|$program|$reason" >>"$work/bad"
done <<'EOT'
error("my reason")|transform: my reason
error("a\\\\nb\\\\u001b[31mc")|transform: a
.a.b|transform: Cannot index string with .*b
{|transform: syntax error
nosuch|transform: nosuch/0 is not defined
def g: g; g|transform: (used more than 1 s of CPU|took longer than 2000 ms)
last(repeat(1))|transform: (used more than 1 s of CPU|took longer than 2000 ms)
def f: f; f|transform: (used more than 1 s of CPU|took longer than 2000 ms)
[range(1e9)]|transform: 
[limit(1e7; repeat("x"))] \0174 length|transform: 
.list[]|transform: more than one result
[range(1e5)]|transform: result of over 262144 bytes
"x" * 300000|transform: result of over 262144 bytes
|transform: program empty
  \n |transform: program empty
import "a" as a; .|transform: import, include and module are not allowed
include "a"; .|transform: import, include and module are not allowed
# x\ninclude "a"; .|transform: import, include and module are not allowed
module {}; .|transform: import, include and module are not allowed
halt_error|transform: 
input|transform: 
empty|transform: gave nothing to send
halt|transform: gave nothing to send
.list[] \0174 select(. > 9)|transform: gave nothing to send
EOT
sub good "$sink/good"
event bad '{"a": "text", "list": [1, 2]}'
sql "insert into webhook_outbox (event_type, payload)
    select 'good', to_json(n) from generate_series(1, 50) n"
run hook-fanout
exits 0 'bad programs are nothing to the fan-out'
is "$(sql "select count(*) from webhook_deliveries
    where event_type in ('bad', 'good')")" $((n + 50)) '... all are deliveries'
start hook-deliver -f
wait_for 10 '[ "$(seen /good)" = 50 ]'
is "$(sql "select count(*) > 0 from webhook_deliveries
    where event_type = 'bad' and state = 'pending'")" t \
    'while they run, others are delivered'
wait_for 20 '[ "$(sql "select count(*) from webhook_deliveries
    where event_type = '"'bad'"' and state = '"'pending'"'")" = 0 ]' \
    'they end'
stop
psql -X -q -A -t -F '|' >"$work/seen" <<'EOT'
select substr(s.name, 5), d.state, d.attempts, d.last_error, a.error
from webhook_deliveries d
join webhook_subscriptions s on s.id = d.subscription_id
join webhook_attempts a on a.delivery_id = d.id
where d.event_type = 'bad'
EOT
while IFS='|' read -r i program reason; do
	case $reason in
	*nothing*) state=discarded ;;
	*)	state=failed ;;
	esac
	like "$(grep "^$i|" "$work/seen")" \
	    "^$i\\|$state\\|1\\|$reason.*\\|$reason" "program $i: $state"
done <"$work/bad"
is "$(cut -d '|' -f 4- "$work/seen" | LC_ALL=C grep -c '[^ -~]')" 0 \
    'reasons are printable'
is "$(seen /bad)" 0 '... and nothing was sent'

# What it can see.
sql "update webhook_subscriptions set transform = '[(env | length),
    (\$ENV | length), (input_filename // \"<stdin>\"),
    get_search_list, ([inputs] | length)]'
    where id = $raw"
event order '{"mine":1}'
SECRET_OF_OURS=x deliver
is "$(body_of /raw 4)" '[0,0,"<stdin>",["/dev/null"],0]' \
    'a program has no environment, no file, no module and no more input'
done_testing
