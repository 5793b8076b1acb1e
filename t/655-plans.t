#!/bin/sh
# What followers prepare is planned once, maybe while a table holds one row, and
# then meets a million: whatever the statistics say, a large table is entered by
# an index, with something to look up in it.
. "${0%/*}/lib.sh"
need_db
large='outbox|subscriptions|lanes|deliveries|attempts|inbox|counters'

# What followers' sessions prepare, but for what counts for people (-n), and
# lane_next, which reads the first entry of an index.
statements=$(grep -ho 'stmt_[a-z_]*' "$top"/lib/store.c "$top"/lib/job*.c \
    "$top"/lib/feed.c "$top"/lib/parcel.c "$top"/lib/worker.c \
    "$top"/lib/consumer.c "$top"/lib/outcome.c "$top"/lib/intake*.c \
    "$top"/cmd/hook-fanout.c "$top"/cmd/hook-deliver.c \
    "$top"/cmd/hook-consume.c | sed 's/^stmt_//' | sort -u |
    grep -vx -e deliver_due -e fanout_waiting -e inbox_due -e lane_next)

explain() {	# NAME: its generic plan, in the session of a follower
	n=$(grep -v ^-- "$top/sql/query/$1.sql" | grep -o '\$[0-9]*' |
	    tr -d '$' | sort -n | tail -n 1)
	{
		echo 'set enable_seqscan = off; set enable_hashjoin = off;
		    set enable_mergejoin = off; set enable_bitmapscan = off;
		    set plan_cache_mode = force_generic_plan;
		    prepare s as'
		cat "$top/sql/query/$1.sql"
		echo ";explain (costs off) execute s${n:+($(yes null |
		    head -n "$n" | paste -s -d ,))}"
	} | psql -X -q -A -t -v ON_ERROR_STOP=1
}

walks() {	# of a plan: what goes through all of a large table
	awk -v large="on webhook_($large)" '
	    wait != "" && !/Index Cond:/ { print wait }
	    { wait = "" }
	    $0 ~ "Seq Scan " large
	    $0 ~ "Index .*Scan.* " large { wait = $0 }
	    END { if (wait != "") print wait }' | sed 's/^ *//' | sort -u
}

check_all() {
	for s in $statements; do
		explain "$s" >"$work/plan" 2>"$work/err"
		is "$(cat "$work/err")$(walks <"$work/plan")" '' "$1: $s"
	done
}
is "$(echo "$statements" | grep -cx -e finish -e fanout -e lane_page \
    -e inbox_ack -e inbox_store)" 5 'those that matter are among them'
check_all 'never analyzed'
sql "insert into webhook_subscriptions (name, url) values ('a', 'http://x/');
    insert into webhook_outbox (event_type, payload) values ('a', '1');
    insert into webhook_deliveries (outbox_id, outbox_created_at, event_id,
	event_type, subscription_id, give_up_at, payload_bytes)
    select id, created_at, event_id, 'a', 1, now(), 1 from webhook_outbox;
    insert into webhook_attempts (delivery_id, attempt, at) values (1, 1, now());
    insert into webhook_inbox (source, message_id, body) values ('s', 'a', '');
    insert into webhook_counters (name, label, outcome, shard, value)
    values ('x', '', '', 0, 1)"
sql 'vacuum analyze'
check_all 'one row'
done_testing
