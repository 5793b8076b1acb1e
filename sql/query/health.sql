-- health: a subscription began to fail, is disabled, or has recovered, and
-- the operators' tenant _ops hears of it.
--   $1  bigint  subscription id
--   $2  bigint  fence
--   $3  text    first (failure since a success: no event), failing, disabled,
--               recovered, well (first success after failures: no event)
--   $4  text    reason, or null
-- A row if the lane is still ours: whether it has failed for 5 days.
--
-- A subscription of _ops makes no event: it would be told of itself.
with mine as materialized (
	select s.id, s.tenant, s.name, s.failing_since
	from webhook_lanes l
	join webhook_subscriptions s on s.id = any (array[l.subscription_id])
	where l.subscription_id = $1 and l.fence = $2
), changed as (
	update webhook_subscriptions s
	set failing_since = case when $3 in ('recovered', 'well') then null
		else coalesce(s.failing_since, now()) end,
	    state = case $3 when 'disabled' then 'disabled' else s.state end,
	    state_reason = case $3 when 'disabled' then $4
		else s.state_reason end
	from mine m
	where s.id = any (array[m.id])
), told as (
	insert into webhook_outbox (tenant, aggregate_id, event_type, payload)
	select '_ops', 'subscription ' || m.id, 'webhook.subscription.' || $3,
	    json_build_object('subscription_id', m.id, 'tenant', m.tenant,
		'name', m.name, 'failing_since', coalesce(m.failing_since,
		now()), 'reason', $4)
	from mine m
	where $3 in ('failing', 'disabled', 'recovered')
	    and m.tenant <> '_ops'
)
select coalesce(m.failing_since < now() - interval '5 days', false)
from mine m
