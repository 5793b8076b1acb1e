#!/bin/sh
# Draining a backlog, beside the bare loop in the same minutes; what it costs
# hook-deliver and PostgreSQL.
. "${0%/*}/lib.sh"
start_nginx
n=$(few 100000 8000)

drain() {	# WORKERS LANES CAP: $rate, $cpu_each; $db_each (seconds)
	bench_db
	subs "$2" max_concurrency="$3"
	events "$((n / $2))"
	settle
	pg_mark
	fan_out
	pg_cost
	fan=$cpu_sessions
	settle
	pg_mark
	if [ "$1" = 1 ]; then
		timed hook-deliver
		[ "$(delivered)" = "$n" ] ||
		    die "$(delivered) of $n were delivered"
	else
		# Both follow, since one that finds no free lane would end.
		began=$(now)
		start hook-deliver -f
		first=$pid
		start hook-deliver -f
		until_delivered "$n"
		wall=$(calc "$(now) - $began") cpu=0
		stop "$first" "$pid"
	fi
	sleep 0.1	# until the server has seen the sessions end
	pg_cost
	rate=$(calc "$n / $wall" %.0f)
	cpu_each=$(calc "$cpu / $n * 1e6" %.1f)
	db_each=$(calc "($fan + $cpu_sessions) / $n * 1e6" %.1f)
}

bares='' bare_cpus='' ones='' tens='' pairs='' cpus='' dbs='' wals='' vacs=''
for round in $(seq "$(few 3 1)"); do
	note "round $round"
	bare "$n"
	bares="$bares $bare_rate" bare_cpus="$bare_cpus $bare_cpu"
	drain 1 1 64
	ones="$ones $rate" cpus="$cpus $cpu_each" dbs="$dbs $db_each"
	wals="$wals $(calc "$cpu_wal / $n * 1e6" %.1f)"
	vacs="$vacs $(calc "($cpu_other + $cpu_vacuum) / $n * 1e6" %.1f)"
	drain 1 10 20
	tens="$tens $rate"
	drain 2 10 20
	pairs="$pairs $rate"
done
# shellcheck disable=SC2086 # several words
{
	b=$(median $bares)
	bc=$(calc "$(median $bare_cpus) * 1e6" %.1f)
	row 'bare loop, 64 in flight' "$b" /s
	row -b "$b" -r ge:0.8 'drain: 1 hook-deliver, 1 lane of cap 64' \
	    "$(median $ones)" /s ge 10000
	row -b "$b" -r ge:0.8 'drain: 1 hook-deliver, 10 lanes of cap 20' \
	    "$(median $tens)" /s ge 10000
	row -b "$b" 'drain: 2 hook-deliver, 10 lanes of cap 20' \
	    "$(median $pairs)" /s
	row 'CPU of the bare loop, each' "$bc" us
	row -b "$bc" -r le:1.2 'CPU of hook-deliver, each' \
	    "$(median $cpus)" us
	row 'CPU of PostgreSQL sessions, fan-out to finish, each' \
	    "$(median $dbs)" us le 40
	row 'WAL writer, while draining, each' "$(median $wals)" us
	row 'autovacuum, checkpoints, while draining, each' \
	    "$(median $vacs)" us
}
