#!/bin/sh
# A worker is killed, or frozen and woken again: what it did is not forgotten,
# and it overwrites nothing that another has done.
. "${0%/*}/lib.sh"
. "${0%/*}/engine.sh"
need_db
old_server
fanout -i 100ms

# Killed when the request is under way: it comes back within lease and poll,
# under the same id, and the attempt without an outcome is on record.
sink <<'EOT'
/poison * hang
EOT
sub poison "$sink/poison" "retry_ms='{50,50}'" timeout_ms=30000
events poison 1
for n in 1 2 3 4; do
	worker -l 1s -i 100ms
	wait_for 5 '[ "$(seen /poison)" = $n ]' \
	    "a request that a kill cut off comes back ($n)"
	stop "$pid" KILL
	[ $n != 1 ] || killed=$(now_ms)
	[ $n != 2 ] || { took=$(($(now_ms) - killed))
	    [ $took -lt 2500 ]
	    check "... within the lease of 1 s and a poll ($took ms)"; }
done
worker -l 1s -i 100ms
wait_for 5 '[ "$(count "state = '\''failed'\''")" = 1 ]' \
    'one that is killed each time ends as a dead letter'
stop
is "$(ids /poison | wc -l)" 1 '... after requests under one id'
is "$(sql "select attempts, last_error from webhook_deliveries
    where event_type = 'poison'")" \
    '4|no outcome known: the worker stopped' '... and says why'
is "$(sql "select string_agg(attempt || ' ' || error, ', ' order by attempt)
    from webhook_attempts a join webhook_deliveries d on d.id = a.delivery_id
    where event_type = 'poison' and attempt in (1, 4)")" \
    '1 no outcome known: the worker stopped, 4 no outcome known: the worker stopped' \
    '... with a row for each attempt'
is "$(seen /poison)" 4 '... and is not sent again'

# Killed between the answer and the record.
sub written "$sink/written"
sql "create function slow() returns trigger language plpgsql as \$\$ begin
	perform pg_sleep(3); return new; end \$\$;
    create trigger slow before insert on webhook_attempts for each row
    execute function slow()"
events written 1
worker -l 1s -i 100ms
wait_for 5 "[ \"\$(sql \"select count(*) from pg_stat_activity
    where datname = current_database()
    and wait_event = 'PgSleep'\")\" = 1 ]" 'an outcome is being written'
stop "$pid" KILL
sql "select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database()
    and wait_event = 'PgSleep'" >"$work/out"
sql 'alter table webhook_attempts disable trigger slow'
worker -l 1s -i 100ms
wait_for 5 '[ "$(count "event_type = '\''written'\'' and
    state = '\''delivered'\''")" = 1 ]' \
    'killed before it was, it is delivered again'
is "$(sql "select attempts from webhook_deliveries
    where event_type = 'written'")" 2 '... as the second attempt'
stop

# Frozen for longer than the lease, with a failure under way that it would
# write down, and others waiting in its memory.
sink <<'EOT'
/frozen 1 delay 1500 | status 500
/frozen 2-4 delay 100 | status 500
/frozen * delay 300
EOT
sub frozen "$sink/frozen" max_concurrency=1 "retry_ms='{100,100,100,100}'"
worker -l 1s -i 100ms
one=$pid one_log=$log
events frozen 3
wait_for 5 '[ "$(seen /frozen)" = 1 ]'
kill -STOP "$one"
worker -l 1s -i 100ms
wait_for 5 '[ "$(seen /frozen)" -ge 2 ]' \
    'the lane of a frozen worker is taken over'
wait_for 5 '[ "$(awk "\$1 == \"out\"" "$sink_dir/log" | wc -l)" -ge 3 ]'
before=$(sql "select fence, owner from webhook_lanes
    where subscription_id = $sub")
kill -CONT "$one"
wait_for 5 'grep -q "lane lost.*subscription=$sub" "$one_log"' \
    'woken again, it says that it lost its lane'
wait_for 10 '[ "$(count "event_type = '\''frozen'\'' and
    state = '\''delivered'\''")" = 3 ]' 'all is delivered'
is "$(sql "select fence, owner from webhook_lanes
    where subscription_id = $sub")" "$before" '... by the new owner'
is "$(sql "select count(*) from webhook_attempts a join webhook_deliveries d
    on d.id = a.delivery_id where event_type = 'frozen'
    and worker like '%:$one:%'")" 0 'the woken one has written no outcome'
is "$(sql "select count(*) from webhook_deliveries d
    where event_type = 'frozen' and attempts <> (select count(*)
	from webhook_attempts a where a.delivery_id = d.id)")" 0 \
    '... and counted no attempt'

run hook-reconcile
is "$rc $(cat "$work/out" "$work/err")" '0 ' \
    'hook-reconcile finds nothing missing, doubled or stuck'

done_testing
