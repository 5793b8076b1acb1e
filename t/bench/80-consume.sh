#!/bin/sh
# hook-consume: runs of a handler, messages in batches, and both again while
# somebody holds a snapshot open for the whole drain.
. "${0%/*}/lib.sh"

fill() {	# N
	sql 'delete from webhook_inbox'
	sql "insert into webhook_inbox (source, message_id, event_type, body)
	    select 'bench', n, 'order.paid', convert_to('{\"n\":' || n
	    || ',\"pad\":\"' || repeat('x', 270) || '\"}', 'UTF8')
	    from generate_series(1, $1) n" >/dev/null
	sql 'vacuum analyze webhook_inbox'
	quick || sql checkpoint
}
rate() {	# N option ... -- command: $rates
	n=$1
	shift
	rates=
	for round in $(seq "$(few 3 1)"); do
		fill "$n"
		timed hook-consume -s bench "$@" >/dev/null
		rates="$rates $(calc "$n / $wall" %.0f)"
	done
}

runs=$(few 6000 500)
lines=$(few 100000 10000)
bench_db
rate "$runs" -j 4 -- /bin/true
# shellcheck disable=SC2086 # several words
row 'consume: runs of /bin/true, -j 4' "$(median $rates)" /s ge 400
rate "$runs" -j 4 -k '$.n' -- /bin/true
# shellcheck disable=SC2086
row 'consume: the same, each with a key of its own' "$(median $rates)" /s
rate "$lines" -j 2 --batch 500 -- sh -c 'cat >/dev/null'
# shellcheck disable=SC2086
free=$(median $rates)
row 'consume: messages in batches of 500, -j 2' "$free" /s ge 5000
rate "$(few 20000 2000)" -j 4 --batch 100 -e -- \
    sed 's/.*"id":\([0-9]*\),.*/{"event_type":"b","payload":\1}/'
# shellcheck disable=SC2086
row 'consume: batches of 100 that print an event each' "$(median $rates)" /s

mkfifo "$work/hold"
start sh -c 'exec psql -X -q -v ON_ERROR_STOP=1 <"$1"' sh "$work/hold"
exec 9>"$work/hold"
echo 'begin isolation level repeatable read; select 1;' >&9
until_true 10 '[ "$(sql "select count(*) from pg_stat_activity
    where state = '\''idle in transaction'\''")" -ge 1 ]'
rate "$lines" -j 2 --batch 500 -- sh -c 'cat >/dev/null'
# shellcheck disable=SC2086
row -b "$free" -r ge:0.9 '... while a snapshot is held open' \
    "$(median $rates)" /s
exec 9>&-
wait "$pid" || :
