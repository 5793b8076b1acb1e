#!/bin/sh
# -O: what is about one object arrives in the order in which it happened,
# whatever fails and however many workers run; other objects don't wait.
. "${0%/*}/lib.sh"
. "${0%/*}/engine.sh"
need_db

# created, updated, deleted of object $1, in one transaction
objects() {
	psql -X -q -v ON_ERROR_STOP=1 -v type="$1" -v from="$2" -v to="$3" <<-'EOT'
		insert into webhook_outbox (aggregate_id, event_type, payload)
		select 'object ' || n, :'type', json_build_object('is', t)
		from generate_series(:from, :to) n,
		    unnest(array['created', 'updated', 'deleted']) t
	EOT
}

# "object n: verb verb verb", as they first came to a path, or were answered
# with 200.
verbs() {
	sql "select event_id, aggregate_id, payload->>'is' from webhook_outbox" |
	    tr '| ' ' _' >"$work/events"
	awk -v path="$1" -v done="${2-}" '
	NR == FNR { object[$1] = $2; verb[$1] = $3; next }
	$1 == "in" && $5 == path { id[$2] = $6 }
	$1 == (done == "" ? "in" : "out") && ($2 in id) &&
	    (done == "" || $5 == 200) && !had[id[$2]]++ {
		said[object[id[$2]]] = said[object[id[$2]]] " " verb[id[$2]]
	}
	END { for (o in said) print o ":" said[o] }' \
	    "$work/events" "$sink_dir/log" | sort -t_ -k2n
}
all=' created updated deleted'

sink <<'EOT'
/one 1 status 500
/one * delay 30
/many 4 status 500
/many 17 close
/many 40-41 status 500
/many 70 rst
/many 101 delay 400
/many * delay 2
/dead 1 delay 200
/dead id1- status 200
/later * delay 20
EOT
sub one "$sink/one" ordered=true "retry_ms='{600,600,600}'"
sub many "$sink/many" ordered=true max_concurrency=10 \
    "retry_ms='{100,100,100,100,100}'"
fanout -i 100ms
for n in 1 2 3 4; do
	worker -i 100ms
done

objects one 1 2
wait_for 10 '[ "$(count "state = '\''delivered'\''")" = 6 ]' \
    'two objects, one of them failing at first: all is delivered'
is "$(verbs /one ok)" "object_1:$all
object_2:$all" '... each in its order'
# The second object was done before the first was tried again.
is "$(awk '$1 == "out" { print $5 }' "$sink_dir/log" | head -n 4 | tr '\n' ' ')" \
    '500 200 200 200 ' '... and the other object is not held up'
is "$(awk '$1 == "in" { n[$6]++ } END { for (i in n) print n[i] }' \
    "$sink_dir/log" | sort | tr '\n' ' ')" '1 1 1 1 1 2 ' \
    '... with one request more for the one that failed'

objects many 1 60
wait_for 20 '[ "$(count "event_type = '\''many'\'' and
    state = '\''delivered'\''")" = 180 ]' \
    '60 objects with failures in between, and four workers'
is "$(verbs /many ok | cut -d: -f2 | sort | uniq -c | tr -s ' ')" " 60$all" \
    '... each object in its order'
[ "$(awk '$1 == "in" && $5 == "/many" && $7 > n { n = $7 } END { print n }' \
    "$sink_dir/log")" -gt 3 ]
check '... and several objects at once'

# A head that fails for good, and one whose attempts are used up, let the rest
# go.
sink <<'EOT'
/head 1 status 400
/end 1-3 status 500
EOT
sub head "$sink/head" ordered=true
sub end "$sink/end" ordered=true "retry_ms='{100}'" deadline_ms=4000
objects head 1 1
objects end 1 1
wait_for 15 '[ "$(count "event_type in ('\''head'\'', '\''end'\'') and
    state = '\''pending'\''")" = 0 ]' 'dead heads end'
is "$(sql "select event_type, string_agg(state, ' ' order by outbox_id)
    from webhook_deliveries where event_type in ('head', 'end')
    group by 1 order by 1")" 'end|expired delivered delivered
head|failed delivered delivered' '... as dead letters, and let the rest go'
is "$(verbs /end ok)" 'object_1: updated deleted' '... in order'
is "$(awk '$1 == "in" && $5 == "/end" { if (n++ < 3) a[n] = $3 }
    END { print (a[2] - a[1] < 3800e3), (a[3] - a[1] > 3900e3) }' \
    "$sink_dir/log")" '1 1' '... which waited until the deadline was over'

# Made ordered while rows wait: they are put in order too.
sub later "$sink/later" state="'paused'"
objects later 1 30
wait_for 5 '[ "$(count "event_type = '\''later'\''")" = 90 ]'
sql "update webhook_subscriptions set ordered = true where id = $sub;
    update webhook_subscriptions set state = 'active' where id = $sub"
wait_for 10 '[ "$(count "event_type = '\''later'\'' and
    state = '\''delivered'\''")" = 90 ]' 'what waited is ordered later'
is "$(verbs /later | cut -d: -f2 | sort | uniq -c | tr -s ' ')" " 30$all" \
    '... and goes in order'
sql "update webhook_subscriptions set ordered = false where id = $sub"
objects later 31 40
wait_for 10 '[ "$(count "event_type = '\''later'\'' and
    state = '\''delivered'\''")" = 120 ]' 'and no longer ordered, goes on'

# A fan-out that is under way when order is asked for obeys it.
sql "create or replace function webhook_filter(payload json, filter jsonpath)
    returns text language plpgsql as \$\$ begin
	perform pg_sleep(1); return 'yes'; end \$\$"
sub race "$sink/race" "filter='\$'"
objects race 1 1
wait_for 5 "[ \"\$(sql \"select count(*) from pg_stat_activity
    where datname = current_database()
    and wait_event = 'PgSleep'\")\" = 1 ]"
sql "update webhook_subscriptions set ordered = true where id = $sub"
wait_for 10 '[ "$(count "event_type = '\''race'\'' and
    state = '\''delivered'\''")" = 3 ]' \
    'ordered while a fan-out runs: nothing is left lying'
is "$(sql "select count(distinct order_key) from webhook_deliveries
    where event_type = 'race'")" 1 '... and all has its place'

done_testing
