#!/bin/sh
# The disaster drill: all deliveries are lost, and are made anew from the
# outbox (hook-replay --fanout).  It matches as hook-fanout does, to the
# subscriptions of today, and nothing is made twice.
. "${0%/*}/lib.sh"
. "${0%/*}/wire.sh"
need_db

sink <<'EOT'
/broken * status 400
EOT
since=$(date -u +%Y-%m-%dT%H:%M:%SZ)

# What a delivery says, but for its number and the time.
deliveries() {
	sql "select outbox_id, outbox_created_at, event_id, event_type,
	    subscription_id, order_key, payload_bytes,
	    give_up_at - created_at
	    from webhook_deliveries order by outbox_id, subscription_id"
}
doubles() {
	sql 'select count(*) from (select from webhook_deliveries
	    group by outbox_id, subscription_id having count(*) > 1) d'
}

# Every kind of match that there is, and its opposite.
psql -X -q -v ON_ERROR_STOP=1 -v sink="$sink" -v secret="$secret" <<'EOT'
insert into webhook_subscriptions (tenant, name, url, event_types, filter,
    api_version, ordered, deadline_ms)
values ('', 'all', :'sink' || '/all', '{*}', null, null, false, 60000),
    ('', 'exact', :'sink' || '/exact', '{a.b,z}', null, null, false, 70000),
    ('', 'prefix', :'sink' || '/prefix', '{a.*,a.b}', null, null, true, 80000),
    ('', 'plain', :'sink' || '/plain', '{a.%,A.B,a_b,a}', null, null, false,
	90000),
    ('', 'big', :'sink' || '/big', '{*}', '$.n > 5', null, false, 60000),
    ('', 'ill', :'sink' || '/ill', '{odd}', '$.x == 1', null, false, 60000),
    ('', 'v2', :'sink' || '/v2', '{*}', null, '2', false, 60000),
    ('acme', 'acme', :'sink' || '/acme', '{a.*}', null, null, false, 60000),
    ('', 'broken', :'sink' || '/broken', '{a.b.c}', null, null, false, 60000),
    ('', 'paused', :'sink' || '/paused', '{a.b}', null, null, false, 60000),
    ('', 'disabled', :'sink' || '/disabled', '{*}', null, null, false, 60000);
insert into webhook_secrets (subscription_id, secret)
select id, :'secret' from webhook_subscriptions;
update webhook_subscriptions set state = name
where name in ('paused', 'disabled');
EOT
{
	sql "select json_build_object('event_type', t, 'tenant', k,
	    'api_version', v, 'aggregate_id', a,
	    'payload', json_build_object('n', n))
	    from unnest(array['a.b', 'a.b.c', 'a.', 'a', 'ax.b', 'A.B', 'a_b',
		'other']) t
	    cross join unnest(array['', 'acme']) k
	    cross join unnest(array[null, '2']) v
	    cross join unnest(array[null, 'agg']) a
	    cross join generate_series(5, 6) n"
	printf '%s\n' '{"event_type":"odd","payload":{"x":"\u0000"}}'
} | hook-enqueue -l >"$work/ids" || exit
grep -v '"github.push"' "$top/t/payloads/github.ndjson" | head -n 20 |
    jq -c '{event_type: .type, payload}' | hook-enqueue -l >>"$work/ids"
hook-fanout
deliveries >"$work/before"
run hook-deliver -j 8
is "$rc $(sql "select string_agg(distinct state, ' ' order by state)
    from webhook_deliveries")" '0 delivered failed pending' \
    'all is delivered, refused, or waits for a paused subscription'
head=$(sql "select count(*) from webhook_deliveries where state = 'delivered'")
is "$(grep -c '^in ' "$sink_dir/log")" "$(sql 'select count(*)
    from webhook_attempts where status is not null')" \
    'the receiver saw each once'

# Nothing is missing: nothing is made.
n=$(wc -l <"$work/ids")
run hook-replay --fanout --since "$since"
is "$rc $(jq -c '[.kind, .state, .done, .total, .made]' "$work/out")" \
    "0 [\"outbox\",\"finished\",$n,$n,0]" \
    'where nothing is missing, nothing is made'
is "$(sql "select count(*) from webhook_audit where object = 'job 1'")" 1 \
    '... with an audit row for the job'

# The drill.
cp "$sink_dir/log" "$work/first.log"
sql 'truncate webhook_deliveries'
run hook-replay -n --fanout --since "$since"
is "$rc $(jq -c '[.events, .deliveries, (.first | length), .first[0]]' \
    "$work/out")" "0 [$(wc -l <"$work/ids"),$(wc -l <"$work/before"),1,$(sql \
    "select to_json(event_id) from webhook_outbox order by id limit 1")]" \
    'a dry run says what would be made'
