#!/bin/sh
# hook-sub test: one event to one subscription, tried once, and its outcome.
. "${0%/*}/lib.sh"
need_db
sink <<-'EOT'
	/busy * status 503
	/gone * status 404
EOT

# Filtered, ordered, of a tenant: a test goes there all the same.
hook-sub add -T acme -e never -f '$.never' -O "$sink/good" >/dev/null
for path in busy gone paused; do
	hook-sub add "$sink/$path" >/dev/null
done
hook-sub pause 4 >/dev/null

run hook-sub test -w 100ms 1
is "$rc $(jq -r .state "$work/out")" '75 pending' 'nobody sends: not yet'
like "$(cat "$work/err")" '^hook-sub: evt_.*not yet final' '... and it says so'
start hook-deliver -f
run hook-sub test -u me -m 'is it up?' 1
is "$rc $(jq -c '[.subscription_id, .state, .attempts, .last_status]' \
    "$work/out")" '0 [1,"delivered",1,200]' 'delivered'
is "$(jq -r .event_id "$work/out")" "$(sql "select detail ->> 'event_id'
    from webhook_audit where action = 'test' and actor = 'me'
    and reason = 'is it up?' and object = 'subscription 1'")" \
    'the audit has its event, who and why'
while read -r id state status; do
	run hook-sub test "$id"
	is "$rc $(jq -c '[.state, .attempts, .last_status]' "$work/out")" \
	    "1 [\"$state\",1,$status]" "answered $status: tried once, $state"
done <<'EOT'
2 expired 503
3 failed 404
EOT
run hook-sub test 4
is "$rc $(cat "$work/err")" \
    '1 hook-sub: subscription 4: paused: resume it first' \
    'a paused one is not tested'
run hook-sub test 99
is "$rc $(cat "$work/err")" '1 hook-sub: subscription 99: not found' \
    'nor an unknown one'
hook-fanout
is "$(sql "select string_agg(subscription_id::text, ' ' order by id)
    from webhook_deliveries")" '1 1 2 3' 'no other subscription got any of it'
is "$(sql "select distinct event_type, fanned_out_to from webhook_outbox
    order by 1")" 'webhook.test|1' 'the events are of their own type'
is "$(sql "select count(*) from webhook_outbox where tenant = 'acme'")" 2 \
    '... and of the tenant'

done_testing
