#!/bin/sh
# hook-replay, of old deliveries: one by one, by filter as a job, resumed
# after every kind of stop.  (From the outbox: 520-disaster.t.)
. "${0%/*}/lib.sh"
. "${0%/*}/wire.sh"
need_db

enqueue() {	# TYPE N
	sql "select json_build_object('event_type', '$1',
	    'aggregate_id', 'a' || n % 3, 'payload', json_build_object('n', n))
	    from generate_series(1, $2) n" | hook-enqueue -l >/dev/null || exit
}

field() {	# NAME
	jq -r ".$1" "$work/out"
}

# One delivery's row, but what is new in a replay.
copied() {	# ID
	sql "select outbox_id, outbox_created_at, event_id, event_type,
	    subscription_id, order_key, payload_bytes, body
	    from webhook_deliveries where id = $1"
}

sink <<'EOT'
/bad * status 400
EOT
sub order.paid "$sink/good" ordered=true "transform='{t: .n}'"
good=$sub
sub order.lost "$sink/bad"
bad=$sub
enqueue order.paid 4
enqueue order.lost 4
deliver
is "$(sql 'select state, count(*) from webhook_deliveries group by 1
    order by 1')" 'delivered|4
failed|4' 'some were delivered, some failed'
id=$(sql "select min(id) from webhook_deliveries where state = 'delivered'")
dead=$(sql "select min(id) from webhook_deliveries where state = 'failed'")

# By id.
run hook-replay "$id" "$dead" 999999
exits 1 'a delivered one is refused'
is "$(jq -c '[.id, .state, .replay_of]' "$work/out")" \
    "[$dead,\"pending\",null]" '... a dead one is put back, the same row'
is "$(cat "$work/err")" \
    "hook-replay: delivery $id: delivered: --force sends it again
hook-replay: delivery 999999: no such delivery" '... each with its reason'
run hook-replay --force "$dead"
is "$rc $(cat "$work/err")" \
    "1 hook-replay: delivery $dead: already waiting to be sent" \
    'what waits already is refused, forced or not'
deliver
is "$(sql "select state, attempts, round_start from webhook_deliveries
    where id = $dead")" 'failed|2|1' '... until it is over again'
sql "update webhook_subscriptions set transform = '{other: .n}'
    where id = $good"
rows=$(sql 'select count(*) from webhook_deliveries')
run hook-replay -n --force "$id"
is "$rc $(field id) $(sql 'select count(*) from webhook_deliveries')" \
    "0 $id $rows" 'a dry run changes nothing'
run hook-replay --force -u carol -m 'they lost it' "$id"
exits 0 'forced, a delivered one is sent again'
new=$(field id)
is "$(field replay_of) $([ "$new" -gt "$id" ] && echo new)" "$id new" \
    '... as a new delivery that names the old one'
is "$(copied "$new")" "$(copied "$id")" \
    '... of the same event, with what the transform made then'
is "$(sql "select attempts, round_start, give_up_at - created_at,
    last_status is null from webhook_deliveries where id = $new")" \
    '0|0|3 days|t' '... with attempts and deadline of its own'
is "$(sql "select actor, tool, action, object, reason, detail
    from webhook_audit order by id desc limit 1")" \
    "carol|hook-replay|replay|delivery $id|they lost it|$(echo \
    "{\"new_delivery\": $new}")" \
    '... and an audit row'
deliver
is "$(sql "select state from webhook_deliveries where id in ($id, $new)
    group by 1")" delivered '... it is delivered'
event=$(sql "select event_id from webhook_deliveries where id = $id")
for n in $(awk -v e="$event" '$1 == "in" && $6 == e { print $2 }' \
    "$sink_dir/log"); do
	cksum <"$sink_dir/$n.body"
	hook-verify -s standard -k "$work/secret" -q -H "$(tr -d '\r' \
	    <"$sink_dir/$n.head" | grep -i '^webhook-id:')" \
	    -H "$(tr -d '\r' <"$sink_dir/$n.head" |
	    grep -i '^webhook-timestamp:')" -H "$(tr -d '\r' \
	    <"$sink_dir/$n.head" | grep -i '^webhook-signature:')" \
	    <"$sink_dir/$n.body" || echo 'bad signature'
done >"$work/sent"
is "$(sort "$work/sent" | uniq -c | awk '{ print $1 }') $(grep -c bad \
    "$work/sent")" '2 0' \
    '... the same id and bytes twice, each with a good signature'
