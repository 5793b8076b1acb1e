#!/bin/sh
# A dead endpoint costs only itself: with 8 slots, and one or 20 endpoints
# that hang until the timeout, what goes to a healthy one is not held up.
. "${0%/*}/lib.sh"
. "${0%/*}/engine.sh"
need_db

# The 95th of 100 delays from commit to arrival at a path, in ms.
p95() {
	sql "select event_id, extract(epoch from created_at) * 1000
	    from webhook_outbox" | tr '|' ' ' >"$work/made"
	awk -v path="$1" 'NR == FNR { at[$1] = $2; next }
	$1 == "in" && $5 == path { print int($3 / 1000 - at[$6]) }' \
	    "$work/made" "$sink_dir/log" | sort -n >"$work/delays"
	awk '{ d[NR] = $1 } END { print d[int(NR * 0.95 + 0.5)] }' \
	    "$work/delays"
}

sink <<'EOT'
/dead * hang
/one * delay 5
/many * delay 5
EOT
sub dead "$sink/dead" timeout_ms=2000
events dead 2000
sub one "$sink/one"
run hook-fanout
fanout -i 100ms
worker -j 8 -i 100ms
worker=$pid
wait_for 5 '[ "$(seen /dead)" -ge 5 ]'
events one 25
wait_for 10 '[ "$(seen /one)" -ge 25 ]'
events one 25
wait_for 10 '[ "$(seen /one)" = 50 ]' 'one dead endpoint with 2,000 waiting'
ms=$(p95 /one)
[ "$ms" -lt 1500 ]
check "... costs the other next to nothing: 95 of 100 within $ms ms"
[ "$(seen /dead)" -lt 30 ]
check "... and is itself not hammered ($(seen /dead) requests)"
stop "$worker"

sql "with s as (insert into webhook_subscriptions (name, url, event_types,
	timeout_ms)
    select 'dead ' || n, '$sink/dead', '{dead20}', 2000
    from generate_series(1, 20) n returning id)
    insert into webhook_secrets (subscription_id, secret)
    select id, '$secret' from s"
events dead20 100
sub many "$sink/many"
wait_for 10 '[ "$(count "event_type = '\''dead20'\''")" = 2000 ]'
before=$(seen /dead)
worker -j 8 -i 100ms
wait_for 5 '[ "$(seen /dead)" -ge '$((before + 6))' ]'
n=0
while [ $n -lt 10 ]; do
	n=$((n + 1))
	events many 5
	until=$(($(now_ms) + 500))
	wait_for 5 '[ "$(now_ms)" -ge $until ]'
done
wait_for 10 '[ "$(seen /many)" = 50 ]' '20 dead ones, with 8 slots for all'
ms=$(p95 /many)
[ "$ms" -lt 3000 ]
check "... cost the other little: 95 of 100 within $ms ms"
note "delays: $(tr '\n' ' ' <"$work/delays")"
is "$(sql "select count(*) from webhook_deliveries d where event_type = 'many'
    and attempts <> 1")" 0 '... each with one attempt'
wait_for 10 "[ \"\$(sql \"select count(distinct subscription_id)
    from webhook_deliveries where event_type = 'dead20' and attempts > 0\")\" \
    = 20 ]" 'each of the dead ones is tried, too'

done_testing
