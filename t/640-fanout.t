#!/bin/sh
# Fan-out: what committed becomes one delivery for each subscription that
# matches, however late it committed and whoever is killed; what did not, none.
. "${0%/*}/lib.sh"
. "${0%/*}/engine.sh"
need_cluster max_prepared_transactions=10
make_db
sink </dev/null

# A transaction that took its id first commits last.
sub late "$sink/late"
fanout -i 100ms
fan=$pid
worker -i 100ms
mkfifo "$work/a"
psql -X -q <"$work/a" >/dev/null &
a=$!
exec 3>"$work/a"
echo "begin; insert into webhook_outbox (event_type, payload)
    values ('late', '{\"it is\":\"slow\"}');" >&3
wait_for 5 "[ \"\$(sql \"select count(*) from pg_stat_activity
    where state = 'idle in transaction'\")\" = 1 ]"
events late 1
wait_for 5 '[ "$(seen /late)" = 1 ]' 'what commits first goes first'
echo 'commit;' >&3
at=$(now_ms)
wait_for 5 '[ "$(seen /late)" = 2 ]' \
    'what took its id before and commits later goes later'
at=$(($(now_ms) - at))
[ $at -lt 1500 ]
check "... within a poll or so ($at ms)"

# Rolled back, undone to a savepoint, or cut off before the commit: nothing.
echo "begin; insert into webhook_outbox (event_type, payload)
    values ('late', '1'); rollback;
    begin; insert into webhook_outbox (event_type, payload)
    values ('late', '{\"saved\":1}');
    savepoint s; insert into webhook_outbox (event_type, payload)
    values ('late', '2'); rollback to s;
    commit;
    begin; insert into webhook_outbox (event_type, payload)
    values ('late', '{\"prepared\":1}'); prepare transaction 'p';
    begin; insert into webhook_outbox (event_type, payload)
    values ('late', '3');" >&3
wait_for 5 "[ \"\$(sql \"select count(*) from pg_stat_activity
    where state = 'idle in transaction'\")\" = 1 ]"
wait_for 5 '[ "$(seen /late)" = 3 ]' 'what comes before a savepoint goes'
kill -9 $a
exec 3>&-
wait_for 5 "[ \"\$(sql \"select count(*) from pg_stat_activity
    where state = 'idle in transaction'\")\" = 0 ]"
is "$(sql 'select count(*) from webhook_outbox')" 3 \
    'a rollback, a savepoint and a killed client leave nothing'
sql "commit prepared 'p'"
wait_for 5 '[ "$(seen /late)" = 4 ]' 'a prepared transaction goes when it commits'

# Eight writers who take their time, each committing or not.
sub many "$sink/many"
cat >"$work/writer.sql" <<'EOT'
\set s random(0, 20)
\set keep random(0, 3)
begin;
insert into webhook_outbox (event_type, payload) values ('many', '{}');
select pg_sleep(:s / 1000.0);
\if :keep
commit;
\else
rollback;
\endif
EOT
run pgbench -n -c 8 -j 2 -t 200 -f "$work/writer.sql"
exits 0 '1,600 transactions of eight writers at once'
wanted=$(sql "select count(*) from webhook_outbox where event_type = 'many'")
wait_for 15 '[ "$(ids /many | wc -l)" -ge "$wanted" ]'
sql "select event_id from webhook_outbox where event_type = 'many'" |
    sort >"$work/want"
ids /many | cmp -s - "$work/want"
check "the set that was delivered is the set that committed ($wanted)"
is "$(seen /many)" "$wanted" '... each once'
stop "$fan"

# Four fan-outs, one of them killed every 200 ms.
sql "insert into webhook_subscriptions (name, url, event_types, state)
    select 'killed ' || n, '$sink/killed', '{killed}', 'paused'
    from generate_series(1, 4) n"
for n in 1 2 3 4; do
	fanout -b 20 -i 100ms
	eval "fan$n=$pid"
done
n=0
while [ $n -lt 20 ]; do
	n=$((n + 1))
	events killed 25
	until=$(($(now_ms) + 200))
	wait_for 2 '[ "$(now_ms)" -ge $until ]'
	eval "stop \$fan$((n % 4 + 1)) KILL"
	fanout -b 20 -i 100ms
	eval "fan$((n % 4 + 1))=$pid"
done
wait_for 10 "[ \"\$(sql \"select count(*) from webhook_outbox
    where fanned_out_at is null\")\" = 0 ]" '500 events, and a kill each 200 ms'
