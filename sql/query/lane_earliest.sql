-- lane_earliest: give lanes back (2 of 2): when is there something to do?
-- Arrays, one element a lane, from lane_rest:
--   $1  bigint[]       subscription ids
--   $2  bigint[]       fences
--   $3  timestamptz[]  next_due_at
--   $4  boolean        tell the other workers: they are given to them
-- A second statement, since its snapshot is younger than the lane's release.
-- The rule that keeps a lane from sleeping over a row: who adds pending rows
-- locks the lane first, decides by the locked row whether it is free, and if
-- so lowers next_due_at, or at least changes it.  So its rows are seen here,
-- or the lane is locked and left alone (it is due in a second), or its
-- next_due_at is not ours any more.
--
-- A lane that is not active is due when its rows give up, but every 10
-- seconds at most, since no index knows; an ordered one when the first
-- delivery of some aggregate is.
with mine as materialized (
	select w.id, w.fence, w.due, s.state, s.ordered
	from unnest($1::bigint[], $2::bigint[], $3::timestamptz[])
	    as w (id, fence, due)
	join webhook_lanes l on l.subscription_id = w.id
	    and l.fence = w.fence and l.owner is null
	    and l.next_due_at = w.due and l.next_due_at > now()
	join webhook_subscriptions s on s.id = w.id
	order by w.id
	for no key update of l skip locked
), first as (
	select m.id, m.fence, m.due, case
	    when m.state <> 'active' then (
		select greatest(min(p.give_up_at), now() + interval '10 s')
		from webhook_deliveries_pending p
		where p.subscription_id = m.id having count(*) > 0)
	    when m.ordered then (
		with recursive head as (
			(select p.order_key, p.next_attempt_at
			from webhook_deliveries_pending p
			where p.subscription_id = m.id
			    and p.order_key is not null
			order by p.order_key, p.outbox_id, p.id limit 1)
			union all
			select f.* from head h cross join lateral (
				select p.order_key, p.next_attempt_at
				from webhook_deliveries_pending p
				where p.subscription_id = m.id
				    and p.order_key > h.order_key
				order by p.order_key, p.outbox_id, p.id
				limit 1) f)
		select min(next_attempt_at) from head)
	    else (
		select p.next_attempt_at from webhook_deliveries_pending p
		where p.subscription_id = m.id
		order by p.next_attempt_at, p.id limit 1)
	    end as at
	from mine m
)
update webhook_lanes l
set next_due_at = case when f.at is not null
    then greatest(f.at, l.hold_until) end
from first f
where l.subscription_id = f.id and l.next_due_at = f.due
returning case when $4::boolean
    then pg_notify(webhook_channel('deliver'), '') end
