#!/bin/sh
# From a commit to the request's arrival, with followers that sleep and with
# followers that work.
. "${0%/*}/lib.sh"
start_recv
bench_db
subs 1 max_concurrency=64
settle
start_followers

measure() {	# N NAME PACE-OPTION...: $p50, $p99
	had=$(recv_count)
	count=$1 name=$2
	shift 2
	"$BUILD/bench/pace" -n "$count" "$@" >"$work/$name.made" ||
	    die 'pace fails'
	until_true 60 "[ \$(recv_count) -ge $((had + count)) ]"
}

idle=$(few 500 20)
busy=$(few 20000 1000)
note "$idle events at random gaps"
measure "$idle" idle -g "$(few 250 60)"
note "$busy events at 1,000 a second"
measure "$busy" busy -c 8 -r 1000
stop "$recv_pid"
for name in idle busy; do
	latencies "$work/$name.made" "$recv_log" >"$work/$name.ms"
done
row 'idle: commit to arrival, p50' "$(percentile 50 "$work/idle.ms")" ms le 5
row 'idle: commit to arrival, p99' "$(percentile 99 "$work/idle.ms")" ms le 25
row '1,000 events/s: commit to arrival, p50' \
    "$(percentile 50 "$work/busy.ms")" ms
row '1,000 events/s: commit to arrival, p99' \
    "$(percentile 99 "$work/busy.ms")" ms
