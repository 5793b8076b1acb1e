#!/bin/sh
# hook-reconcile: what is damaged is named, what is only busy is not.
. "${0%/*}/lib.sh"
. "${0%/*}/engine.sh"
need_db

clean() {	# NAME
	run hook-reconcile
	is "$rc $(cat "$work/out" "$work/err")" '0 ' "$1"
}
# What it says: kind, id, event, subscription.
names() {	# WANT NAME
	run hook-reconcile
	is "$rc $(jq -r '[.kind, .id, .event_id, .subscription_id | tostring]
	    | join(" ")' "$work/out" | sort)" "1 $1" "$2"
	is "$(jq -r 'select(.why == null or .todo == null)' "$work/out")" '' \
	    '... with why, and what to do'
}

run hook-reconcile -x
exits 64 'an unknown option is a usage error'
run hook-reconcile --since never
exits 64 'a time that is none is a usage error'
clean 'an empty database is clean'

# All that a system does, and nothing is wrong.
sink <<'EOT'
/bad * status 400
/later * status 503
EOT
sub plain "$sink/plain"
plain=$sub
for n in bad later paused ordered gone disabled removed; do
	sub $n "$sink/$n" "ordered=$([ $n = ordered ] && echo true || echo false)"
	sql "update webhook_subscriptions set event_types = '{$n,all}'
	    where id = $sub"
	eval "$n=$sub"
done
sql "update webhook_subscriptions set event_types = '{plain,all}'
    where id = $plain;
    update webhook_subscriptions set filter = '\$.n > 1' where id = $gone;
    update webhook_subscriptions set updated_at = now() - interval '2 days'"
sql "update webhook_subscriptions set state = 'paused' where id = $paused;
    update webhook_subscriptions set state = 'disabled' where id = $disabled"
events all 3
events none 2
events plain 3
hook-fanout
clean 'what waits is clean'
hook-deliver
clean 'what was sent, failed, waits or is dead is clean'
sql "update webhook_deliveries_pending set give_up_at = now()
    where subscription_id = $later"
again
hook-deliver
is "$(count "state = 'expired'")" 3 '(some have passed their deadline)'
clean '... and what has passed its deadline, too'
sub odd "$sink/plain" "filter='\$.n > 0'"
event odd '{"n": "\u0000"}'
hook-fanout
is "$(count "event_type = 'odd' and state = 'failed'")" 1 \
    '(one has failed by its filter)'
clean '... and what no filter can read'
events removed 3
hook-fanout
hook-sub rm "$removed" >/dev/null
is "$(count "subscription_id = $removed and state = 'discarded'")" 3 \
    '(three have lost their subscription)'
clean '... or lost its subscription'
for how in drop retry; do
	hook-dlq $how "$(sql "select min(id) from webhook_deliveries
	    where state = 'expired'")" >/dev/null
done
hook-replay --fanout --force -t odd >/dev/null
is "$(count "event_type = 'odd' and state = 'failed'")" 2 \
    '(another has failed by its filter)'
hook-replay "$(sql "select max(id) from webhook_deliveries
    where state = 'failed' and event_type <> 'odd'")" >/dev/null
dead=$(sql "select min(id) from webhook_deliveries where state = 'failed'")
hook-dlq drop "$dead" >/dev/null
dead=$(sql "select min(id) from webhook_deliveries where state = 'failed'")
hook-dlq retry "$dead" >/dev/null
hook-replay --force "$(sql "select min(id) from webhook_deliveries
    where state = 'delivered'")" >/dev/null
hook-sub add -e 'all' "$sink/new" >/dev/null
hook-replay --fanout -t all >/dev/null
worker
hook-sub test "$plain" >/dev/null
stop
hook-sub resume "$disabled" >/dev/null
clean 'and so is what was dropped, retried, replayed, removed, tested'
hook-deliver
clean '... when that is over, too'

