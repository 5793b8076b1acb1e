#!/bin/sh
# What a server and its other users may do: timeouts on the role, locks, index
# builds, snapshots and transactions left open, listeners that sleep, time
# zones, and silence.
. "${0%/*}/lib.sh"
. "${0%/*}/engine.sh"
need_cluster max_prepared_transactions=5
make_db
sql "alter database $db set timezone = 'Europe/Berlin'"
sql "create role slowpoke login in role webhook_worker;
    alter role slowpoke set statement_timeout = '200ms';
    alter role slowpoke set lock_timeout = '100ms';
    alter role slowpoke set idle_in_transaction_session_timeout = '500ms'"

# A session that stays: other NAME statement...; its end is other_end NAME.
other() {
	name=$1
	shift
	mkfifo "$work/$name"
	psql -X -q "$@" <"$work/$name" >"$work/$name.out" 2>&1 &
	eval "other_$name=$!"
}

# Nothing is open while a request is under way.
cat >"$work/watch" <<'EOT'
\pset tuples_only
select 'open', application_name, state, now() - xact_start
from pg_stat_activity where application_name in ('hook-deliver', 'hook-fanout')
    and (state like 'idle in transaction%'
	or state = 'idle' and xact_start is not null)
    and now() - state_change > interval '100 ms'
union all
select 'seen', null, null, null from pg_stat_activity
where application_name = 'hook-deliver' and state = 'idle'
\watch 0.05
EOT
psql -X -q -A -f "$work/watch" >"$work/watched" 2>&1 &
watcher=$!

TZ=Asia/Kolkata sink <<'EOT'
/slow * delay 2000
/many * delay 30
/zone 1 status 500
/row * delay 1500
EOT
sub slow "$sink/slow" max_concurrency=3
sub many "$sink/many" max_concurrency=100
many=$sub
export PGUSER=slowpoke TZ=America/New_York
fanout -i 100ms
fan_log=$log
worker -i 100ms -l 2s
log=$log worker=$pid
export PGUSER=postgres TZ=UTC
events slow 3
events many 3000
wait_for 10 '[ "$(seen /many)" -ge 100 ]'
psql -X -q -c 'begin; lock table webhook_deliveries' \
    -c 'select pg_sleep(3)' -c 'commit' >"$work/out" &
locker=$!
wait_for 5 "[ \"\$(sql \"select count(*) from pg_locks
    where mode = 'AccessExclusiveLock' and granted
    and relation = 'webhook_deliveries'::regclass\")\" = 1 ]"
run sql 'create index on webhook_deliveries (event_id, created_at)'
exits 0 'an index is made meanwhile'
wait $locker
wait_for 30 "[ \"\$(count \"state = 'delivered'\")\" = 3003 ]" \
    'timeouts on the role, LOCK TABLE and CREATE INDEX: all is delivered'
is "$(sql 'select max(attempts), count(*) filter (where attempts <> 1)
    from webhook_deliveries')" '1|0' '... with one attempt each'
is "$(seen /many)" 3000 '... and one request'
is "$(cat "$log" "$fan_log" | grep -v 'outcome not written yet')" '' \
    '... and no line in the logs but that an outcome had to wait'

# Somebody's transaction has a lane locked for longer than the lease.
sub other "$sink/other"
other=$sub
other locker
exec 3>"$work/locker"
echo "begin; select from webhook_lanes where subscription_id = $many
    for update;" >&3
wait_for 5 "[ \"\$(sql \"select count(*) from pg_stat_activity
    where state = 'idle in transaction'\")\" = 1 ]"
until=$(($(now_ms) + 3000))
n=0
while [ "$(now_ms)" -lt $until ]; do
	n=$((n + 1))
	events other 1
	wait_for 5 "[ \"\$(seen /other)\" = $n ]" || break
done
[ $n -ge 3 ] && [ "$(seen /other)" = $n ]
check "a lane that somebody has locked does not hold up the others ($n events)"
events many 1
wait_for 5 "[ \"\$(sql \"select count(*) from pg_stat_activity
    where application_name = 'hook-fanout' and wait_event_type = 'Lock'\")\" = 1 ]" \
    'an event for that lane has to wait'
echo 'commit;' >&3
wait_for 5 '[ "$(seen /many)" = 3001 ]' '... until it is free'
is "$(grep -c 'lane lost' "$log")" 0 '... and no other lane is lost meanwhile'
exec 3>&-

# Somebody's transaction has a delivery locked whose outcome is to be written.
sub row "$sink/row"
events row 1
wait_for 5 '[ "$(seen /row)" = 1 ]'
id=$(sql "select id from webhook_deliveries where subscription_id = $sub")
other row
exec 3>"$work/row"
echo "begin; select from webhook_deliveries where id = $id for update;" >&3
wait_for 5 "[ \"\$(sql \"select count(*) from pg_stat_activity
    where state = 'idle in transaction'\")\" = 1 ]"
