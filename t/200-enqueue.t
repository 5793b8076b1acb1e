#!/bin/sh
# hook-enqueue: exit 0 means stored, once per key; else not stored.
. "${0%/*}/lib.sh"
need_own_cluster

stored() {
	sql 'select count(*) from webhook_outbox'
}
echo '{}' >"$work/body"

# Usage.
while read -r args; do
	# shellcheck disable=SC2086
	run hook-enqueue $args <"$work/body"
	exits 64 "usage: hook-enqueue $args"
	is "$(grep -c '^usage: hook-enqueue ' "$work/err")" 1 '... says so'
done <<'EOT'

-t a extra
-l -t a
-l -k a
-l --sql
--sql
-t a --sql -w 1
-t a --sql -n
EOT
for args in '-w 1x' '-w -1' '-w 31d' '-o xml'; do
	# shellcheck disable=SC2086
	run hook-enqueue -t a $args <"$work/body"
	is "$rc $(grep -c -e "$args" "$work/err")" '64 1' \
	    "usage: $args, by name"
done
HOOK_MAX_PAYLOAD=many run hook-enqueue -t a <"$work/body"
is "$rc $(cat "$work/err")" \
    '64 hook-enqueue: HOOK_MAX_PAYLOAD: not a number of bytes' \
    'a limit that is no number'
run hook-enqueue -h
is "$rc $(grep -c '^usage: ' "$work/out")" '0 1' '-h helps'
run hook-enqueue -V
like "$rc $(cat "$work/out")" '^0 [0-9]+\.[0-9]' '-V says which version'
is "$(stored)" 0 'none of these stored anything'

# One event.
trace=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01
printf '{"n": 1,  "keep":"my spacing"}\n' >"$work/spaced"
run hook-enqueue -t order.paid -a order-17 -v v2 -T acme -k k0 -p $trace \
    <"$work/spaced"
exits 0 'an event is stored'
id=$(cat "$work/out")
like "$id" '^evt_[0-9a-f]{44}$' 'its id is all that is printed'
is "$(sql "select event_type, aggregate_id, api_version, tenant,
    idempotency_key, traceparent from webhook_outbox
    where event_id = '$id'")" "order.paid|order-17|v2|acme|k0|$trace" \
    'with all that was said of it'
sql "select payload from webhook_outbox where event_id = '$id'" \
    >"$work/got"
echo >>"$work/spaced"	# psql ends the row
cmp -s "$work/got" "$work/spaced"
check 'and its payload byte for byte, the line end at its end too'
run hook-enqueue -t bare <"$work/body"
is "$(sql "select tenant = '' and aggregate_id is null and api_version is null
    and idempotency_key is null and traceparent is null
    from webhook_outbox where event_type = 'bare'")" t \
    'what is not said is null; the tenant is the empty one'

# Keys.
for try in first second; do
	run hook-enqueue -t order.paid -k k1 <"$work/body"
	exits 0 "the $try use of a key succeeds"
	cat "$work/out" >>"$work/ids"
done
is "$(sort -u "$work/ids" | wc -l)" 1 'a repeated key gives the first id'
is "$(sql "select count(*) from webhook_outbox where idempotency_key = 'k1'")" \
    1 '... and is one event'
rc=0
echo '{"other":1}' | hook-enqueue -t order.paid -k k1 2>"$work/err" || rc=$?
is "$rc $(grep -c 'key k1 was used for another event' "$work/err")" '65 1' \
    'the same key with another body is refused'
run hook-enqueue -t order.made -k k1 <"$work/body"
exits 65 '... as with another type'
run hook-enqueue -t order.paid -k k1 -T acme <"$work/body"
is "$rc $(grep -c "$(head -n 1 "$work/ids")" "$work/out")" '0 0' \
    'the same key of another tenant is another event'

# Size.
is "$(stored)" 4 'so far, that is'
awk 'BEGIN { printf "\""; for (i = 0; i < 262142; i++) printf "x"; print "" }' |
    tr -d '\n' >"$work/most"
printf '"' >>"$work/most"
run hook-enqueue -t big <"$work/most"
exits 0 'a payload of 256 KiB is stored'
echo >>"$work/most"
run hook-enqueue -t big <"$work/most"
is "$rc $(cat "$work/err")" "65 hook-enqueue: standard input: more than 262144\
 bytes (HOOK_MAX_PAYLOAD)" 'one byte more is not, and the limit is named'
