#!/bin/sh
# Much history: draining beside it, and looking at it.
. "${0%/*}/lib.sh"
start_nginx
rows=$(few 10000000 60000)
n=$(few 100000 8000)

drain() {	# $rate, beside $bare_rate
	bare "$n"
	events "$((n / 10))"
	fan_out
	settle 'webhook_deliveries_pending, webhook_lanes, webhook_outbox'
	timed hook-deliver
	rate=$(calc "$n / $wall" %.0f)
}

# 30 days of finished deliveries, by two sessions; a hundredth of them with
# their events and attempts, since only the partitions' number matters there.
days() {	# FROM TO
	for day in $(seq "$1" "$2"); do
		d="(current_date - $day)"
		name=$(sql "select to_char($d, 'YYYYMMDD')")
		lo="'$name 00:00Z'::timestamptz"
		cat <<-EOT
			set synchronous_commit = off;
			create unlogged table done_$name
			    (like webhook_deliveries_done including all);
			do \$\$ declare i record; begin
			for i in select indexrelid::regclass as name
			    from pg_index
			    where indrelid = 'done_$name'::regclass
			loop execute 'drop index ' || i.name; end loop;
			end \$\$;
			insert into done_$name (id, outbox_id,
			    outbox_created_at, event_id, event_type,
			    subscription_id, state, attempts, give_up_at,
			    next_attempt_at, created_at, finished_at,
			    last_status, payload_bytes)
			select -$day::bigint * 1000000 - i,
			    -$day::bigint * 1000000 - i, at,
			    'evt_0' || lpad(i::text, 11, '0') || 'd$day',
			    'bench.event', 1 + i % 10, 'delivered', 1,
			    at + interval '3 d', at, at,
			    at + interval '20 ms', 204, 300
			from (select i, $lo + i * interval '1 ms' as at
			    from generate_series(1, $rows / 30) i) x;
			create table webhook_outbox_$name partition of
			    webhook_outbox for values
			    from ($lo) to ($lo + interval '1 d');
			insert into webhook_outbox (id, event_id, event_type,
			    payload, created_at, fanned_out_at, fanned_out_to)
			select outbox_id, event_id, event_type,
			    (rpad('{"data":"', 298, 'x') || '"}')::json,
			    created_at, finished_at, 1
			from done_$name where id % 100 = 0;
			create table webhook_attempts_$name partition of
			    webhook_attempts for values
			    from ($lo) to ($lo + interval '1 d');
			insert into webhook_attempts (delivery_id, attempt, at,
			    url, status, duration_ms, worker)
			select id, 1, created_at, '$url/1', 204, 3, 'bench:1:1'
			from done_$name where id % 100 = 0;
			alter table webhook_deliveries_done attach partition
			    done_$name for values
			    from ($lo) to ($lo + interval '1 d');
		EOT
	done >"$work/days.$1"
	psql -X -q -v ON_ERROR_STOP=1 -f "$work/days.$1"
}

bench_db
subs 10 max_concurrency=20
empties='' fulls='' bares_then='' bares=''
for round in $(seq "$(few 2 1)"); do
	drain
	empties="$empties $rate" bares_then="$bares_then $bare_rate"
done
note "$rows rows of history"
days 1 15 >"$work/days1.log" 2>&1 &
one=$!
days 16 30 >"$work/days2.log" 2>&1 ||
    die "history: $(tail -n 1 "$work/days2.log")"
wait "$one" || die "history: $(tail -n 1 "$work/days1.log")"
sql "insert into webhook_deliveries (outbox_id, outbox_created_at, event_id,
	event_type, subscription_id, state, attempts, give_up_at, finished_at,
	last_status, last_error, payload_bytes)
    select outbox_id, outbox_created_at, event_id, event_type,
	subscription_id, 'failed', 3, now(), now() - i * interval '1 s', 404,
	'status 404', 300
    from (select row_number() over () as i, d.* from (
	select * from webhook_deliveries_done where id < 0 and id % 100 = 0
	limit 1000) d) x"
settle
for round in $(seq "$(few 2 1)"); do
	drain
	fulls="$fulls $rate" bares="$bares $bare_rate"