n=$(seen /other)
events other 5
wait_for 5 "[ \"\$(count \"subscription_id = $other
    and state = 'delivered'\")\" = $((n + 5)) ]" \
    'a delivery that somebody has locked does not hold up the others'
wait_for 5 'grep -q "outcome not written yet.*delivery=$id" "$log"' \
    '... the log tells which it is'
events other 5
wait_for 5 "[ \"\$(count \"subscription_id = $other
    and state = 'delivered'\")\" = $((n + 10)) ]" '... and all goes on'
echo 'commit;' >&3
exec 3>&-
wait_for 10 "[ \"\$(count \"id = $id and state = 'delivered'
    and attempts = 1\")\" = 1 ]" '... until it is free, and recorded'
is "$(seen /row)" 1 '... after one request'

# Transactions left open elsewhere; a prepared one; an old snapshot.
PGDATABASE=postgres other elsewhere
other snapshot
exec 4>"$work/elsewhere" 5>"$work/snapshot"
echo 'begin; select pg_current_xact_id();' >&4
echo 'begin isolation level repeatable read; select 1;' >&5
sql "begin; create table orphan (); prepare transaction 'orphan'"
wait_for 5 "[ \"\$(sql \"select count(*) from pg_stat_activity
    where state = 'idle in transaction'\")\" = 2 ]"
n=$(seen /other)
at=$(now_ms)
events other 10
wait_for 5 "[ \"\$(seen /other)\" = $((n + 10)) ]" \
    'an open, a prepared and a reading transaction hold up nothing'
at=$(($(now_ms) - at))
[ $at -lt 2000 ]
check "... ($at ms)"
exec 4>&- 5>&-
sql "rollback prepared 'orphan'"

# A listener that never listens, and writers that notify.
sql "alter database $db set hook.notify = 'on'"
other sleeper
exec 6>"$work/sleeper"
echo "select webhook_channel('fanout') as c \\gset
    listen :c; begin; select 1;" >&6
wait_for 5 "[ \"\$(sql \"select count(*) from pg_stat_activity
    where state = 'idle in transaction'\")\" = 1 ]"
n=$(seen /other)
echo "insert into webhook_outbox (event_type, payload) values ('other', '{}');
    select 1" >"$work/one.sql"
run pgbench -n -c 8 -t 50 -f "$work/one.sql"
exits 0 'eight writers commit with a listener that sleeps in a transaction'
wait_for 10 "[ \"\$(seen /other)\" = $((n + 400)) ]" '... all is delivered'
[ "$(sql 'select (pg_notification_queue_usage() * 1000)::int')" -lt 10 ]
check '... and the queue of notifications is as good as empty'
wait_for 5 "[ \"\$(sql \"select string_agg(distinct state, ' ')
    from pg_stat_activity where application_name in ('hook-deliver', 'hook-fanout')\")\" \
    = idle ]" 'the followers'\'' own sessions are idle, in no transaction'
exec 6>&-

# Zones: of the database, the worker, the receiver.
sub zone "$sink/zone" "retry_ms='{1500}'"
events zone 1
wait_for 10 '[ "$(seen /zone)" = 2 ]' 'zones everywhere: a retry comes'
# shellcheck disable=SC2016 # awk's
[ "$(awk '$1 == "in" && $5 == "/zone" { if (n++) print int(($3 - a) / 1e6)
    a = $3 }' "$sink_dir/log")" -le 5 ]
check '... after the seconds of its schedule'
is "$(sql "select extract(epoch from give_up_at - created_at)::int
    from webhook_deliveries where subscription_id = $sub")" 259200 \
    '... with a deadline in 72 hours'
n=$(awk '$1 == "in" && $5 == "/zone" { print $2 }' "$sink_dir/log" | tail -n 1)
stamp=$(tr -d '\r' <"$sink_dir/$n.head" |
    sed -n 's/^[Ww]ebhook-[Tt]imestamp: //p')
[ "$(($(date -u +%s) - stamp))" -le 15 ] && [ "$stamp" -le "$(date -u +%s)" ]
check '... signed with the time of day of UTC'
like "$(cat "$sink_dir/$n.body")" \
    "\"timestamp\":\"$(date -u +%Y-%m-%dT%H):[0-9:.]*Z\"" \
    '... and an envelope that says Z'

kill $watcher
wait $watcher 2>/dev/null
is "$(grep -c '^open' "$work/watched")" 0 \
    'in all that time no follower sat in a transaction'
[ "$(grep -c '^seen' "$work/watched")" -gt 20 ]
check '... looked at often enough'

# A port that is open and silent.
listener 'push(@keep, $c)'
start hook-deliver -f -d "host=127.0.0.1 port=$port"
wait_for 5 '[ "$(find "/proc/$pid/fd" -lname "socket:*" | wc -l)" -ge 1 ]'
at=$(now_ms)
stop
at=$(($(now_ms) - at))
[ "$rc" = 0 ] && [ $at -lt 2500 ]
check "a worker that waits for a silent server can be stopped ($at ms)"

done_testing
