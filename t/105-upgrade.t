#!/bin/sh
# An upgrade from 0.1.0 amid work: nobody is held up for long, what waits is
# sent, and tools of another version touch nothing.
. "${0%/*}/lib.sh"
. "${0%/*}/engine.sh"
need_db

# Schemas of this database; the programs and sql look into this one.
use_schema() {	# NAME
	HOOK_SCHEMA=$1 PGOPTIONS="-c search_path=$1"
	export HOOK_SCHEMA PGOPTIONS
}

# As 0.1.0 made it, with the partitions of today.
old_schema() {	# NAME
	use_schema "$1"
	HOOK_SQL=$work/old hook-migrate >"$work/migrate.log" || exit
	for t in outbox attempts deliveries_done deliveries_dead; do
		echo "select format('create table webhook_${t}_%s partition of'
		    ' webhook_$t for values from (%L) to (%L)',
		    to_char(d, 'YYYYMMDD'), d || ' 00:00Z', d + 1 || ' 00:00Z')
		    from cast(now() at time zone 'utc' as date) d \\gexec"
	done | psql -X -q -v ON_ERROR_STOP=1 || exit
}

mkdir -p "$work/old/schema"
cp "$top"/sql/schema/000[1-7]-*.sql "$work/old/schema"
: >"$work/old/partitions.sql"
newest=$(ls "$top/sql/schema" | tail -n 1 | cut -c1-4 | sed 's/^0*//')
version='select max(version) from webhook_migrations'