is "$(sql 'select count(*) from webhook_deliveries')" 0 '... and makes nothing'
run hook-replay --fanout --since "$since" -m 'the drill' -u alice
is "$rc $(jq -c '[.state, .made, .actor, .reason]' "$work/out")" \
    "0 [\"finished\",$(wc -l <"$work/before"),\"alice\",\"the drill\"]" \
    'after a TRUNCATE the deliveries are made anew'
deliveries >"$work/after"
cmp -s "$work/before" "$work/after"
check '... exactly those that hook-fanout had made' ||
    note "$(diff "$work/before" "$work/after" | head)"
like "$(sql "select name, d.state, last_error from webhook_deliveries d
    join webhook_subscriptions s on s.id = subscription_id
    where event_type = 'odd' and filter is not null order by name" | xargs)" \
    '^big\|failed\|filter: .* ill\|failed\|filter: ' \
    '... what no filter can read is dead, with the reason'
run hook-deliver -j 8
is "$rc $(sql "select count(*) from webhook_deliveries
    where state = 'delivered'")" "0 $head" '... and are delivered'
awk '$1 == "in" { print $5, $6 }' "$work/first.log" | sort >"$work/first"
awk '$1 == "in" { print $5, $6 }' "$sink_dir/log" | sort >"$work/both"
is "$(sort "$work/first" "$work/first" | cksum)" "$(cksum <"$work/both")" \
    '... each under the webhook-id that it had'
for n in $(awk '$1 == "in" && $5 == "/all" { print $2 }' "$sink_dir/log"); do
	tr -d '\r' <"$sink_dir/$n.head" >"$work/head"
	echo "$(sed -n 's/^webhook-id: //pI' "$work/head") $(cksum \
	    <"$sink_dir/$n.body")"
done | sort | uniq -c | awk '{ print $1 }' | sort | uniq -c >"$work/same"
is "$(awk '{ print $2 }' "$work/same") $(awk '{ print $1 }' "$work/same")" \
    "2 $(awk '$5 == "/all"' "$work/first.log" | grep -c '^in')" \
    '... with the same bytes'
tail -n 400 "$sink_dir/log" | awk '$1 == "in" { print $2 }' | tail -n 3 |
while read -r n; do
	grep -i '^webhook-' "$sink_dir/$n.head" | tr -d '\r' >"$work/head"
	hook-verify -s standard -k "$work/secret" -q \
	    -H "$(sed -n 1p "$work/head")" -H "$(sed -n 2p "$work/head")" \
	    -H "$(sed -n 3p "$work/head")" <"$sink_dir/$n.body" && echo good
done >"$work/good"
is "$(xargs <"$work/good")" 'good good good' '... and signatures of today'

# For the subscriptions of today.
late=$(hook-sub add -e 'a.*' "$sink/late" | jq .id)
run hook-replay --fanout -s "$late" -t a.b
is "$rc $(jq .made "$work/out")" "0 $(sql "select count(*)
    from webhook_outbox where event_type = 'a.b' and tenant = ''")" \
    'a new subscription gets what was before it, if asked'
is "$(sql "select count(distinct event_type), min(event_type), count(*)
    from webhook_deliveries where subscription_id = $late")" \
    "1|a.b|$(jq .made "$work/out")" '... of the types asked for'
run hook-replay --fanout -s "$late" -t 'a.*' -T ''
is "$rc $(jq .made "$work/out")" "0 $(sql "select count(*)
    from webhook_outbox where event_type = 'a.b.c' and tenant = ''")" \
    '... and later the rest'
is "$(doubles)" 0 '... each once'
is "$(sql "select count(*) from webhook_outbox o where fanned_out_to <>
    (select count(*) from webhook_deliveries d where outbox_id = o.id)")" 0 \
    'the outbox knows how many deliveries each event has'
