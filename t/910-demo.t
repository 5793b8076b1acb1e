#!/bin/sh
# scripts/demo: shows it all on a machine with nothing prepared, the full
# circle hop by hop, and leaves nothing running.
. "${0%/*}/lib.sh"
HOOK_DEMO_RUN=$work/run
export HOOK_DEMO_RUN
unset PGHOST PGPORT PGUSER PGDATABASE PGPASSWORD HOOK_ALLOW_NET

left() {	# What still runs for it.
	for p in /proc/[0-9]*; do
		grep -Fsla "$work/run" "$p/cmdline"
	done
	ls "$work"/run/pg/data/postmaster.pid 2>/dev/null
}
hops() {	# FILE: the lines of the table, with single blanks
	awk '$2 ~ /^[a-z]+[.]/ && NF >= 8 { $1 = $1; print }' "$1"
}
states() {
	sql "select string_agg(state, ' ' order by id) from shop.orders"
}

run "$top/scripts/demo"
exits 0 'it succeeds' || cat "$work"/run/*.log >&2
is "$(grep -c . "$work/err")" 0 '... without a complaint'
like "$(cat "$work/out")" '58 of 58 arrived byte for byte' \
    '... every payload came as it was stored'
like "$(cat "$work/out")" '^billing .* 2; answered 401 until' \
    '... what was refused was sent again, and taken'
is "$(hops "$work/out" | cut -d ' ' -f 1,2,5,6,8)" \
    '1 order.created payments 202 done
1 payment.completed shipping 202 done
1 order.shipped orders 202 done
1 order.shipped mail 202 done
2 order.created payments 202 done
2 payment.refused orders 202 done
2 order.cancelled mail 202 done
3 order.created payments 202 dead' \
    '... each event led to the next, by way of its handler'
[ "$(wc -l <"$work/out")" -le 40 ]
check '... told in a screenful'
is "$(left)" '' '... and nothing is left running'

start "$top/scripts/demo" -k
wait_for 120 'grep -q "the front door" "$out" || ! kill -0 $pid 2>/dev/null'
. "$work/run/env"

# Each line against the tables, by the ids that it names.
hops "$out" >"$work/hops"
while read -r n type outbox delivery to answer inbox handled next; do
	event=$(sql "select event_id from webhook_outbox where id = $outbox
	    and event_type = '$type' and aggregate_id = 'order-$n'")
	is "$(sql "select 'sent' from webhook_deliveries d
	    join webhook_subscriptions s on s.id = subscription_id
	    join webhook_attempts a on a.delivery_id = d.id
	    where d.id = $delivery and event_id = '$event'
	    and d.state = 'delivered' and name = '$to'
	    and a.status = $answer")" sent \
	    "order $n: $type $outbox is sent to $to as delivery $delivery"
	is "$(sql "select state from webhook_inbox where id = $inbox
	    and source = '$to' and message_id = '$event'
	    and event_type = '$type'")" "$handled" \
	    "... and comes as message $inbox, $handled"
	[ -z "$next" ] || is "$(sql "select payload ->> 'caused_by',
	    exists (select from webhook_deliveries
	    where outbox_id = o.id and state = 'delivered')
	    from webhook_outbox o where id = $next
	    and aggregate_id = 'order-$n'")" "$event|t" \
	    "... whose handler made event $next, delivered in turn"
done <"$work/hops"
is "$(awk 'NF == 9' "$work/hops" | wc -l)" 4 'four events are from handlers'
is "$(sql "select count(*) from webhook_outbox o
    where payload::jsonb ? 'caused_by' and not exists (select
    from webhook_inbox i where message_id = payload ->> 'caused_by'
    and i.state = 'done')")" 0 '... and none without a message that is done'
is "$(states), $(sql 'select pieces from shop.stock')" \
    'shipped cancelled placed, 8' \
    'the circle ends in the rows where it began'
is "$(sql "select count(*) filter (where pieces <> 8) || ' ' || (
    select count(*) from webhook_outbox where event_type = 'github.never')
    from shop.stock")" '0 0' '... and what was rolled back did not begin'

# All that it tells to type, typed in another terminal.
grep '^    [a-z.]' "$out" | sed 's/^ *//;s/^man/ls/;s/  *#.*//' >"$work/typed"
(cd "$top" && env -i HOME="$work" PATH=/usr/bin:/bin sh -ex "$work/typed") \
    >"$work/typed.out" 2>&1
check 'what it tells to type works' || note "$(cat "$work/typed.out")"
[ "$(wc -l <"$work/typed")" -ge 9 ]
check '... all of it'
like "$(cat "$work/typed.out")" 'no rate for CHF' \
    '... hook dlq show has what the handler said'
wait_for 60 '[ "$(states)" = "shipped cancelled shipped shipped" ]' \
    '... the order that was a dead letter, and another one, are shipped'
wait_for 60 '[ "$(sql "select count(*) from webhook_deliveries d
    join webhook_attempts a on a.delivery_id = d.id
    where d.replay_of = 1 and a.status = 200")" = 1 ]' \
    '... and the receiver had what was replayed'
is "$(sql "select count(*), count(distinct payload ->> 'order')
    from webhook_outbox where event_type = 'order.shipped'")" '3|3' \
    '... nothing was shipped twice'
stop
is "$rc" 143 'it ends when it is told to'
is "$(left)" '' '... and then nothing is left running'

run "$top/scripts/demo" -x
exits 64 'an unknown option is a usage error'

done_testing
