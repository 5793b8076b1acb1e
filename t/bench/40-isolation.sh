#!/bin/sh
# Twenty endpoints, some of them bad, each of these with events waiting: what
# the others notice of it, against a run of them alone.
. "${0%/*}/lib.sh"
each=$(few 1500 150)		# events for each of the others
backlog=$(few 100000 2000)	# for the bad ones together
paced=$(few 2500 150)

bad() {		# N PATH: with their share of the backlog
	good=$url
	case $2 in
	/*) url=$url$2 ;;
	*) url=$2 ;;
	esac
	subs "$1" "event_types=array['bad.$k']"
	events "$((backlog / bad_groups / $1))" "event_type='bad.$k'"
	url=$good
	k=$((k + 1))
}

run() {		# NAME OTHERS
	note "$1, $2 good ones"
	start_recv
	bench_db
	k=1
	case $1 in
	alone) ;;
	hang|drip)
		bad_groups=1
		bad 1 "/$1" ;;
	dead)
		bad_groups=2
		bad 5 /hang
		bad 5 http://127.0.0.1:9 ;;
	esac
	subs "$2" "event_types=array['good.' || n]"
	for i in $(seq "$2"); do
		echo "insert into webhook_outbox (event_type, payload)
		    select 'good.$i', '{\"pad\":\"$(printf %280s '')\"}'
		    from generate_series(1, $each);"
	done | psql -X -q -v ON_ERROR_STOP=1
	fan_out
	settle
	start hook-deliver -f
	deliver=$pid
	until_true 300 "[ \$(recv_count) -ge $(($2 * each)) ]"
	start hook-fanout -f
	fan=$pid
	until_true 20 '[ "$(sql "select count(*) from webhook_wakeup
	    where asleep and follower = '\''fanout'\''")" = 1 ]'
	"$BUILD/bench/pace" -c 4 -k "$2" -r 500 -n "$paced" -t good. \
	    >"$work/made" || die 'pace fails'
	until_true 60 "[ \$(recv_count) -ge $(($2 * each + paced)) ]"
	stop "$fan"
	stop "$recv_pid"
	kill -9 "$deliver"
	wait "$deliver" || :
	awk '$3 ~ "^/[0-9]" && n < '"$(($2 * each))"' {
	    if (!n++) first = $2; last = $2 }
	    END { print n / (last - first) * 1e6 }' "$recv_log" >"$work/rate"
	latencies "$work/made" "$recv_log" >"$work/ms"
	eval "rates_$1_$2=\"\${rates_$1_$2-} \$(cat "$work/rate")\""
	eval "p99s_$1_$2=\"\${p99s_$1_$2-} \$(percentile 99 "$work/ms")\""
}

compare() {	# NAME OTHERS TEXT
	eval "a=\$(median \$rates_alone_$2) b=\$(median \$rates_$1_$2)"
	row -b "$a" -r ge:0.9 "$3: the others' throughput" \
	    "$(calc "$b" %.0f)" /s
	eval "a=\$(median \$p99s_alone_$2) b=\$(median \$p99s_$1_$2)"
	row -b "$a" -r le:1.1 "$3: the others' p99" "$b" ms
}

run alone 19
run hang 19
run drip 19
quick || run alone 19
run alone 10
run dead 10
quick || run alone 10
compare hang 19 '1 of 20 hangs'
compare drip 19 '1 of 20 drips'
compare dead 10 '10 of 20 dead (5 hang, 5 refuse)'
