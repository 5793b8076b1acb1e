#!/bin/sh
# The breaker, and what operators hear of it; subscriptions that are disabled
# and resumed; deadlines.
. "${0%/*}/lib.sh"
. "${0%/*}/engine.sh"
need_db

sink <<'EOT'
/down 1-9 status 500
/down * delay 20
/gone 3 status 410
/old * status 500
/hold 1 status 503 | header Retry-After: 2
/wait * status 500
/both 1-5 status 500
/shut * status 410
EOT
sub ops "$sink/ops"
sql "update webhook_subscriptions set tenant = '_ops', event_types = '{*}'
    where id = $sub"
ops=$sub
hook-sub add -T _ops -e webhook.subscription.disabled -k "$work/secret" \
    "$sink/told" >"$work/added" || exit
# What the operators got: type, and the subscription's name.
told() {
	sql "select d.event_type || ' ' || (payload->>'name') || ' '
	    || (state = 'delivered')
	    from webhook_outbox join webhook_deliveries d
		on d.outbox_id = webhook_outbox.id
	    where d.subscription_id = $ops order by d.outbox_id"
}
fanout -i 100ms
worker -i 100ms -v
log=$log

# Five failures in a row open it.
sub down "$sink/down" "retry_ms='{60000}'" max_concurrency=2
down=$sub
events down 40
wait_for 5 '[ "$(lane breaker "$down")" = open ]' 'failures open the breaker'
wait_for 5 '[ "$(lane owner "$down")" = - ]' '... the lane waits at rest'
n=$(seen /down)
[ "$n" -ge 5 ] && [ "$n" -le 6 ]
check "... after five in a row and what was under way ($n)"
is "$(sql "select extract(epoch from hold_until - now()) between 2 and 6.1
    from webhook_lanes where subscription_id = $down")" t \
    '... about 5 s until the first probe'
wait_for 5 '[ "$(told)" = "webhook.subscription.failing down true" ]' \
    'the operators hear that it is failing'
is "$(sql "select failing_since > now() - interval '1 min'
    from webhook_subscriptions where id = $down")" t '... and since when'

# Probes, one at a time and further apart each time; time is made to pass.
probe() {
	sql "update webhook_lanes set hold_until = null, next_due_at = now()
	    where subscription_id = $down and owner is null"
	wait_for 5 "[ \"\$(seen /down)\" -gt $n ]"
	wait_for 5 '[ "$(lane owner "$down")" = - ]'
	m=$(seen /down)
	[ "$m" -eq $((n + 1)) ]
	check "probe $1 is one request"
	n=$m
}
probe 1
is "$(sql "select extract(epoch from hold_until - now()) between 7 and 12.1
    from webhook_lanes where subscription_id = $down")" t \
    '... and about 10 s until the next'
probe 2
is "$(sql "select extract(epoch from hold_until - now()) between 15 and 24.1
    from webhook_lanes where subscription_id = $down")" t '... and 20 s'
while [ "$n" -lt 9 ]; do
	probe "$((n - 4))"
done
sql "update webhook_lanes set hold_until = null, next_due_at = now()
    where subscription_id = $down"
wait_for 10 "[ \"\$(count \"subscription_id = $down and
    state = 'delivered'\")\" = 31 ]" 'a probe that succeeds lets the rest go'
is "$(awk '$1 == "in" && $5 == "/down" && $7 > n { n = $7 } END { print n }' \
    "$sink_dir/log")" 2 '... at the cap of the lane'
is "$(lane breaker "$down") $(lane failures "$down")" 'closed 0' \
    '... and closes the breaker'
wait_for 5 '[ "$(told | tail -n 1)" = "webhook.subscription.recovered down true" ]' \
    'the operators hear that it has recovered'
is "$(sql "select failing_since is null from webhook_subscriptions
    where id = $down")" t '... and nobody says that it fails'