is "$(count "event_type = 'killed'")" 2000 'four subscriptions got 2,000'
is "$(sql "select count(distinct (outbox_id, subscription_id))
    from webhook_deliveries where event_type = 'killed'")" 2000 \
    '... none of them twice'
events nobody 3
wait_for 5 "[ \"\$(sql \"select count(*) from webhook_outbox
    where event_type = 'nobody' and fanned_out_to = 0\")\" = 3 ]" \
    'what nobody wants is done, too'
sql "insert into webhook_outbox (event_type, payload, created_at)
    select 'nobody', '{}', now() + d * interval '40 days'
    from generate_series(-30, 30) d"
wait_for 15 "[ \"\$(sql \"select count(*) from webhook_outbox
    where event_type = 'nobody' and fanned_out_to = 0\")\" = 64 ]" \
    '... whatever day it says it is of'
for n in 1 2 3 4; do
	eval "stop \$fan$n"
	is $rc 0 "fan-out $n stops at SIGTERM"
done
is "$(sql 'select count(*) from webhook_wakeup where asleep')" 0 \
    '... and lets no producer notify nobody'

# A lane that is given back while a fan-out for it is under way is not left
# asleep; and one that is looked at for the last time just then neither.
sql "create or replace function webhook_filter(payload json, filter jsonpath)
    returns text language plpgsql as \$\$ begin
	perform pg_sleep((payload->>'sleep')::float); return 'yes'; end \$\$"
sub race "$sink/race" "filter='\$'"
event race '{"sleep":0}'
hook-fanout
wait_for 5 '[ "$(seen /race)" = 1 ]'
event race '{"sleep":2.5}'
start hook-fanout
wait_for 5 '[ "$(lane owner)" = - ]' \
    'a lane is given back while a fan-out matches for it'
stop "$pid" CONT
wait_for 5 '[ "$(seen /race)" = 2 ]' '... and is found due all the same'

# A client's clock, or its zero, is no reason to lose an event.
sub odd "$sink/odd"
sql "insert into webhook_outbox (event_type, payload, created_at)
    select 'odd', '{}', at::timestamptz
    from unnest(array['infinity', '-infinity', '0001-01-01Z',
    '4713-01-01 BC', '294276-12-31Z', '1850-01-01Z']) at;
    delete from webhook_samples"
run hook-stat -o json
is "$rc $(jq -r .outbox_waiting "$work/out")" '0 6' \
    'events of the year 0 and of no time at all: they are seen to wait'
hook-fanout
is "$(sql "select count(*), sum(fanned_out_to) from webhook_outbox
    where event_type = 'odd'")" '6|6' '... and are fanned out'
hook-deliver
wait_for 5 '[ "$(seen /odd)" = 6 ]' '... and sent'
is "$(grep -l 'POST /odd' "$sink_dir"/*.head | sed 's/head$/body/' |
    xargs cat | grep -o '"timestamp":"[^"]*"' | sort | uniq -c | xargs)" \
    "3 timestamp:0001-01-01T00:00:00.000000Z\
 1 timestamp:1850-01-01T00:00:00.000000Z\
 2 timestamp:9999-12-31T23:59:59.999999Z" \
    '... in an envelope with a time that RFC 3339 has'
run timeout 60 hook-prune
exits 0 'their days are no trouble to hook-prune'
run timeout 60 hook-reconcile
is "$rc $(cat "$work/out")" '0 ' '... nor to hook-reconcile'

# Ids that a client gives (its zero, for all) are no reason either.
sub given "$sink/given"
for id in 0 0 -5 7777777 7777777; do
	sql "insert into webhook_outbox (id, event_type, payload)
	    values ($id, 'given', '{}')"
done
hook-fanout
hook-fanout
is "$(sql "select count(*), sum(fanned_out_to) from webhook_outbox
    where event_type = 'given'") $(count "event_type = 'given'")" '5|5 5' \
    'events with ids of a client are fanned out, each once'
hook-deliver
wait_for 5 '[ "$(seen /given)" = 5 ]' '... and sent'
run hook-reconcile
is "$rc $(cat "$work/out")" '0 ' '... and all is well'
sql "delete from webhook_deliveries where event_type = 'given';
    delete from webhook_outbox where event_type = 'given'
    and id in (select id from webhook_outbox group by 1 having count(*) > 1)
    and event_id not in (select min(event_id) from webhook_outbox group by id)"
hook-replay --fanout -t given >"$work/out"
is "$(jq .made "$work/out")" 3 '... a replay finds them, too'

done_testing
