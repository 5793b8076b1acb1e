#!/bin/sh
# hook-prune: partitions are made ahead and dropped when they are old; nothing
# that is needed goes, and what is refused says why.
. "${0%/*}/lib.sh"
. "${0%/*}/engine.sh"
need_db

told() {	# [ACTION]: what was done, but for the vacuum
	jq -r "select(.action != \"vacuum\" and .action ==
	    (\"${1-}\" | if . == \"\" then \"keep\", \"drop\", \"make\",
	    \"delete\" else . end)) |
	    [.action, .object, .rows, .why] | join(\" \")" "$work/out"
}
day() {		# DAYS: so many days ago, as in names
	date -u -d "$1 days ago" +%Y%m%d
}
parts() {	# PARENT: how many
	sql "select count(*) from webhook_partitions where parent = '$1'"
}
# A partition of so many days ago.
old_day() {	# PARENT DAYS
	sql "select webhook_partition_make('$1',
	    (now() at time zone 'utc')::date - $2)" >/dev/null
}
# An event of so many days ago: $event, its id.
old_event() {	# DAYS
	old_day webhook_outbox "$1"
	event=$(sql "insert into webhook_outbox (event_type, payload,
	    created_at) values ('old', '{\"days\":$1}',
	    now() - interval '$1 days') returning event_id")
}

run hook-prune -x
exits 64 'an unknown option is a usage error'
for k in keys=6d inbox=6d 3d done=20d,outbox=21d done=29d dead=1d outbox=1x \
    what=3d 30 outbox=; do
	run hook-prune -k "$k"
	is "$rc $(wc -l <"$work/err")" '64 1' "-k $k is refused in one line"
done
run hook-prune -n
is "$rc $(told)" '0 ' 'right after hook-migrate there is nothing to do'
is "$(jq -r 'select(.action == "vacuum") | .object' "$work/out" | sort |
    xargs)" 'webhook_counters webhook_deliveries_pending webhook_idempotency webhook_inbox webhook_lanes webhook_wakeup webhook_workers' \
    '... but to vacuum what is hot'
run hook-prune -o table
like "$(head -n 1 "$work/out")" '^action +object +rows +why' \
    'a table, if asked for'

# A missing day: the default partition catches, and is emptied.
today=webhook_outbox_$(day 0)
sql "drop table $today, webhook_attempts_$(day 0),
    webhook_deliveries_done_$(day 0); drop table webhook_outbox_$(day -14)"
sink <<'EOT'
/bad * status 400
EOT
sub old "$sink/good"
good=$sub
sub bad "$sink/bad"
events old 3
events bad 1
sql "insert into webhook_outbox (event_type, payload, created_at)
    values ('early', '{ \"a\": 1.0 }', now() - interval '3 days')"
deliver
is "$(sql 'select count(*) from webhook_outbox_default')" 5 \
    'rows of a day without a partition are not lost'
sql 'select * from webhook_outbox order by id' >"$work/before"
run hook-prune -n
is "$rc $(told make | sort)" "0 $(sort <<EOT
make webhook_attempts_$(day 0) 4 
make webhook_deliveries_done_$(day 0) 3 
make webhook_outbox_$(day -14) 0 
make webhook_outbox_$(day 0) 4 
make webhook_outbox_$(day 3) 1 
EOT
)" 'a dry run says which partitions are missing'
is "$(sql 'select count(*) from webhook_outbox_default')" 5 '... and does nothing'
said=$(told make)
run hook-prune
is "$rc $(told make)" "0 $said" 'they are made'
is "$(sql "select count(*) from webhook_outbox_default"
    sql "select count(*) from webhook_attempts_default"
    sql "select count(*) from webhook_deliveries_done_default"
    sql "select count(*) from $today")" '0
0
0
4' '... and what the default partition held is moved'
sql 'select * from webhook_outbox order by id' >"$work/after"
cmp "$work/before" "$work/after"
check '... as it was'
is "$(sql "select count(*) from pg_index where indrelid = '$today'::regclass")" \
    "$(sql "select count(*) from pg_index
    where indrelid = 'webhook_outbox'::regclass")" '... with all indexes'
run hook-prune
is "$rc $(told)" '0 ' 'again, there is nothing to do'
run hook-reconcile
is "$rc $(cat "$work/out")" '0 ' '... and nothing is missing'

# Old days: what is not needed goes.
old_event 40
gone=$event
hook-fanout
hook-deliver
done=$(sql "select id from webhook_deliveries where event_id = '$gone'")
old_event 42
hook-fanout
pending=$(sql 'select id from webhook_deliveries_pending')
old_event 41
waits=$event
for p in deliveries_done deliveries_dead attempts; do
	old_day webhook_$p 31
	old_day webhook_$p 29
done
sql "update webhook_deliveries set finished_at = now() - interval '31 days'
    where id = $done;
    insert into webhook_attempts (delivery_id, attempt, at)
    values (1, 2, now() - interval '31 days')"