sql "select id from webhook_deliveries where subscription_id = $good
    and replay_of is null order by id" >"$work/ids"
run hook-replay --force - <"$work/ids"
is "$rc $(jq .replay_of "$work/out" | xargs)" "0 $(xargs <"$work/ids")" \
    'ids come from standard input too'
cp "$work/out" "$work/made"
run hook-replay --force - <"$work/made"
is "$rc $(grep -c 'already waiting' "$work/err")" '1 4' \
    '... and what it prints can be piped on'
sql "update webhook_deliveries set state = 'discarded', discarded = 'x',
    finished_at = now() where id = $new"
run hook-replay "$new"
is "$rc $(cat "$work/err")" \
    "1 hook-replay: delivery $new: discarded: --force sends it again" \
    'a discarded one needs force'
run hook-replay --force "$new"
is "$rc $(field replay_of)" "0 $new" '... and goes with it'
deliver

# What was pruned.
run hook-replay -e evt_none
is "$rc $(cat "$work/err")" "1 hook-replay: event evt_none is not in the\
 outbox: it was pruned, with its body, or was never there" \
    'an event that is gone is refused'
run hook-replay --fanout -e evt_none
is "$rc $(wc -l <"$work/err")" '1 1' '... from the outbox too'

# By filter.
sub order.busy "$sink/busy" "tenant='acme'"
busy=$sub
sql "select json_build_object('event_type', 'order.busy', 'tenant', 'acme',
    'payload', 1) from generate_series(1, 3)" | hook-enqueue -l >/dev/null
hook-fanout
sql "update webhook_deliveries set state = 'expired', finished_at = now(),
    created_at = now() - interval '1 day' where subscription_id = $busy"
day=$(date -u -d yesterday +%Y-%m-%dT12:00Z)
day2=$(date -u -d '2 days ago' +%Y-%m-%dT00:00Z)
one=$(sql "select event_id from webhook_deliveries where id = $dead")
while IFS='|' read -r options where; do
	# shellcheck disable=SC2086
	run hook-replay -n $options
	is "$rc $(jq -c '[.deliveries, .first]' "$work/out")" "0 $(sql "select
	    json_build_array(count(*), coalesce(json_agg(id order by id), '[]'))
	    from webhook_deliveries where $where" | jq -c .)" \
	    "hook-replay -n $options"
done <<EOT
-s $bad|subscription_id = $bad
-s $good|false
-T acme|subscription_id = $busy
-t order.lost|subscription_id = $bad
-t order.*|state in ('failed', 'expired')
-t order|false
-e $one|id = $dead
--state expired|subscription_id = $busy
--state failed|subscription_id = $bad
--state failed,expired|state in ('failed', 'expired')
--since $day2 --until now|state in ('failed', 'expired')
--until $day2|false
-s $good --force --state discarded|state = 'discarded'
-s $good --force --state delivered,discarded,failed|subscription_id = $good
EOT
is "$(hook-replay -n -t '*' --since "$day" | jq .deliveries)" "$(sql "select
    count(*) from webhook_deliveries where state in ('failed', 'expired')
    and created_at >= '$day'")" 'a time is that of the delivery'
is "$(sql "select count(*) from webhook_jobs")" 0 'nothing of that is a job'

sql "update webhook_subscriptions set state = 'disabled' where id = $bad"
run hook-replay -t 'order.*' -u dave -m 'all of it'
exits 0 'a replay by filter is a job'
is "$(jq -c '[.kind, .state, .done, .total, .made, .actor, .reason]' \
    "$work/out")" '["deliveries","finished",7,7,3,"dave","all of it"]' \
    '... which counts what it looked at and what it made'
job=$(field job)
is "$(sql "select actor, action, reason, detail ->> 'event_type_prefix'
    from webhook_audit where object = 'job $job'")" \
    'dave|replay|all of it|order.' '... with one audit row'
is "$(sql "select state, count(*) from webhook_deliveries
    where subscription_id in ($bad, $busy) group by 1 order by 1")" \
    'failed|4
pending|3' '... what may not be replayed stays as it is'
sql "update webhook_subscriptions set state = 'active' where id = $bad"
deliver
n=$(sql "select count(*) from webhook_deliveries")
start hook-deliver -f
run timeout 30 hook-replay --force --state delivered,discarded -s "$good" -r 20
stop
is "$rc $(jq -c '[.done, .total, .made]' "$work/out")" '0 [10,10,10]' \
    'a job sends again what was there when it began'
