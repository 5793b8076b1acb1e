#!/bin/sh
# 16 clients that commit one event each, with and without followers, with and
# without the trigger that wakes these.
. "${0%/*}/lib.sh"
start_nginx
long=$(few "-T 6" "-t 150")
cat >"$work/one.sql" <<-'EOT'
	insert into webhook_outbox (aggregate_id, event_type, payload)
	values ('a', 'bench.event', '{"data":"PAD"}');
EOT
sed -i "s/PAD/$(printf %289s '' | tr ' ' x)/" "$work/one.sql"

produce() {	# FOLLOWERS TRIGGER: adds to the variable of that name
	bench_db
	subs 1 max_concurrency=64
	word=$([ "$2" = 1 ] && echo enable || echo disable)
	sql "alter table webhook_outbox $word trigger webhook_wake"
	settle
	[ "$1" = 0 ] || start_followers
	# shellcheck disable=SC2086 # two words
	pgbench -n -M prepared -c 16 -j 2 $long -f "$work/one.sql" \
	    >"$work/pgbench" 2>&1 || die "$(tail -n 1 "$work/pgbench")"
	[ "$1" = 0 ] || {
		kill -9 "$deliver_pid"
		stop "$fanout_pid" "$deliver_pid"
	}
	tps=$(sed -n 's/^tps = \([0-9.]*\).*/\1/p' "$work/pgbench")
	eval "tps_$1$2=\"\${tps_$1$2-} $(calc "$tps" %.0f)\""
}

for round in $(seq "$(few 3 1)"); do
	note "round $round"
	produce 0 0
	produce 0 1
	produce 1 1
	produce 1 0
done
# shellcheck disable=SC2086,SC2154 # several words; by eval
{
	none=$(median $tps_00)
	row '16 producers, no followers, no trigger' "$none" /s
	row -b "$none" -r ge:0.9 '16 producers, no followers, trigger' \
	    "$(median $tps_01)" /s
	none=$(median $tps_10)
	row '16 producers, followers at work, no trigger' "$none" /s
	row -b "$none" -r ge:0.9 '16 producers, followers at work, trigger' \
	    "$(median $tps_11)" /s
}