# Each invariant, damaged.
event=$(sql "select min(event_id) from webhook_outbox
    where event_type = 'plain'")
victim=$(sql "select id from webhook_deliveries where event_id = '$event'")
sql "create table kept as select * from webhook_deliveries where id = $victim;
    delete from webhook_deliveries where id = $victim"
names "counter null null null
counter null null null
missing null $event null" 'a delivery that is missing'
sql "insert into webhook_deliveries select * from kept"
clean '... put back, all is well'
sql "insert into webhook_deliveries select nextval('webhook_deliveries_id_seq'),
    outbox_id, outbox_created_at, event_id, event_type, subscription_id,
    'discarded', attempts, round_start, next_attempt_at, give_up_at,
    created_at, finished_at, last_status, last_error, 'x', replay_of,
    order_key, payload_bytes, body from kept"
twice=$(sql 'select max(id) from webhook_deliveries')
names "counter null null null
counter null null null
doubled $twice $event $plain" 'one that is there twice'
sql "update webhook_deliveries set replay_of = $victim where id = $twice"
names 'counter null null null
counter null null null' '... unless it is a replay; but nobody counted it'
sql "update webhook_deliveries set replay_of = null,
    subscription_id = $paused where id = $twice"
names "counter null null null
counter null null null
surplus null $event null" 'one too many'
sql "delete from webhook_deliveries where id = $twice"
sql "update webhook_outbox set fanned_out_at = null, fanned_out_to = null
    where event_id = '$event'"
names "unstamped null $event null" 'an event that would be fanned out again'
sql "update webhook_outbox set fanned_out_at = now(), fanned_out_to = 1
    where event_id = '$event'"
sql "insert into webhook_outbox (event_id, event_type, payload, fanned_out_at,
	fanned_out_to) values
    ('evt_big', 'all', '{\"n\":2}', now() + interval '2 minutes', 0),
    ('evt_small', 'gone', '{\"n\":1}', now() + interval '2 minutes', 0)"
run hook-reconcile
is "$rc $(jq -r 'select(.kind == "unmatched") | .subscription_id' \
    "$work/out" | sort -n | xargs)" "1 $(sql "select id
    from webhook_subscriptions where 'all' = any (event_types)
    and state <> 'disabled' order by id" | xargs)" \
    'an event that a subscription should have had'
is "$(jq -r 'select(.event_id == "evt_small")' "$work/out")" '' \
    '... by its filter, too'
sql "delete from webhook_outbox where event_id in ('evt_big', 'evt_small')"
clean 'and all is well'

id=$(sql "select min(id) from webhook_deliveries_pending
    where subscription_id = $paused")
on="subscription_id = $paused"
event=$(sql "select event_id from webhook_deliveries where id = $id")
sql "create table lost as select * from webhook_outbox
    where event_id = '$event'; delete from webhook_outbox
    where event_id = '$event'"
names "$(sql "select 'orphan ' || id || ' ' || event_id || ' '
    || subscription_id from webhook_deliveries_pending
    where event_id = '$event' order by 1")" 'one that waits without its event'
sql 'insert into webhook_outbox select * from lost'
sql "update webhook_deliveries set subscription_id = 999 where id = $id"
names "laneless $id $event 999" 'one that waits for nobody'
sql "update webhook_deliveries set subscription_id = $paused where id = $id"

due=$(sql "select next_due_at from webhook_lanes where $on")
sql "update webhook_lanes set next_due_at = null where $on"
names "lane_asleep null null $paused" 'a paused lane that never wakes'
sql "update webhook_lanes set next_due_at = '$due' where $on"
sub sleepy "$sink/sleepy"
events sleepy 1
hook-fanout
sql "update webhook_lanes set next_due_at = null where subscription_id = $sub"
names "lane_asleep null null $sub" 'a lane that sleeps over a delivery'
sql "update webhook_lanes set next_due_at = now() + interval '1 hour'
    where subscription_id = $sub"
names "lane_asleep null null $sub" '... or wakes too late'
sql "update webhook_lanes set hold_until = next_due_at
    where subscription_id = $sub"
clean '... unless it is held'
sql "update webhook_lanes set hold_until = null where subscription_id = $sub"
start hook-reconcile
wait_for 10 "[ \"\$(sql \"select count(*) from pg_stat_activity
    where datname = current_database() and application_name = 'hook-reconcile'
	and state = 'idle' and state_change < clock_timestamp()
	- interval '0.5 s'\")\" = 1 ]"
sql "update webhook_lanes set next_due_at = now() where subscription_id = $sub"
rc=0
wait "$pid" || rc=$?
is "$rc $(cat "$out")" '0 ' 'what is only a moment is not told'
sql "update webhook_subscriptions set ordered = true where id = $sub"
sql "update webhook_lanes set next_due_at = null where subscription_id = $sub"
names "lane_asleep null null $sub" 'a lane that keeps order, likewise'
hook-deliver
again
hook-deliver
clean 'worked off, it is well'

# A server that has just started gives leases half a minute.
leased="leased_until = now() - interval '1 minute'"
# Between the two it is not known which of them a look will find.
older() {	# SECONDS
	[ "$(sql "select now() > pg_postmaster_start_time()
	    + interval '$1 s'")" = t ]
}
older 15 && wait_for 20 'older 31'
old=f
older 31 && old=t
sql "update webhook_lanes set owner = 'dead:1:x', $leased where $on;
    insert into webhook_inbox (source, message_id, body, owner, leased_until)
    values ('s', 'm1', '', 'dead:2:x', now() - interval '1 minute')"
if [ "$old" = t ]; then
	names "inbox_leased 1 m1 null
lane_leased null null $paused" 'what a dead worker holds'
else
	clean 'leases from before the server started are not told yet'
fi
sql "update webhook_lanes set owner = null, leased_until = null where $on;
    delete from webhook_inbox"
sql "update webhook_lanes set owner = 'dead:1:x', leased_until = now()
	+ interval '1 day' where $on;
    insert into webhook_inbox (source, message_id, body, owner, leased_until)
    values ('s', 'm1', '', 'dead:2:x', now() + interval '1 day')"
message=$(sql 'select id from webhook_inbox')
names "inbox_leased $message m1 null
lane_leased null null $paused" 'a lease that is longer than any'
sql "$(jq -r 'select(.kind == "inbox_leased") | .todo' "$work/out")"
sql "$(jq -r 'select(.kind == "lane_leased") | .todo' "$work/out")"
is "$(sql "select (select leased_until from webhook_inbox) > now(), leased_until
    > now() from webhook_lanes where $on")" 'f|f' '... and what to do ends it'
sql "update webhook_lanes set owner = null, leased_until = null where $on;
    update webhook_inbox set owner = 'here:1:x',
	leased_until = now() + interval '10 min'"
clean '... while the longest is well'
sql 'delete from webhook_inbox'

# Messages: those that are dead, and those that are done.
sql "insert into webhook_inbox (source, message_id, body)
    select 's', 'm' || n, '' from generate_series(1, 6) n;
    insert into webhook_inbox (source, message_id, body, state, finished_at)
    values ('s', 'app', '', 'done', now());
    update webhook_inbox set id = -id where message_id in ('m6', 'app')"
run hook-consume -s s -t none -- true
sql "update webhook_inbox set event_type = 'bad' where message_id < 'm5'"
run hook-consume -s s -t bad -x 1 -- false
run hook-consume -s s -- true
is "$(sql "select state, count(*) from webhook_inbox group by 1 order by 1" |
    xargs)" 'dead|4 done|3' '(four are dead, and an application did one)'
