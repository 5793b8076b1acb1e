#!/bin/sh
# Fan-out alone: one event to many subscriptions, and many events to few.
. "${0%/*}/lib.sh"
url=http://127.0.0.1:9
many=$(few 100000 10000)
bench_db
subs "$many"
settle
rates=''
for round in $(seq "$(few 3 1)"); do
	events 1
	timed hook-fanout
	rates="$rates $(calc "$many / $wall" %.0f)"
done
# shellcheck disable=SC2086 # several words
row "fan-out of 1 event to $many subscriptions" "$(median $rates)" /s \
    ge 100000

n=$(few 20000 2000)
bench_db
subs 5
rates=''
for round in $(seq "$(few 3 1)"); do
	events "$n"
	settle
	timed hook-fanout
	rates="$rates $(calc "$n * 5 / $wall" %.0f)"
done
# shellcheck disable=SC2086 # several words
row "fan-out of $n events to 5 subscriptions" "$(median $rates)" /s ge 100000