HOOK_MAX_PAYLOAD=262145 run hook-enqueue -t big <"$work/most"
exits 0 '... unless it is raised'
sql "delete from webhook_outbox where event_type = 'big'"

run hook-enqueue -n -t a <"$work/body"
is "$rc $(cat "$work/out" "$work/err") $(stored)" '0  4' \
    'a dry run stores nothing'
echo '{' >"$work/half"
run hook-enqueue -n -t a <"$work/half"
exits 65 '... but has the payload judged'

# Lines.
cat >"$work/lines" <<'EOT'
{"event_type":"a.b","payload":{"b":1, "a":1.0}}
 { "payload" : null , "aggregate_id":"x\"y","event_type":"caf\u00e9"\t}\t
EOT
sed -i 's/\\t/ /g' "$work/lines"
tr -d '\n' >>"$work/lines" <<'EOT'
{"event_type":"c","payload":"\u0000","tenant":"acme","api_version":"v1",
"idempotency_key":"l1","traceparent":null,"aggregate_id":null}
EOT
echo >>"$work/lines"
printf '{"event_type":"no line end","payload":[]}' >>"$work/lines"
run hook-enqueue -l <"$work/lines"
exits 0 'lines are stored'
for id in $(cat "$work/out"); do
	sql "select event_type, payload, aggregate_id, tenant, api_version,
	    idempotency_key from webhook_outbox where event_id = '$id'"
done >"$work/got"
is "$(cat "$work/got")" 'a.b|{"b":1, "a":1.0}||||
café|null|x"y|||
c|"\u0000"||acme|v1|l1
no line end|[]||||' 'with their fields and payloads; ids in order'
run hook-enqueue -l </dev/null
is "$rc $(cat "$work/out")" '0 ' 'no line, no event'
n=$(stored)

awk 'BEGIN { for (i = 1; i <= 10000; i++) printf "{\"event_type\":\"many\"," \
    "\"payload\":{\"n\":%d},\"aggregate_id\":\"%d\"}\n", i, i }' >"$work/many"
sed '5000s/"n":5000/"n":/' "$work/many" >"$work/spoilt"
run hook-enqueue -l <"$work/spoilt"
is "$rc $(cat "$work/out")" '65 ' 'of 10,000 lines with a bad one none ...'
like "$(cat "$work/err")" '^hook-enqueue: standard input: line 5000: ' \
    '... which is named by its number ...'
is "$(stored)" "$n" '... is stored'
run hook-enqueue -l <"$work/many"
is "$rc $(sort -u "$work/out" | wc -l)" '0 10000' '10,000 good ones are'
is "$(sql "select bool_and(aggregate_id = n::text) from (
    select aggregate_id, row_number() over (order by id) as n
    from webhook_outbox where event_type = 'many') m")" t \
    '... in the order of the lines'
n=$(stored)
run hook-enqueue -n -l <"$work/many"
is "$rc $(cat "$work/out") $(stored)" "0  $n" 'a dry run of lines'

awk 'BEGIN { for (i = 1; i <= 1200; i++) printf "{\"event_type\":\"keyed\"," \
    "\"payload\":%d,\"idempotency_key\":\"%d\"}\n", i % 1000, i % 1000 }' \
    >"$work/keyed"
run hook-enqueue -l <"$work/keyed"
is "$rc $(wc -l <"$work/out") $(sort -u "$work/out" | wc -l)" '0 1200 1000' \
    'repeated keys in lines give the first id'
sed '1100s/"payload":100/"payload":true/' "$work/keyed" >"$work/spoilt"
sql "delete from webhook_idempotency"
run hook-enqueue -l <"$work/spoilt"
like "$rc $(cat "$work/err")" '^65 .*line 1100: idempotency key 100 was used' \
    'one with another payload is named'
is "$(sql 'select count(*) from webhook_idempotency')" 0 '... and undoes all'

# The same key from eight at once.
for i in 1 2 3 4 5 6 7 8; do
	hook-enqueue -t race -k race <"$work/body" >"$work/race.$i" &
done
wait
is "$(cat "$work"/race.? | sort | uniq -c | awk '{ print $1 }')" 8 \
    'eight at once with one key get one id'