sql "insert into webhook_counters (name, value) values ('attempts', 1)"
want="drop webhook_outbox_$(day 40) 
keep webhook_outbox_$(day 41)  event $waits is not fanned out
keep webhook_outbox_$(day 42)  delivery $pending is pending
drop webhook_deliveries_done_$(day 31) 
drop webhook_deliveries_dead_$(day 31) 
drop webhook_attempts_$(day 31) "
run hook-prune -n
is "$rc $(told | sed 's/ $//' | sort)" "0 $(echo "$want" | sort)" \
    'a dry run says what would go, and what is needed'
is "$(parts webhook_outbox) $(parts webhook_attempts)" '19 17' \
    '... and drops nothing'
run hook-prune -u alice -m tidy
is "$rc $(told | sort)" "0 $(echo "$want" | sed -e 's/\(drop.*done.*\)/\11 /' \
    -e 's/\(drop.*attempts.*\)/\11 /' -e 's/\(drop.*outbox.*\)/\11 /' \
    -e 's/\(drop.*dead.*\)/\10 /' | sort)" 'then it is so'
is "$(parts webhook_outbox) $(parts webhook_attempts)" '18 16' \
    '... and the others are there'
is "$(sql "select name, outcome, value from webhook_counters
    where name ~ 'pruned' order by 1, 2, shard")" 'attempts_pruned||1
deliveries_pruned|delivered|1
events_pruned||1' '... what went is counted'
is "$(sql "select action, object, detail->>'rows', actor, reason
    from webhook_audit where tool = 'hook-prune' and actor = 'alice'
    and object ~ 'outbox' order by id")" \
    "detach|table webhook_outbox||alice|tidy
drop|table webhook_outbox_$(day 40)|1|alice|tidy" '... and audited'
hook-fanout
hook-deliver
run hook-reconcile
is "$rc $(cat "$work/out")" '0 ' '... so that the sums still agree'

# A delivery stays as long as its event.
sql "insert into webhook_outbox (event_type, payload, created_at)
    values ('unfanned', '{}', now() - interval '41 days')"
d41=$(sql "select id from webhook_deliveries where event_id = '$waits'")
old_day webhook_deliveries_done 38
sql "update webhook_deliveries set finished_at = now() - interval '38 days'
    where id = $d41"
run hook-prune
is "$rc $(told keep | sed 's/event evt_[0-9a-f]*/event/')" \
    "0 keep webhook_outbox_$(day 41)  event is not fanned out
keep webhook_deliveries_done_$(day 38)  delivery $d41 is of an event in\
 webhook_outbox_$(day 41)" 'a delivery stays as long as its event is there'
hook-fanout
run hook-prune
is "$rc $(told drop)" "0 drop webhook_outbox_$(day 41) 2 
drop webhook_deliveries_done_$(day 38) 1 " '... and goes with it'

# What was pruned is not sent again.
old_event 33
hook-fanout
sql "update webhook_deliveries set state = 'failed', finished_at = now()
    where event_id = '$event'"
dead=$(sql "select id from webhook_deliveries where event_id = '$event'")
run hook-prune
is "$rc $(told drop)" "0 drop webhook_outbox_$(day 33) 1 " \
    'the event of a dead delivery goes'
for tool in 'hook-dlq retry' hook-replay 'hook-replay --force'; do
	# shellcheck disable=SC2086
	run $tool "$dead"
	is "$rc $(cat "$work/err")" "1 ${tool%% *}: delivery $dead: event $event\
 was pruned: its body is gone" "$tool is refused, and says why"
done
like "$(hook-dlq show "$dead" | jq -r .next)" 'pruned' '... as hook-dlq show does'
for tool in 'hook-replay -e' 'hook-replay --fanout -e'; do
	# shellcheck disable=SC2086
	run $tool "$event"
	like "$rc $(cat "$work/err")" "^1 hook-replay: event $event .* pruned" \
	    "$tool is refused, and says why"
done
run hook-replay --fanout --since 2020-01-01 --until 2020-02-01
like "$rc $(cat "$work/err")" \
    '^1 hook-replay: events made before .* were pruned' \
    'a time that was pruned is refused'
run hook-replay -n --fanout --since 2020-01-01
like "$rc $(cat "$work/err")" \
    '^0 hook-replay: events made before .* were pruned' \
    '... and where some is left, it is said'
hook-dlq drop "$dead" >/dev/null

# Killed after it took a partition out.
old_event 50
hook-fanout
hook-deliver
sql "select webhook_partition_detach('webhook_outbox_$(day 50)')" >/dev/null
sql "create table webhook_outbox_20200101 (like webhook_outbox);
    comment on table webhook_outbox_20200101 is 'mine'"
run hook-reconcile
is "$rc $(jq -r '[.kind, .why] | join(" ")' "$work/out")" \
    "1 unfinished_prune webhook_outbox_$(day 50) was taken out and not dropped" \
    'what a killed one left is seen'
run hook-prune
is "$rc $(told)" "0 drop webhook_outbox_$(day 50) 1 " \
    '... and the next one finishes it'
is "$(sql 'select count(*) from webhook_outbox_20200101')" 0 \
    "... but leaves somebody's table of the same shape alone"