# What a file says that it locks is what it locks.
old_schema truth
for f in "$top"/sql/schema/*.sql; do
	n=$(basename "$f")
	case $n in 000[1-7]-*) continue ;; esac
	sed -n -e '/^$/q' -e 's/^-- lock: none$//p' -e 's/^-- lock: //p' "$f" |
	    sort >"$work/says"
	{
		echo 'begin;
		create temp table before as select oid from pg_class;
		set local client_min_messages to error;'
		echo "\\i '$f'"
		cat <<-'EOT'
		select relname || ', ' || rtrim(lower(regexp_replace(max(mode),
		    '([a-z])([A-Z])', '\1 \2', 'g')), ' lock')
		from pg_locks join pg_class on pg_class.oid = relation
		where pid = pg_backend_pid() and not relispartition
		    and relkind in ('r', 'p', 'v', 'm')
		    and relation in (select * from before)
		    and relation > 16384
		    and mode in ('ShareLock', 'ShareRowExclusiveLock',
			'ExclusiveLock', 'AccessExclusiveLock')
		group by relname order by 1;
		commit;
		EOT
	} >"$work/script"
	psql -X -q -A -t -v ON_ERROR_STOP=1 -f "$work/script" >"$work/locks" \
	    2>"$work/err"
	check "$n is applied" || note "$(cat "$work/err")"
	is "$(cat "$work/locks")" "$(grep . "$work/says")" \
	    '... and locks what its head says'
	[ -s "$work/says" ]
	check '... which has a line of it'
	grep -q '^webhook_outbox' "$work/says" || continue
	is "$(grep -c ';$' "$f")" 1 \
	    '... and for the outbox only as long as one statement takes'
done

# A queue of 0.1.0: history, of which not all was counted; events and
# deliveries that wait, and a lane of a worker that died.
old_schema queue
sink <<'EOT'
/slow * delay 1000
EOT
sub paid "$sink/paid"
dead=$sub
sub late "$sink/late" ordered=true
sql "insert into webhook_outbox (event_type, payload, created_at,
	fanned_out_at, fanned_out_to)
    select 'paid', '{}', now(), now(), 1 from generate_series(1, 20000);
    insert into webhook_deliveries (outbox_id, outbox_created_at, event_id,
	event_type, subscription_id, state, attempts, give_up_at, finished_at,
	discarded, payload_bytes)
    select id, created_at, event_id, event_type, $dead, s,
	1, now(), now(), case s when 'discarded' then 'x' end, 2
    from webhook_outbox, lateral (select case when id % 100 = 7 then 'failed'
	when id % 1000 = 8 then 'discarded' else 'delivered' end) c (s);
    insert into webhook_counters (name, label, outcome, value)
    select 'deliveries_finished', 'paid', state, count(*)
	from webhook_deliveries where state <> 'discarded' group by 3
    union all
    select 'deliveries_created', 'paid', '', count(*) from webhook_deliveries"
events paid 20
sql "insert into webhook_deliveries (outbox_id, outbox_created_at, event_id,
	event_type, subscription_id, give_up_at, payload_bytes)
    select id, created_at, event_id, event_type, $dead,
	now() + interval '3 days', 2
    from webhook_outbox where fanned_out_at is null;
    update webhook_outbox set fanned_out_at = now(), fanned_out_to = 1
    where fanned_out_at is null;
    update webhook_counters set value = value + 20
    where name = 'deliveries_created';
    update webhook_lanes set owner = 'host:1:dead', fence = 9,
	leased_until = now() - interval '1 s', next_due_at = now()
    where subscription_id = $dead;
    analyze webhook_deliveries"
events late 10

run hook-migrate -n
exits 0 'a dry run of the upgrade'
while read -r line; do
	like "$(cat "$work/out")" "$line" "... says: $line"
done <<'EOT'
^would apply 0008-inbox$
^would apply 0011-event-id: holds webhook_outbox \(access exclusive\) for 900 ms at most$
^would apply 0013-stat: holds .*webhook_lanes \(share\).* for a moment$
^would apply 0014-counters: reads webhook_deliveries, about 200[0-9][0-9] rows \([0-9]+ kB\), for .*, and holds nobody up$
^would make partitions, 5[0-9]: each holds its table \(access exclusive\) for 900 ms at most$
EOT
like "$(hook-migrate -n -w 2s)" 'webhook_outbox .* for 2000 ms at most' \
    '... for as long as -w allows'
is "$(sql "$version")" 7 '... and does nothing'
for w in 0 9ms 1h x 2m5 ''; do
	run hook-migrate -w "$w"
	exits 64 "-w '$w' is a usage error"
done

# A follower of 0.1.0 that stays connected: its statements, planned before.
mkfifo "$work/follower"
psql -X -q -A -t -v ON_ERROR_STOP=1 <"$work/follower" >"$work/follower.out" \
    2>&1 &
follower=$!
exec 8>"$work/follower"
cat >&8 <<'EOT'
prepare seen as insert into webhook_workers (name, tool)
    values ('host:2:old', 'hook-deliver')
    on conflict (name) do update set seen_at = now();
prepare counted as insert into webhook_counters (name, label, outcome, shard,
    value) values ('events', 'x', '', 3, 1)
    on conflict (name, label, outcome, shard)
    do update set value = webhook_counters.value + excluded.value;
prepare look as select id from webhook_outbox where fanned_out_at is null
    order by id for update skip locked;
prepare dead as select count(*) from webhook_dlq;
execute seen;
execute counted;
execute look;
execute dead;
\echo prepared
EOT
wait_for 20 'grep -q prepared "$work/follower.out"'

# Somebody reads the outbox for long.  Producers do not wait for that, nor for
# who waits for it.
mkfifo "$work/report"
PGAPPNAME=report psql -X -q <"$work/report" >"$work/report.out" &
reporter=$!
exec 9>"$work/report"
printf '%s\n' 'begin; select count(*) from webhook_outbox;' '\echo reading' >&9
wait_for 20 'grep -q reading "$work/report.out"'
reader=$(sql "select pid from pg_stat_activity
    where application_name = 'report' and datname = current_database()")
run hook-migrate -w 20ms
exits 75 'who reads the outbox for long is waited for, but not for ever'
like "$(tail -n 1 "$work/err")" "^hook-migrate: 0011-event-id: webhook_outbox\
 is in use by pid $reader \(report, idle in transaction, [0-9]+ s\): given up" \
    '... and is named'
is "$(wc -l <"$work/err")" 2 '... once, and again when it is given up'
is "$(sql "$version")" 10 '... what was before that is done'
start hook-migrate -w 200ms
migrate=$pid
wait_for 20 'grep -q "trying again" "$log"'
for i in 1 2 3 4 5; do
	event late "{\"during\":$i}"
done
kill -0 $migrate
check 'meanwhile producers commit'
echo 'commit;' >&9
exec 9>&-
wait $reporter
rc=0
wait $migrate || rc=$?
exits 0 'when it ends, the upgrade goes on'
is "$(sql "$version")" "$newest" '... to the newest version'
is "$(sql "select count(*) from webhook_outbox
    where payload->>'during' is not null")" 5 '... and nothing was lost'
run hook-migrate -n
is "$rc $(cat "$work/out")" '0 ' '... nor is anything left to do'

echo 'execute seen; execute counted; execute look; execute dead;' >&8
exec 8>&-
rc=0
wait $follower || rc=$?
exits 0 'a follower that was connected goes on' ||
    note "$(cat "$work/follower.out")"

# Nothing that waited is lost, doubled or forgotten.
sql "delete from webhook_counters where label = 'x'"
old_server
deliver -l 1s
is "$rc $(sql "select state, count(*) from webhook_deliveries
    where outbox_id > 20000 group by 1")" '0 delivered|35' \
    'the new programs send what waited'
is "$(for i in $(ids /paid) $(ids /late); do echo "$i"; done | sort | xargs)" \
    "$(sql "select string_agg(event_id, ' ' order by event_id)
	from webhook_outbox where id > 20000")" '... under the same ids'
run hook-reconcile --since yesterday
is "$(grep -v '"attempts' "$work/out")" '' \
    '... and all is counted, also what 0.1.0 did not count'

# A schema of another version: one line, and nothing is touched.
everything() {
	for t in outbox subscriptions secrets lanes deliveries workers audit \
	    jobs wakeup counters samples sources inbox; do
		sql "select '$t', md5(string_agg(t::text, ' ' order by t::text))
		    from webhook_$t t"
	done
}

refused() {	# LINE
	everything >"$work/before"
	while read -r command; do
		# shellcheck disable=SC2086
		run timeout 60 $command <"$work/payload"
		exits 69 "$1: $command"
		like "$(cat "$work/err")" "schema queue: $1, .*: $2\"?\$" \
		    '... says what to do'
		is "$(wc -l <"$work/err")" 1 '... in one line'
	done <<-EOT
		hook-sub add $sink/new
		hook-sub rm $dead
		hook-enqueue -t paid
		hook-fanout
		hook-fanout -f
		hook-deliver
		hook-deliver -f
		hook-dlq retry 1
		hook-replay -s $dead
		hook-source rm shop
		hook-consume -s shop -- true
		hook-consume -f -s shop -- true
		hook-prune
		hook-reconcile
		hook-stat
	EOT
	everything | cmp -s - "$work/before"
	check '... and nothing is touched'
}

# Followers that run when the schema becomes another's: they look once a
# minute, and on SIGHUP; they finish what they have begun, and end.
hook-source add -s standard-webhooks shop >"$work/source" || exit
sub slow "$sink/slow"
start hook-fanout -f
followers=$pid logs=$log
start hook-consume -f -s shop -- true
followers="$followers $pid" logs="$logs $log"
start hook-deliver -f
followers="$followers $pid" logs="$logs $log"
event slow
wait_for 20 '[ "$(seen /slow)" = 1 ]'
wait_for 20 '[ "$(sql "select count(*) from webhook_workers
    where seen_at > now() - interval '"'1 min'"' and name not like '"'host:%'"'
    ")" = 3 ]'
sql "insert into webhook_migrations values (9999, 'x')"
# shellcheck disable=SC2086
kill -HUP $followers
for p in $followers; do
	rc=0
	wait "$p" || rc=$?
	exits 69 'a follower ends when the schema is another version'\''s'
done
for log in $logs; do
	is "$(cat "$log")" 'error stopping reason="schema queue: version 9999,'"\
 but this is $(basename "$log" | sed 's/\..*//') for version $newest:\
 install the newer hookutils\"" '... and says so in one line'
done
is "$(sql "select state from webhook_deliveries where event_type = 'slow'")
$(sql "select count(*) from webhook_lanes where owner is not null")" \
    'delivered
0' '... after what it was about'

echo '{}' >"$work/payload"
start hook-receive -l 127.0.0.1:0
wait_for 20 'grep -q "version 9999" "$log"'
at=$(sed -n 's/.*address=\(127[^ ]*\).*/\1/p' "$log" | head -n 1)
is "$(curl -s -o "$work/answer" -w '%{http_code}' -d '{}' \
    "http://$at/webhooks/shop") $(grep -c 'version 9999' "$log")" '503 1' \
    'hook-receive lets senders try again, and says why once'
stop
refused 'version 9999' 'install the newer hookutils'
sql "delete from webhook_migrations where version in ($newest, 9999)"
refused "version $((newest - 1))" 'run hook-migrate'
sql "insert into webhook_migrations values ($newest, 'x')"

done_testing
