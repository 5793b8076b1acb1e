-- sub_test: send one subscription an event of its own, and write that down.
-- The outbox row is fanned out as it is made; the delivery has one attempt,
-- since its deadline is now.
--   $1  bigint  subscription
--   $2  json    payload
--   $3  text    who
--   $4  text    why, or null
-- One row: the subscription's state, the event's id (null where the state is
-- not active); none if there is no such subscription.
with sub as materialized (
	select s.id, s.tenant, s.state, s.ordered, s.api_version
	from webhook_subscriptions s where s.id = $1
), lane as materialized (
	select l.subscription_id as id, l.owner, l.hold_until
	from webhook_lanes l
	where l.subscription_id in (select id from sub where state = 'active')
	for no key update
), event as (
	insert into webhook_outbox (event_type, payload, api_version, tenant,
	    fanned_out_at, fanned_out_to)
	select 'webhook.test', $2::json, sub.api_version, sub.tenant, now(), 1
	from sub join lane using (id)
	returning id, created_at, event_id
), made as (
	insert into webhook_deliveries (outbox_id, outbox_created_at,
	    event_id, event_type, subscription_id, give_up_at, order_key,
	    payload_bytes)
	select e.id, e.created_at, e.event_id, 'webhook.test', sub.id, now(),
	    case when sub.ordered then hashtextextended(e.event_id, 0) end,
	    octet_length($2::text)
	from event e, sub
	returning event_type
), counted as (
	insert into webhook_counters (name, label, shard, value)
	select 'deliveries_created', event_type, pg_backend_pid() % 16, 1
	from made
	on conflict (name, label, outcome, shard)
	do update set value = webhook_counters.value + excluded.value
), lowered as (
	update webhook_lanes l
	set next_due_at = least(l.next_due_at - interval '1 us',
	    greatest(now(), l.hold_until))
	from lane where l.subscription_id = lane.id and lane.owner is null
), told as (
	insert into webhook_audit (actor, tool, action, object, reason, detail)
	select $3, 'hook-sub', 'test', 'subscription ' || sub.id, $4,
	    jsonb_build_object('event_id', e.event_id)
	from event e, sub
)
select sub.state, (select event_id from event),
    pg_notify(webhook_channel('deliver'), '')
from sub
