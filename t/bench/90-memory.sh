#!/bin/sh
# The memory of hook-deliver: with many requests in flight, and over a long
# drain.
. "${0%/*}/lib.sh"
start_recv -w 1000
url=$url/late
bench_db
subs 10 max_concurrency=100
events "$(few 500 200)"
fan_out
timed hook-deliver -j 1000
row 'peak memory with 1,000 in flight' "$rss" KiB le 40960
stop "$recv_pid"

start_nginx
n=$(few 1000000 20000)
note "$n deliveries"
bench_db
subs 10 max_concurrency=20
events "$((n / 10))"
fan_out
settle
start hook-deliver
deliver=$pid
: >"$work/rss"
while kill -0 "$deliver" 2>/dev/null; do
	sed -n 's/^VmRSS:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$deliver/status" \
	    >>"$work/rss" 2>/dev/null || :
	sleep "$(few 0.5 0.05)"
done
wait "$deliver" || die "hook-deliver: $(tail -n 1 "$log")"
[ "$(delivered)" = "$n" ] || die "$(delivered) of $n were delivered"
# 20 points, without the start and the end.
# shellcheck disable=SC2046 # several words
set -- $(awk '{ v[NR] = $1 } END { for (i = 1; i <= 20; i++)
    print v[int(NR * i / 21) + 1] }' "$work/rss")
tail=$(largest "${16}" "${17}" "${18}" "${19}" "${20}")
head=$(largest "$2" "$3" "$4" "$5" "$6")
row -b "$head" -r le:1.1 "memory over a drain of $n: late against early" \
    "$tail" KiB