is "$(sql "select count(*) from webhook_deliveries")" $((n + 10)) \
    '... and not what it made itself'
run hook-replay -s 999
is "$rc $(jq -c '[.state, .total]' "$work/out")" '0 ["finished",0]' \
    'where nothing matches, the job is done'
run hook-replay --jobs
is "$(jq -r .job "$work/out" | xargs)" "$(sql 'select id from webhook_jobs
    order by id' | xargs)" '--jobs lists them'

# A hundred thousand, and all that may stop them.
sql "update webhook_deliveries set state = 'discarded', discarded = 'x',
    finished_at = now() where state <> 'discarded' and state <> 'delivered';
    insert into webhook_deliveries (outbox_id, outbox_created_at, event_id,
    event_type, subscription_id, state, attempts, give_up_at, finished_at,
    last_status, payload_bytes)
    select outbox_id, outbox_created_at, event_id, event_type,
    subscription_id, 'expired', 1, now(), now(), 503, payload_bytes
    from (select * from webhook_deliveries where subscription_id = $busy
	limit 1) d, generate_series(1, 100000);
    update webhook_subscriptions set state = 'paused' where id = $busy"

made() {
	sql "select made from webhook_jobs where id = $job"
}
waiting() {
	sql 'select count(*) from webhook_deliveries_pending'
}
# Start, wait until it has done something, and stop it.
begin_job() {	# option...
	start hook-replay "$@"
	wait_for 20 '[ "$(sql "select count(*) from webhook_jobs
	    where state = '"'running' and made > ${before:-0}"'")" = 1 ]'
	job=$(sql "select id from webhook_jobs where state = 'running'")
}

# Killed, it is gone only when its session is: until then the server may
# still commit its last statement, and holds its lock.
kill_job() {
	stop "$pid" KILL
	wait_for 20 '[ "$(sql "select count(*) from pg_stat_activity
	    where application_name = '"'hook-replay' and datname = '$db'"'")" \
	    = 0 ]'
}

begin_job -s "$busy" -r 4000
run hook-replay --resume "$job"
is "$rc $(cat "$work/err")" \
    "75 hook-replay: job $job: another hook-replay is on it" \
    'a second process on the same job is kept out'
kill_job
now=$(made)
[ "$now" -gt 0 ] && [ "$now" -lt 100000 ]
check "killed in the midst of it"
is "$(waiting)" "$now" '... what it counted is what it put back'
killed=
for part in 20000 45000 70000; do
	before=$part
	begin_job --resume "$job" -r 1000000
	kill_job
	killed="$killed $([ "$(waiting)" = "$(made)" ] && echo whole)"
done
is "$killed" ' whole whole whole' '... and so at every kill'
now=$(made)
run script -qec "hook-replay --resume $job -o json" "$work/typescript"
is "$rc $(sql "select state, done, total, made from webhook_jobs
    where id = $job")" '0 finished|100000|100000|100000' \
    'resumed to the end, all of them are put back'
is "$(waiting) $([ "$now" -lt 100000 ] && echo midst)" '100000 midst' \
    '... exactly'
like "$(tr '\r' '\n' <"$work/typescript" | sed -n 3p)" \
    "^job $job: [0-9]+ of 100000 deliveries, [0-9]+ made" \
    '... with its progress on a terminal'
run hook-replay --resume "$job"
is "$rc $(cat "$work/err")" "1 hook-replay: job $job: does not run any more" \
    'a job that is finished does not go on'
is "$(sql "select count(*) from webhook_audit
    where object like 'delivery %' and at > (select created_at
    from webhook_jobs where id = $job)")" 0 'its deliveries are not audited'

# Slowly, and told to stop; cancelled; its session killed.
again_dead() {	# N
	sql "delete from webhook_deliveries where subscription_id = $busy
	    and id not in (select id from webhook_deliveries
		where subscription_id = $busy order by id limit $1);
	    update webhook_deliveries set state = 'expired',
	    finished_at = now() where subscription_id = $busy"
}
again_dead 60
run hook-replay -s "$busy" -r 100
is "$rc $(jq -c '[.made, .rate_per_second]' "$work/out")" '0 [60,100]' \
    'a replay at a rate'
