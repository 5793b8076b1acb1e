-- sub_state: pause or resume subscriptions, and write down that they were.
--   $1  bigint[]  ids
--   $2  text      paused or active
--   $3  text      who
--   $4  text      why, or null
-- A row for each different id, in order: the columns below; state is null
-- where there is no such subscription.  One that is in that state already is
-- left alone.  Lanes are locked in id order, like everywhere.
with want as materialized (
	select distinct unnest($1::bigint[]) as id
), lane as materialized (
	select l.subscription_id from webhook_lanes l
	where l.subscription_id in (select id from want)
	order by l.subscription_id
	for no key update
), hit as (
	update webhook_subscriptions s
	set state = $2, state_reason = case $2 when 'paused' then $4 end
	from lane where s.id = lane.subscription_id and s.state <> $2
	returning s.id, s.state
), told as (
	insert into webhook_audit (actor, tool, action, object, reason)
	select $3, 'hook-sub',
	    case $2 when 'paused' then 'pause' else 'resume' end,
	    'subscription ' || id, $4
	from hit
)
select w.id, s.tenant, s.name, coalesce(hit.state, s.state) as state
from want w
left join webhook_subscriptions s on s.id = w.id
left join hit on hit.id = w.id
order by w.id