is "$(grep -c 'subscription failing' "$log") $(grep -c 'recovered' "$log")" \
    '1 1' '... nor says the log more than once each'

# 410, and five days of failing.
sub gone "$sink/gone" max_concurrency=1
gone=$sub
events gone 6
wait_for 5 "[ \"\$(sql \"select state from webhook_subscriptions
    where id = $gone\")\" = disabled ]" '410 disables the subscription'
is "$(sql "select state_reason from webhook_subscriptions where id = $gone")" \
    '410 Gone' '... and says why'
wait_for 5 '[ "$(lane owner "$gone")" = - ]'
is "$(seen /gone)" 3 '... nothing more is sent'
is "$(sql "select state, count(*) from webhook_deliveries
    where subscription_id = $gone group by 1 order by 1" | tr '\n' ' ')" \
    'delivered|2 failed|1 pending|3 ' '... what is pending waits'
wait_for 5 '[ "$(told | tail -n 1)" = "webhook.subscription.disabled gone true" ]' \
    'the operators hear of it'
events gone 1
wait_for 5 "[ \"\$(sql \"select count(*) from webhook_outbox
    where fanned_out_at is null\")\" = 0 ]"
is "$(count "subscription_id = $gone")" 6 'it gets no new events'
sql "update webhook_subscriptions set state = 'active' where id = $gone"
wait_for 5 "[ \"\$(count \"subscription_id = $gone
    and state = 'delivered'\")\" = 5 ]" 'resumed, it gets what waited'
is "$(sql "select state, state_reason is null from webhook_subscriptions
    where id = $gone")" 'active|t' '... and stays active'

sub old "$sink/old" max_concurrency=1 "retry_ms='{60000}'"
old=$sub
sql "update webhook_subscriptions
    set failing_since = now() - interval '4 days 23 hours' where id = $old"
events old 1
wait_for 5 '[ "$(seen /old)" = 1 ]'
wait_for 5 '[ "$(lane owner "$old")" = - ]'
is "$(sql "select state from webhook_subscriptions where id = $old")" active \
    'failing for almost five days does not disable'
sql "update webhook_subscriptions
    set failing_since = now() - interval '5 days 1 min' where id = $old"
events old 1
wait_for 5 "[ \"\$(sql \"select state || ': ' || state_reason
    from webhook_subscriptions where id = $old\")\" = \
    'disabled: failing for 5 days without one success' ]" 'five days do'
wait_for 5 '[ "$(told | tail -n 1)" = "webhook.subscription.disabled old true" ]' \
    '... and the operators hear of it'

# Like any other: by its type, signed, in the envelope.
wait_for 5 '[ "$(seen /told)" = 2 ]' \
    'a subscription to one type of it gets that type'
n=$(awk '$1 == "in" && $5 == "/told" { print $2; exit }' "$sink_dir/log")
is "$(jq -r '[.type, .data.subscription_id, .data.tenant, .data.name,
    .data.reason] | join(" ")' "$sink_dir/$n.body")" \
    "webhook.subscription.disabled $gone  gone 410 Gone" '... in the envelope'
verify "$work/secret"
exits 0 '... signed'

# Never to the endpoint that it is about, whoever else has subscribed it.
sub both "$sink/both" max_concurrency=1 "retry_ms='{60000}'"
both=$sub
sub echo "$sink/both" "tenant='_ops'"
sql "update webhook_subscriptions set event_types = '{*}' where id = $sub"
echo=$sub
events both 5
wait_for 5 '[ "$(told | tail -n 1)" = "webhook.subscription.failing both true" ]' \
    'a customer'\''s endpoint fails, to which _ops is subscribed as well'