one=$(head -n 1 "$work/ids")
last=$(sql "select max(id) from webhook_deliveries
    where event_id = '$one' and subscription_id = 1")
n=$(sql "select count(*) from webhook_deliveries where event_id = '$one'")
run hook-replay --fanout --force -e "$one"
is "$rc $(jq -c '[.done, .made]' "$work/out")" "0 [1,$n]" \
    'forced, an event goes to all again'
is "$(sql "select replay_of, event_id from webhook_deliveries
    where outbox_id = (select id from webhook_outbox where event_id = '$one')
    and subscription_id = 1 order by id desc limit 1")" "$last|$one" \
    '... as deliveries that name the old ones'
sql "update webhook_subscriptions set state = 'disabled' where id = $late"
sql "delete from webhook_deliveries where subscription_id = $late"
run hook-replay --fanout -s "$late" -t '*'
is "$rc $(jq .made "$work/out")" '0 0' 'a disabled subscription gets nothing'
run hook-replay --fanout -s 999 -t '*'
is "$rc $(jq .made "$work/out")" '0 0' '... nor does an unknown one'
wait=$(sed -n 2p "$work/ids")
sql "delete from webhook_deliveries where event_id = '$wait';
    update webhook_outbox set fanned_out_at = null, fanned_out_to = null
    where event_id = '$wait'"
run hook-replay --fanout --since "$since"
is "$rc $(sql "select count(*) from webhook_deliveries
    where event_id = '$wait'")" '0 0' \
    'an event that waits for hook-fanout is left to it'
hook-fanout
is "$(sql "select string_agg(distinct event_id, ' ') from webhook_deliveries d
    where exists (select from webhook_deliveries e
	where e.outbox_id = d.outbox_id and e.id <> d.id
	and e.subscription_id = d.subscription_id)")" "$one" \
    'only what was forced is there twice'

# Killed again and again, and two at once: none twice, none missing.
sql "delete from webhook_deliveries; delete from webhook_subscriptions;
    delete from webhook_outbox"
hook-sub add -O "$sink/one" >"$work/out"
hook-sub add "$sink/two" >>"$work/out"
hook-sub add -e 'a.*' "$sink/three" >>"$work/out"
sql "insert into webhook_outbox (event_type, payload, aggregate_id)
    select case n % 2 when 0 then 'a.b' else 'b' end, '{}', n % 7
    from generate_series(1, 6000) n"
hook-fanout
deliveries | cut -d '|' -f 1,5-6 >"$work/before"
sql 'truncate webhook_deliveries'
before=0
set -- --fanout --since "$since" -r 20000
for part in 1 2 3 4; do
	start hook-replay "$@"
	wait_for 20 '[ "$(sql "select count(*) from webhook_jobs
	    where state = '"'running' and made > $before"'")" = 1 ]'
	stop "$pid" KILL
	job=$(sql "select id from webhook_jobs where state = 'running'")
	wait_for 10 '[ "$(sql "select count(*) from pg_stat_activity
	    where application_name = '"'hook-replay' and datname = '$db'"'")" \
	    = 0 ]'
	before=$(sql "select made from webhook_jobs where id = $job")
	is "$(sql 'select count(*) from webhook_deliveries')" "$before" \
	    "kill $part: what is counted is what is there"
	set -- --resume "$job" -r 20000
done
[ "$before" -lt 15000 ]
check '... in the midst of it'
start hook-replay --resume "$job" -r 20000
resumed=$pid
start hook-replay --fanout -t '*'
wait "$pid"
is $? 0 'a second replay of the same beside it'
rc=0
wait "$resumed" || rc=$?
is "$rc $(doubles)" '0 0' '... makes nothing twice'
is "$(sql "select sum(made) from webhook_jobs where id in ($job, $job + 1)")" \
    15000 '... both together make all'
deliveries | cut -d '|' -f 1,5-6 >"$work/after"
cmp -s "$work/before" "$work/after"
check '... the same as at first'

# Another replay is just about to commit what this one would make.
sql "create table lost as select * from webhook_deliveries
    where subscription_id = (select min(subscription_id)
	from webhook_deliveries) order by id limit 20;
    delete from webhook_deliveries where id in (select id from lost)"
mkfifo "$work/other"
psql -X -q <"$work/other" >/dev/null &
other=$!
exec 9>"$work/other"
echo "begin; select pg_advisory_xact_lock(hashtextextended(
    'hookutils replay ' || current_schema(), 0));
    insert into webhook_deliveries select * from lost;" >&9
wait_for 10 '[ "$(sql "select count(*) from pg_stat_activity
    where state = '"'idle in transaction' and datname = '$db'"'")" = 1 ]'
start hook-replay --fanout -t '*'
wait_for 10 '[ "$(sql "select count(*) from pg_locks
    where locktype = '"'advisory' and not granted and database = (select oid
    from pg_database where datname = '$db')"'")" = 1 ]' \
    'a replay waits for another one to commit'
echo 'commit;' >&9
exec 9>&-
wait "$other"
rc=0
wait "$pid" || rc=$?
is "$rc $(doubles) $(jq .made "$out")" '0 0 0' '... and sees what that made'

# The counters know of the deliveries that were truncated away.
run hook-reconcile
is "$rc $(jq -r .kind "$work/out" | sort -u)" '1 counter' \
    'hook-reconcile finds nothing missing or doubled, but that rows went'

done_testing
