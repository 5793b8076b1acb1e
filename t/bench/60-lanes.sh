#!/bin/sh
# Many lanes: all with one delivery due, and all idle beside a few busy ones.
. "${0%/*}/lib.sh"
start_nginx
many=$(few 100000 4000)
n=$(few 100000 8000)

# Mean time of a claim, and of a look that finds the queue's end.
track() {
	psql -X -q -c 'create extension if not exists pg_stat_statements' \
	    -c "alter database $PGDATABASE
		set pg_stat_statements.track = 'top'" >"$work/track" 2>&1 ||
	    return 1
	sql 'select pg_stat_statements_reset()' >"$work/track" 2>&1
}
claims() {	# $claim_ms
	claim_ms=$(sql "select round((sum(total_exec_time) / sum(calls))
	    ::numeric, 3)
	    from pg_stat_statements s join pg_database d on d.oid = s.dbid
	    where d.datname = current_database()
		and query like '%takeovers = l.takeovers%'")
}

bench_db
subs "$many" "url=:'url'"
events 1
fan_out
settle
timed hook-deliver
[ "$(delivered)" = "$many" ] || die "$(delivered) of $many were delivered"
row "drain of $many lanes with one delivery each" \
    "$(calc "$many / $wall" %.0f)" /s

busy() {	# IDLE: $rate, $claim_ms
	bench_db
	# shellcheck disable=SC2016 # SQL's dollars
	[ "$1" = 0 ] ||
	    subs "$1" "url=:'url'" "event_types=array['never']"
	subs 10 max_concurrency=20
	events "$((n / 10))"
	fan_out
	settle
	claim_ms=
	track && tracked=1 || tracked=0
	timed hook-deliver
	[ "$tracked" = 0 ] || claims
	rate=$(calc "$n / $wall" %.0f)
}
alone='' beside='' alone_ms='' beside_ms=''
for round in $(seq "$(few 2 1)"); do
	busy 0
	alone="$alone $rate" alone_ms="$alone_ms $claim_ms"
	busy "$many"
	beside="$beside $rate" beside_ms="$beside_ms $claim_ms"
done
# shellcheck disable=SC2086 # several words
{
	row -b "$(median $alone)" -r ge:0.9 \
	    "10 busy lanes beside $many idle ones" "$(median $beside)" /s
	if [ "$tracked" = 1 ]; then
		row -b "$(median $alone_ms)" -r le:1.5 \
		    "... mean time of a claim" "$(median $beside_ms)" ms
	else
		left_out '... mean time of a claim' 'no pg_stat_statements'
	fi
}
