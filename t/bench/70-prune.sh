#!/bin/sh
# Days are dropped and made while 16 clients commit one event each: how long
# does the one wait that waits longest?
. "${0%/*}/lib.sh"
days=$(few 10 3)
rows=$(few 200000 5000)
seconds=$(few 15 1)
cat >"$work/one.sql" <<-'EOT'
	insert into webhook_outbox (aggregate_id, event_type, payload)
	values ('a', 'bench.event', '{"n":1}');
EOT

bench_db
note "$days old days"
psql -X -q -v ON_ERROR_STOP=1 -v days="$days" -v rows="$rows" >&2 <<'EOT'
select webhook_partition_make(parent, (now() at time zone 'utc')::date - n)
from generate_series(40, 39 + :days) n, unnest(array['webhook_outbox',
    'webhook_deliveries_done', 'webhook_attempts']) parent \g /dev/null
insert into webhook_outbox (id, event_id, event_type, payload, created_at,
    fanned_out_at, fanned_out_to)
select n * :rows + i, 'evt_' || n * :rows + i, 'bench.event', '{"n":1}',
    now() - n * interval '1 day', now() - n * interval '1 day', 1
from generate_series(40, 39 + :days) n, generate_series(1, :rows) i;
insert into webhook_deliveries (outbox_id, outbox_created_at, event_id,
    event_type, subscription_id, state, attempts, give_up_at, finished_at,
    payload_bytes)
select id, created_at, event_id, event_type, 1, 'delivered', 1, created_at,
    created_at, 7
from webhook_outbox;
insert into webhook_attempts (delivery_id, attempt, at, status)
select id, 1, finished_at, 200 from webhook_deliveries;
select setval('webhook_outbox_id_seq', 100 * :rows) \g /dev/null
EOT
settle

# The longest commit, in ms.
longest() {
	rm -f "$work"/commit.*
	pgbench -n -M prepared -c 16 -j 2 -T "$seconds" -f "$work/one.sql" -l \
	    --log-prefix="$work/commit" >"$work/pgbench" 2>&1 ||
	    die "$(tail -n 1 "$work/pgbench")"
	awk '$3 > most { most = $3 } END { printf "%.1f\n", most / 1000 }' \
	    "$work"/commit.*
}

# Of three runs the middle one, since a checkpoint is longer than any lock.
note 'producers alone'
alone=$(median "$(longest)" "$(longest)" "$(longest)")
row 'longest commit of 16 producers' "$alone" ms
note 'producers and hook-prune'
sql "drop table webhook_outbox_$(date -u -d '14 days' +%Y%m%d)"
(
	sleep "$(few 1 0.2)"
	timed hook-prune
	echo "$wall" >"$work/wall"
) &
with=$(longest)
wait $! || die 'hook-prune failed'
dropped=$(grep -c '"drop"' "$work/out" || :)
[ "$dropped" = $((days * 3)) ] || die "hook-prune dropped $dropped partitions"
row 'longest commit while hook-prune drops and makes partitions' "$with" ms \
    le "$(calc "$alone + 100" %.1f)"
row 'hook-prune: partitions dropped, of so many rows' \
    "$(calc "$dropped / $(cat "$work/wall")" %.2f)" /s