done
# Minutes lie between: the bare loop tells how the machine has changed.
# shellcheck disable=SC2086 # several words
{
	row 'drain, empty history' "$(median $empties)" /s
	speed=$(calc "$(median $bares) / $(median $bares_then)")
	row -b "$(calc "$(median $empties) * $speed" %.0f)" -r ge:0.9 \
	    "drain beside $rows finished" "$(median $fulls)" /s
}

# Statements as a session of ours that has connected sees them, planning and
# all; and whole commands, of which a good part is the start of a session.
statement() {	# NAME SQL [ARGUMENTS]
	{
		echo "set jit = off;"
		echo "prepare q as $2;"
		for i in 1 2 3 4 5; do
			echo "execute q${3+($3)};"
		done
	} >"$work/sql"
	psql -X -q -A -t -v ON_ERROR_STOP=1 -c '\timing on' -f "$work/sql" \
	    >"$work/out" || die "$1 fails"
	times=$(sed -n 's/^Time: \([0-9.]*\).*/\1/p' "$work/out" |
	    tail -n 5)
	# shellcheck disable=SC2086 # several words
	row "$1, statement" "$(median $times)" ms le 20
}
command() {	# COMMAND...: $ms
	walls=''
	for i in 1 2 3 4 5; do
		timed "$@"
		walls="$walls $wall"
	done
	# shellcheck disable=SC2086 # several words
	ms=$(calc "$(median $walls) * 1000" %.1f)
}
statement 'depth and oldest due of each lane' "
    select l.subscription_id, l.owner, l.next_due_at, l.breaker,
	(select min(next_attempt_at) from webhook_deliveries_pending p
	    where p.subscription_id = l.subscription_id) as oldest,
	(select count(*) from webhook_deliveries_pending p
	    where p.subscription_id = l.subscription_id) as depth
    from webhook_lanes l"
statement 'all counters' "
    select name, label, outcome, sum(value) from webhook_counters
    group by 1, 2, 3"
id=$(sql 'select max(id) from webhook_dlq')
statement 'hook-dlq, the days' "$(cat "$top/sql/query/dlq-days.sql")" \
    "'webhook_deliveries_dead', null, null"
dead=$(sql "select format('%L, %L', min(finished_at)::date,
    max(finished_at)::date + 1) from webhook_deliveries_dead")
statement 'hook-dlq list, 1,000 dead' "$(cat "$top/sql/query/dlq-list.sql")" \
    "'-infinity', 0, 1000, null, null, null, null, $dead"
statement 'hook-dlq show, 1 of 2' "$(cat "$top/sql/query/dlq-find.sql")" \
    "$id, '{failed,expired}', $dead"
statement 'hook-dlq show, 2 of 2' "$(cat "$top/sql/query/dlq-show.sql")" \
    "$id, $(sql "select format('%L, %L, %L, %L, %L', state, finished_at,
	outbox_created_at, created_at - interval '1 h', now())
	from webhook_deliveries where id = $id")"
command psql -X -A -t -c 'select 1'
row 'psql with select 1, to compare with' "$ms" ms
# Beside a backlog, which is what it is asked for.
events "$((n / 10))"
fan_out
settle webhook_deliveries_pending
for words in 'hook-dlq list -o json' 'hook-dlq count' "hook-dlq show $id" \
    'hook-stat -o json' 'hook-stat -o prom'; do
	[ -x "$BUILD/${words%% *}" ] || continue
	# shellcheck disable=SC2086 # several words
	command $words
	row "${words%" $id"}, command" "$ms" ms le 20
done

# What a scrape takes: hook-stat keeps its session, and a page for a second.
at=127.0.0.1:$(free_port)
start hook-stat -l "$at"
stat=$pid
until_true 20 'curl -s -o "$work/metrics" "http://$at/readyz"'
walls=''
for i in $(seq "$(few 6 2)"); do
	took=$(curl -s -f -o "$work/metrics" -w '%{time_total}' \
	    "http://$at/metrics") || die '/metrics fails'
	walls="$walls $took"
	sleep 1.1
done
stop "$stat"
# shellcheck disable=SC2086 # several words; the first one prepares
row 'hook-stat -l, /metrics' \
    "$(calc "$(median ${walls#* * }) * 1000" %.1f)" ms le 20