is "$(count "subscription_id = $echo")" 0 '... and it is not told of itself'
event=$(sql "select event_id from webhook_outbox
    where aggregate_id = 'subscription $both'")
run hook-replay --fanout --force -s "$echo" -e "$event"
is "$rc $(count "subscription_id = $echo")" '0 0' '... nor by a replay'
sql "select set_config('session_replication_role', 'replica', false);
    update webhook_subscriptions set updated_at = now() - interval '1 hour'
    where id = $echo" >"$work/out"
run hook-reconcile
grep unmatched "$work/out" >"$work/missed"
[ -s "$work/missed" ] && ! grep -q "$event" "$work/missed"
check '... and hook-reconcile misses it not, but those before'
sql "insert into webhook_outbox (tenant, aggregate_id, event_type, payload)
    values ('_ops', 'subscription $gone', 'webhook.subscription.failing', '{}')"
wait_for 5 "[ \"\$(count \"subscription_id = $echo
    and state = 'delivered'\")\" = 1 ]" '... but of others'

# No loop: a subscription of _ops that fails is no event for _ops.
sub loop "$sink/old" "tenant='_ops'" max_concurrency=1 "retry_ms='{60000}'"
loop=$sub
sql "update webhook_subscriptions set event_types = '{webhook.subscription.*}'
    where id = $loop;
    insert into webhook_outbox (tenant, event_type, payload)
    select '_ops', 'webhook.subscription.test', '{}' from generate_series(1, 6)"
wait_for 10 '[ "$(lane breaker "$loop")" = open ]' \
    'the breaker of an operators'\'' subscription opens'
wait_for 5 '[ "$(lane owner "$loop")" = - ]'
is "$(sql "select count(*) from webhook_outbox
    where payload->>'name' = 'loop'")" 0 '... and is no event itself'
sub shut "$sink/shut" "tenant='_ops'"
sql "insert into webhook_outbox (tenant, event_type, payload)
    values ('_ops', 'shut', '{}')"
wait_for 10 "[ \"\$(sql \"select state from webhook_subscriptions
    where id = $sub\")\" = disabled ]" '... and one may be disabled'
wait_for 5 '[ "$(lane owner "$sub")" = - ]'
is "$(sql "select count(*) from webhook_outbox
    where payload->>'name' = 'shut'")" 0 '... which is no event either'

# Retry-After holds the lane, for all that waits.
sub hold "$sink/hold" "retry_ms='{100,100}'"
hold=$sub
events hold 1
wait_for 5 '[ "$(seen /hold)" = 1 ]'
events hold 5
wait_for 10 "[ \"\$(count \"subscription_id = $hold
    and state = 'delivered'\")\" = 6 ]" 'a lane that was held goes on'
[ "$(awk '$1 == "in" && $5 == "/hold" { if (!n++) a = $3; else if (n == 2)
    print int(($3 - a) / 1e3) }' "$sink_dir/log")" -ge 1990 ]
check '... when Retry-After is over, and not before'

# Deadlines: a last attempt when it is over, and then expired.
sub wait "$sink/wait" "retry_ms='{300}'" deadline_ms=3000 max_concurrency=1
events wait 1
wait_for 10 "[ \"\$(count \"subscription_id = $sub
    and state = 'expired'\")\" = 1 ]" 'past its deadline, a delivery expires'
is "$(sql "select attempts, last_status, finished_at >= give_up_at
    from webhook_deliveries where subscription_id = $sub")" '3|500|t' \
    '... after the schedule and one last attempt'
is "$(sql "select bool_and(at >= give_up_at - interval '50 ms'
    and at < give_up_at + interval '1.5 s') from webhook_attempts a
    join webhook_deliveries d on d.id = a.delivery_id
    where subscription_id = $sub and attempt = 3")" t '... at the deadline'
sub pause "$sink/pause" deadline_ms=1000 "state='paused'"
events pause 3
wait_for 20 "[ \"\$(count \"subscription_id = $sub
    and state = 'expired'\")\" = 3 ]" 'paused for longer, they expire'
like "$(sql "select min(last_error) from webhook_deliveries
    where subscription_id = $sub")" 'while the subscription was not active' \
    '... and say why'
is "$(seen /pause)" 0 '... unsent'

done_testing
