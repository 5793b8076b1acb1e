#!/bin/sh
# The whole way at once: producers commit, hook-fanout -f and hook-deliver -f
# follow, until the last event is delivered.
. "${0%/*}/lib.sh"
start_nginx
n=$(few 60000 4000)

whole() {	# BATCH: $rate
	bench_db
	subs 1 max_concurrency=64
	settle
	start_followers
	began=$(now)
	if [ "$1" = 1 ]; then
		"$BUILD/bench/pace" -c 8 -n "$n" >"$work/made"
	else
		"$BUILD/bench/pace" -c 2 -b "$1" -n $((n / $1))
	fi || die 'pace fails'
	until_delivered "$n"
	rate=$(calc "$n / ($(now) - $began)" %.0f)
	stop "$fanout_pid" "$deliver_pid"
}

bares='' ones='' hundreds=''
for round in $(seq "$(few 3 1)"); do
	note "round $round"
	bare "$n"
	bares="$bares $bare_rate"
	whole 1
	ones="$ones $rate"
	whole 100
	hundreds="$hundreds $rate"
done
# shellcheck disable=SC2086 # several words
{
	b=$(median $bares)
	row -b "$b" -r ge:0.5 'whole way, transactions of 1, 8 producers' \
	    "$(median $ones)" /s
	row -b "$b" -r ge:0.5 'whole way, transactions of 100, 2 producers' \
	    "$(median $hundreds)" /s
}