clean 'messages that are dead or done are well'
message() {	# N: the id of one
	sql "select 'm' || id from webhook_inbox where message_id = 'm$1'"
}
hook-dlq retry "$(message 1)" "$(message 2)" >/dev/null
hook-dlq drop "$(message 3)" >/dev/null
clean '... retried or dropped, too'
run hook-consume -s s -x 1 -- sh -c '[ "$HOOK_MESSAGE_ID" = m1 ]'
clean '... and done or dead again'
sql "create table put_by as select * from webhook_inbox
    where message_id = 'm2'; delete from webhook_inbox
    where message_id = 'm2'"
names 'counter null null null' 'a dead message that is gone'
is "$(jq -r .why "$work/out")" \
    'consumed, dead, of s: 2 counted and not pruned, 1 there' '... and of whom'
sql 'insert into webhook_inbox select * from put_by'
clean '... is back'
sql "update webhook_inbox set state = 'discarded' where message_id = 'm2'"
names 'counter null null null' 'one that was dropped by hand'
sql "update webhook_inbox set state = 'dead' where message_id = 'm2';
    update webhook_inbox set state = 'dead' where message_id = 'm5'"
names 'counter null null null' 'one that was made so by hand'
sql "update webhook_inbox set state = 'done' where message_id = 'm5'"
clean '... and back'
sql "delete from webhook_inbox where message_id in ('m5', 'app')"
names 'counter null null null' 'messages that were done, and are gone'
is "$(jq -r .why "$work/out")" \
    'consumed, done: 3 counted and not pruned, 2 there' '... and how many'
sql "delete from webhook_migrations where version = 16"
hook-migrate >"$work/out"
clean '... before there was such a counter, it is made up for'
sql "delete from webhook_counters where name = 'messages_reopened';
    delete from webhook_migrations where version = 16"
hook-migrate >"$work/out"
clean '... and what was retried'
sql "delete from webhook_counters where name = 'consumed'
    and outcome = 'dead'; delete from webhook_migrations where version = 16"
hook-migrate >"$work/out"
clean '... and what was dead'
sql "update webhook_inbox set received_at = now() - interval '99 days',
    finished_at = now() - interval '98 days'"
hook-prune >/dev/null
is "$(sql 'select count(*) from webhook_inbox')" 0 '(all are pruned)'
clean 'what was pruned is not missed'