is "$(sql "select count(*) from webhook_outbox where event_type = 'race'")" 1 \
    '... of one event'

# The commit fails: nobody can say, and nobody says 0.
sql "create function die() returns trigger language plpgsql as
    \$\$ begin perform pg_terminate_backend(pg_backend_pid());
    perform pg_sleep(1); return null; end \$\$;
    create constraint trigger die after insert on webhook_idempotency
    deferrable initially deferred for each row execute function die()"
run hook-enqueue -t a -k lost <"$work/body"
like "$rc $(cat "$work/err")" '^75 hook-enqueue: commit: .*same -k' \
    'a connection lost at commit: try again with the same key'
sql 'drop trigger die on webhook_idempotency'
run hook-enqueue -t a -k lost <"$work/body"
exits 0 '... which works'
run hook-enqueue -t a -d 'host=/nowhere' <"$work/body"
exits 75 'no server: try again'
run hook-enqueue -t a -d 'nosuch=1' <"$work/body"
exits 64 'no connection string'
HOOK_SCHEMA=nowhere run hook-enqueue -t a <"$work/body"
is "$rc $(grep -c 'run hook-migrate' "$work/err")" '69 1' \
    'no hookutils there'

# Waiting.
run hook-enqueue -t w.nobody -w 100ms <"$work/body"
is "$rc $(cat "$work/out")" '75 ' 'nothing fans out: not yet'
like "$(cat "$work/err")" 'evt_[0-9a-f]+: stored, but not yet fanned out' \
    '... and what was stored is named'
hook-fanout
waiting() {	# TYPE
	start sh -c "exec hook-enqueue -t $1 -w 20s <'$work/body'"
	wait_for 10 "[ \"\$(sql \"select count(*) from webhook_outbox
	    where event_type = '$1'\")\" = 1 ]"
}
ended() {
	wait_for 10 '! kill -0 $pid 2>/dev/null'
	stop
}
waiting w.none
hook-fanout
ended
is "$rc $(cat "$out")" '0 ' 'nobody matched: done'
like "$(cat "$log")" 'no subscription matched' '... and it says so'

sql "insert into webhook_subscriptions (url, event_types)
    values ('http://127.0.0.1:9/', '{w.all,w.some}'),
    ('http://127.0.0.1:9/', '{w.all,w.some}')"
waiting w.all
hook-fanout
first=$(sql "select min(id) from webhook_deliveries")
finish() {	# CONDITION STATE STATUS
	sql "update webhook_deliveries set state = '$2', finished_at = now(),
	    attempts = 1, last_status = $3, last_error = nullif('$4', '')
	    where state = 'pending' and $1"
}
finish "id = $first" delivered 204 ''
kill -0 "$pid"
check 'one of two delivered: it waits on'
finish true delivered 200 ''
ended
is "$rc $(jq -c '[.subscription_id, .state, .attempts, .last_status,
    .last_error]' "$out" | xargs)" \
    '0 [1,delivered,1,204,null] [2,delivered,1,200,null]' \
    'all delivered: an object for each'
is "$(jq -r 'keys_unsorted | join(" ")' "$out" | sort -u)" \
    'id event_id subscription_id state attempts last_status last_error' \
    '... with these keys'

waiting w.some
hook-fanout
pg-tmp restart "$own_cluster" -m immediate
finish 'subscription_id = 1' delivered 200 ''
finish true failed 404 'status 404'
ended
is "$rc $(jq -c '[.state, .last_error]' "$out" | xargs)" \
    '1 [delivered,null] [failed,status 404]' \
    'a restart does not end the wait; one is not delivered'
like "$(cat "$log")" 'stored, but not delivered to all' '... and it says so'

sql "delete from webhook_outbox where event_type like 'w.%'"
printf '{"event_type":"w.all","payload":1}\n%.0s' 1 2 >"$work/two"
start sh -c "exec hook-enqueue -l -w 20s <'$work/two'"
wait_for 10 '[ "$(sql "select count(*) from webhook_outbox
    where event_type = '"'w.all'"'")" = 2 ]'
hook-fanout
finish true delivered 200 ''
ended
is "$rc $(wc -l <"$out")" '0 4' 'lines can be waited for, too'

done_testing