is "$(sql "select updated_at - created_at between '0.3 s' and '10 s'
    from webhook_jobs order by id desc limit 1")" t '... takes its time'
again_dead 60
run hook-replay -r 100 - <<EOT
$(hook-dlq list -s "$busy")
EOT
is "$rc $(sql "select max(at) - min(at) between '0.3 s' and '10 s'
    from webhook_audit where object like 'delivery %' and id > (select max(id)
    from webhook_audit where object not like 'delivery %')")" '0 t' \
    '... and so do ids'
again_dead 60
before=0
begin_job -s "$busy" -r 20
stop
is "$rc $(cat "$log")" \
    "75 hook-replay: stopped; hook-replay --resume $job goes on" \
    'told to stop, it says how to go on'
run hook-replay --resume "$job" -r 1000
is "$rc $(jq -c '[.state, .made, .rate_per_second]' "$work/out")" \
    '0 ["finished",60,20]' '... which works'
again_dead 60
begin_job -s "$busy" -r 20
sql "select pg_terminate_backend(pid) from pg_stat_activity
    where application_name = 'hook-replay' and datname = '$db'" >/dev/null
rc=0
wait "$pid" || rc=$?
is "$rc" 75 'a lost connection is a temporary failure'
like "$(cat "$log")" "; hook-replay --resume $job goes on\$" \
    '... that says how to go on'
start hook-replay --resume "$job"
wait_for 10 '[ "$(sql "select count(*) from pg_locks
    where locktype = '"'advisory' and granted and database = (select oid
    from pg_database where datname = '$db')"'")" = 1 ]'
run hook-replay --cancel "$job" -u erin -m enough
is "$rc $(field state)" '0 cancelled' 'a job that runs can be cancelled'
is "$(sql "select actor, action, reason from webhook_audit
    where object = 'job $job' order by id desc limit 1")" \
    'erin|cancel|enough' '... with an audit row'
rc=0
wait "$pid" || rc=$?
is "$rc $(cat "$log")" "1 hook-replay: job $job: was cancelled" \
    '... and who works on it stops'
left=$(waiting)
[ "$left" -lt 60 ]
check '... where it was'
run hook-replay --cancel "$job"
is "$rc $(cat "$work/err")" "1 hook-replay: job $job: does not run" \
    '... once'
run hook-replay --resume "$job"
is "$rc $(waiting)" "1 $left" '... for good'
run hook-replay --resume 999
is "$rc $(cat "$work/err")" '1 hook-replay: job 999: no such job' \
    'an unknown job'

# What it does not take.
rows=$(sql "select count(*) || ' ' || (select count(*) from webhook_jobs)
    from webhook_audit")
while IFS='|' read -r want args; do
	# shellcheck disable=SC2086
	run hook-replay $args </dev/null
	exits "$want" "hook-replay $args"
	like "$(tail -n 1 "$work/err")" '^(usage: )?hook-replay' \
	    '... and is told so'
done <<EOT
64|
64|--force
64|--fanout
64|-r 10
64|-n
64|one
64|0
64|- 1
64|-s 1 7
64|--state failed 7
64|--fanout 7
64|--since today 7
64|-s 0
64|-s x
64|-r 0 -s 1
64|-r -1 -s 1
64|-r 1e3 -s 1
64|-r fast -s 1
64|-o xml -s 1
64|--since later
64|--until 25:00
64|--state
64|--state pending
64|--state failed,
64|--state failed,,expired
64|--state Failed
64|--state failed,dead
64|--state delivered
64|-s 1 --state failed,discarded
64|--fanout -s 1 --state failed
64|--jobs 7
64|--jobs -s 1
64|--resume
64|--resume x
64|--resume 0
64|--resume 1 -s 1
64|--resume 1 7
64|--cancel 1 --force
64|--cancel -1
64|--jobs --resume 1
64|--later
75|-s 1 -d host=/nowhere
EOT
printf '%s\n{"n":1}\n' "$id" | hook-replay --force - >"$work/out" 2>&1
is "$? $(cat "$work/out")" '65 hook-replay: standard input: line 2: no id' \
    'a bad line refuses them all'
is "$(sql "select count(*) || ' ' || (select count(*) from webhook_jobs)
    from webhook_audit")" "$rows" '... and nothing was done'

done_testing