sql "update webhook_counters set value = value + 1
    where ctid = (select ctid from webhook_counters
	where name = 'attempts' limit 1)"
names 'counter null null null' 'a counter that is wrong'
like "$(jq -r .why "$work/out")" '^attempts: [0-9]* counted, [0-9]* there' \
    '... by how much'
sql "update webhook_counters set value = value - 1
    where ctid = (select ctid from webhook_counters
	where name = 'attempts' limit 1)"

# Each outcome has a counter of what came to it and of what left it.
for o in delivered failed expired discarded; do
	for n in deliveries_finished deliveries_reopened; do
		sql "insert into webhook_counters (name, outcome, shard, value)
		    values ('$n', '$o', 99, 1)"
		names 'counter null null null' "a counter of $o that is wrong"
		like "$(jq -r .why "$work/out")" "^deliveries_finished, $o: " \
		    '... by name'
		sql 'delete from webhook_counters where shard = 99'
	done
done
dead=$(sql "select min(id) from webhook_deliveries where state = 'failed'")
sql "update webhook_deliveries set state = 'discarded', discarded = 'x'
    where id = $dead"
names 'counter null null null
counter null null null' 'one that was moved by hand'
sql "update webhook_deliveries set state = 'failed', discarded = null
    where id = $dead"
clean '... and back'

# Older versions did not count all of that: the migration makes up for it.
outcomes="outcome in ('failed', 'expired', 'discarded')"
sql "delete from webhook_counters where name = 'deliveries_reopened'
	or name = 'deliveries_finished' and outcome = 'discarded';
    insert into webhook_counters (name, outcome, shard, value) values
	('deliveries_finished', 'failed', 3, 7),
	('deliveries_pruned', 'expired', 3, 5),
	('deliveries_created', '', 3, 5)"
names 'counter null null null
counter null null null
counter null null null' 'what an older version has not counted'
sql 'delete from webhook_migrations where version = 14'
hook-migrate >"$work/out"
clean '... is made up for by the migration'
sql "delete from webhook_counters where $outcomes and name in
    ('deliveries_finished', 'deliveries_reopened');
    delete from webhook_migrations where version = 14"
hook-migrate >"$work/out"
clean '... whatever it was'

# Days that are over are counted on their own.
for p in deliveries_done attempts; do
	sql "select webhook_partition_make('webhook_$p',
	    (now() at time zone 'utc')::date - n)
	    from generate_series(1, 5) n" >"$work/out"
done
sql "update webhook_deliveries set finished_at = now() - id % 5
	* interval '1 day' where state = 'delivered';
    update webhook_attempts set at = now() - delivery_id % 8
	* interval '1 day'"
clean 'whatever day it was'

# Amid work: nothing is wrong that only moves.
for n in $(seq 400); do
	echo "insert into webhook_outbox (event_type, aggregate_id, payload)
	    select (array['all', 'plain', 'ordered', 'later'])[1 + n % 4],
		n % 7, json_build_object('n', n) from generate_series(1, 60) n;
	    select pg_sleep(0.02);"
done >"$work/producer.sql"
sql "update webhook_subscriptions set retry_ms = '{200,300,400}',
    deadline_ms = 2000 where id = $later;
    update webhook_lanes set hold_until = null, breaker = 'closed',
    failures = 0"
fanout -i 50ms -b 30
fan=$pid
worker -l 1s -i 50ms -j 8
one=$pid
worker -l 1s -i 50ms -j 8
two=$pid
start psql -X -q -f "$work/producer.sql"
producer=$pid
for n in 1 2 3; do
	clean "amid work there is nothing to tell ($n)"
	hook-sub pause "$plain" >/dev/null
	hook-sub resume "$plain" >/dev/null
done
kill -0 "$producer" 2>/dev/null
check '... and it was amid work'
stop "$producer"
for p in $fan $one $two; do
	stop "$p"
done

# A part of it.
sql "delete from webhook_deliveries where id = $victim"
run hook-reconcile --since 2001-01-01
is "$rc $(grep -c missing "$work/out")" '1 1' '--since takes what is younger'
run hook-reconcile --since tomorrow
is "$rc $(grep -c missing "$work/out")" '1 0' '... and leaves the rest'

run hook-reconcile -d 'host=/nowhere'
exits 75 'no server is a temporary failure'
viewer=viewer_$$
sql "create role $viewer login in role webhook_viewer"
PGUSER=$viewer run hook-reconcile
is "$rc $(cat "$work/err")" '1 ' 'a viewer may'
sql "drop role $viewer"

done_testing