# Somebody has it in use.
old_event 51
hook-fanout
hook-deliver
mkfifo "$work/session"
psql -X -q <"$work/session" >"$work/session.out" 2>&1 &
session=$!
exec 9>"$work/session"
echo "begin; insert into webhook_outbox (event_type, payload)
    values ('late', '{}'); select 'in';" >&9
wait_for 10 'grep -q in "$work/session.out"'
run hook-prune
like "$rc $(told)" "^75 keep webhook_outbox_$(day 51)  (in use|it takes long).*\
 -w allows" 'a transaction in the way is not waited for'
run hook-enqueue -t old <<'EOT'
{}
EOT
exits 0 '... nor is anybody held up by the one that tried'

# A dead delivery is being put back just when its event is to go.
echo 'commit;' >&9
sql "update webhook_deliveries set state = 'failed', finished_at = now()
    where outbox_created_at < now() - interval '50 days'"
echo "begin; update webhook_deliveries d set state = 'pending',
    finished_at = null from webhook_outbox o where o.id = d.outbox_id
    and o.created_at = d.outbox_created_at and d.state = 'failed'
    and o.created_at < now() - interval '50 days'; select 'second';" >&9
wait_for 10 'grep -q second "$work/session.out"'
start hook-prune
wait_for 10 '[ "$(sql "select count(*) from pg_stat_activity
    where datname = current_database() and application_name = '"'hook-prune'"'
    and query ~ '"'detach'"'")" = 1 ]' 'it is judged with the lock'
echo 'commit;' >&9
rc=0
wait "$pid" || rc=$?
like "$rc $(grep keep "$out" | jq -r '[.object, .why] | join(" ")')" \
    "^0 webhook_outbox_$(day 51) delivery [0-9]* is pending" \
    '... and so it is seen that a delivery needs it now'
exec 9>&-
wait "$session"

# What is deleted by rows.
sql "insert into webhook_idempotency (tenant, key, event_id, fingerprint,
	created_at)
    select '', n, 'e', '', now() - n * interval '1 day'
    from generate_series(1, 12) n;
    insert into webhook_inbox (source, message_id, body, state, received_at,
	finished_at)
    select 's', n, '', case when n % 2 = 0 then 'done' else 'pending' end,
	now() - n * interval '1 day', case when n % 2 = 0 then now()
	- n * interval '1 day' end from generate_series(1, 40) n;
    insert into webhook_workers (name, tool, seen_at)
    values ('dead', 'x', now() - interval '2 days'), ('alive', 'x', now());
    insert into webhook_jobs (kind, query, actor, state, updated_at)
    values ('outbox', '{}', 'a', 'finished', now() - interval '31 days'),
	('outbox', '{}', 'a', 'running', now() - interval '31 days');
    insert into webhook_audit (actor, tool, action, at)
    values ('a', 't', 'x', now() - interval '1000 days')"
run hook-prune -n
said=$(told delete)
is "$said" 'delete webhook_idempotency 6 
delete webhook_inbox 6 
delete webhook_jobs 1 
delete webhook_workers 1 ' 'a dry run counts what would be forgotten'
run hook-prune
is "$(told delete)" "$said" '... and so it is'
is "$(sql "select count(*) from webhook_idempotency"
    sql "select count(*) from webhook_inbox where state = 'pending'"
    sql "select name from webhook_workers where tool = 'x'")" '6
20
alive' '... what is young or waits is there'
run hook-prune -k audit=999d
is "$(told delete)" 'delete webhook_audit 1 ' \
    'the audit is kept for ever, unless a time is given'
sql "insert into webhook_inbox (source, message_id, body, state, received_at,
	finished_at)
    select 'stuck', n, '', case when n <= 10000 then 'pending' else 'done' end,
	now() - interval '50 days', case when n > 10000 then now()
	- interval '50 days' end from generate_series(1, 10003) n;
    insert into webhook_inbox (source, message_id, body)
    select 'stuck', n, '' from generate_series(20000, 30000) n"
run hook-prune
is "$(told delete)" 'delete webhook_inbox 3 ' \
    'what waits for ever hides nothing behind it'
run hook-prune -k 60d,keys=8d
is "$(told delete)" '' 'one time for all, and another for one of them'

# Who may.
stranger=stranger_$$
sql "create role $stranger login in role webhook_operator"
PGUSER=$stranger run hook-prune
is "$rc $(cat "$work/err")" \
    "69 hook-prune: the tables belong to $PGUSER: run it as that role" \
    'only the owner of the tables may'
sql "drop role $stranger"
start psql -X -q -c "select pg_advisory_lock_shared(hashtextextended(
    'hookutils prune ' || current_schema(), 0)), pg_sleep(60)"
wait_for 10 '[ "$(sql "select count(*) from pg_locks
    where locktype = '"'advisory'"' and database = (select oid from pg_database
    where datname = current_database())")" = 1 ]'
run hook-prune
is "$rc $(wc -l <"$work/err")" '75 1' 'only one works at a time'
stop

done_testing
