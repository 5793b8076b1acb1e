#!/bin/sh
# One subscription, two workers: its cap and its rate hold over both, lanes
# are shared, come back after a crash, and are given back at a clean stop.
. "${0%/*}/lib.sh"
. "${0%/*}/engine.sh"
need_db

# The most that a path of the sink had in flight at once.
most() {
	awk -v path="$1" '$1 == "in" && $5 == path && $7 > n { n = $7 }
	    END { print n + 0 }' "$sink_dir/log"
}

sink <<'EOT'
/cap * delay 20
/both * delay 60
/hang * hang
EOT
sub cap "$sink/cap" max_concurrency=3
sub rate "$sink/rate" max_concurrency=20 rate_per_second=50
sub whole "$sink/whole" max_concurrency=20 rate_per_second=0.5
fanout -i 100ms
worker -i 100ms
one=$pid
worker -i 100ms
two=$pid
sql "insert into webhook_outbox (event_type, payload)
    select t, '{}' from unnest(array['cap', 'rate']) t,
	generate_series(1, 200)"
events whole 2
# Make the lanes change hands.
for n in 1 2 3 4 5 6 7 8; do
	wait_for 10 "[ \$(seen /cap) -ge $((n * 20)) ]"
	who=one
	[ $((n % 2)) = 0 ] || who=two
	eval "stop \$$who"
	is $rc 0 "worker $who stops cleanly amid work ($n)"
	worker -i 100ms
	eval "$who=$pid"
done
wait_for 10 '[ "$(seen /cap)" -ge 200 ]' 'all of them are sent'
[ "$(most /cap)" = 3 ]
check "with a cap of 3, 3 at once and never more ($(most /cap))"
is "$(ids /cap | wc -l) $(seen /cap)" '200 200' \
    '... and no event twice, although the lane changed hands'
is "$(sql 'select sum(takeovers) from webhook_lanes')" 0 \
    '... each time without waiting for a lease'

wait_for 15 '[ "$(seen /rate)" -ge 200 ]'
awk '$1 == "in" && $5 == "/rate" { at[n++] = $3 }
    END { for (i = 0; i < n; i++) { while (at[i] - at[first] >= 1e6) first++
	if (i - first + 1 > most) most = i - first + 1 }
	printf "%d %d\n", most, (at[n - 1] - at[0]) / 1e3 }' \
    "$sink_dir/log" >"$work/rate"
read -r most ms <"$work/rate"
[ "$most" -le 56 ]
check "with 50 a second, never more in a second by more than 5 ($most)"
[ "$ms" -ge 3800 ]
check "... also over the whole time (200 in $ms ms)"
[ "$ms" -lt 8000 ]
check '... and not much less'
wait_for 5 '[ "$(seen /whole)" = 2 ]'
[ "$(awk '$1 == "in" && $5 == "/whole" { if (n++) print int(($3 - last) / 1e3)
    last = $3 }' "$sink_dir/log")" -ge 1900 ]
check 'with one in two seconds, the second comes two seconds later'

# A worker that finds all lanes taken gets some.
stop "$two"
sql "insert into webhook_subscriptions (name, url, event_types)
    select 'shared', '$sink/both', '{shared}' from generate_series(1, 8);
    insert into webhook_secrets (subscription_id, secret)
    select id, '$secret' from webhook_subscriptions where name = 'shared'"
events shared 2000
wait_for 5 '[ "$(seen /both)" -ge 100 ]'
worker
two=$pid
wait_for 15 "[ \$(sql \"select count(*) from webhook_lanes
    where owner like '%:$two:%'\") -ge 2 ]" \
    'a worker that finds all lanes taken is given some'
[ "$(sql "select count(*) from webhook_lanes where owner like '%:$one:%'")" \
    -ge 2 ]
check '... and the other keeps some'
sql "delete from webhook_subscriptions where name = 'shared'"

# A crash, and a clean stop.
old_server
sub hang "$sink/hang" timeout_ms=30000
hang=$sub
stop "$one" KILL
stop "$two" KILL
events hang 3
wait_for 5 '[ "$(count "event_type = '\''hang'\''")" = 3 ]'
worker -l 1500ms -i 100ms
wait_for 5 '[ "$(seen /hang)" = 3 ]'
stop "$pid" KILL
at=$(now_ms)
worker -l 9s -i 100ms
wait_for 5 '[ "$(seen /hang)" = 6 ]' 'after a crash its lane is taken over'
at=$(($(now_ms) - at))
[ $at -gt 300 ] && [ $at -lt 2500 ]
check "... when the lease has run out, and a poll at most later ($at ms)"
is "$(lane takeovers "$hang")" 1 '... which is counted'
like "$(cat "$log")" '^notice lanes taken over .*attempts_without_outcome=3' \
    '... and told'
one=$pid
kill "$one"
wait_for 5 '[ "$(lane owner "$hang")" != - ]'
kill "$one"
at=$(now_ms)
stop "$one"
is "$rc" 0 'a second signal ends a worker at once'
at=$(($(now_ms) - at))
[ $at -lt 2000 ]
check "... however long its requests hang ($at ms)"
is "$(sql 'select count(*) from webhook_lanes where owner is not null
    and owner like '\''%:'"$one"':%'\')" 0 '... and it keeps no lane'
at=$(now_ms)
worker -i 100ms
wait_for 5 '[ "$(seen /hang)" = 9 ]' '... so the next has no lease to wait for'
at=$(($(now_ms) - at))
[ $at -lt 1500 ]
check "... ($at ms)"
is "$(sql "select count(*), count(*) filter (where name like '%:$pid:%')
    from webhook_workers where tool = 'hook-deliver'")" '4|1' \
    'known are the worker that runs and three that were killed, no other'

done_testing
