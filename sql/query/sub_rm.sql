-- sub_rm: remove subscriptions, and write down that they were.  A trigger
-- discards what waits for them.
--   $1  bigint[]  ids
--   $2  text      who
--   $3  text      why, or null
-- A row for each different id, in order: the columns below; state is null
-- where there is no such subscription.  Lanes are locked in id order, like
-- everywhere.
with want as materialized (
	select distinct unnest($1::bigint[]) as id
), lane as materialized (
	select l.subscription_id from webhook_lanes l
	where l.subscription_id in (select id from want)
	order by l.subscription_id
	for update
), gone as (
	delete from webhook_subscriptions s
	using lane where s.id = lane.subscription_id
	returning s.id, s.tenant, s.name
), told as (
	insert into webhook_audit (actor, tool, action, object, reason, detail)
	select $2, 'hook-sub', 'rm', 'subscription ' || id, $3,
	    jsonb_strip_nulls(jsonb_build_object('tenant', tenant,
		'name', name))
	from gone
)
select w.id, gone.tenant, gone.name,
    case when gone.id is not null then 'removed' end as state
from want w left join gone on gone.id = w.id
order by w.id
