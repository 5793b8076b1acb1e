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
--
-- Nothing is joined freely, as in fanout.sql: lanes that rest share their
-- next_due_at, and a plan that looked them up by that read all for each.
with mine as materialized (
	select w.id, l.hold_until, s.state, s.ordered
	from (select * from unnest($1::bigint[], $2::bigint[],
	    $3::timestamptz[]) as w (id, fence, due) order by id) w
	cross join lateral (select hold_until from webhook_lanes
	    where subscription_id = w.id and fence = w.fence
		and owner is null and w.due > now()
		and next_due_at is not distinct from w.due
	    limit 1
	    for no key update skip locked) l
	cross join lateral (select state, ordered from webhook_subscriptions
	    where id = w.id limit 1) s
), first as materialized (
	select m.id, m.hold_until, case
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
), sorted as materialized (
	select array_agg(id order by id) as ids,
	    array_agg(case when at is not null then greatest(at, hold_until) end
		order by id) as times
	from first
)
update webhook_lanes
set next_due_at = (select times from sorted)
    [width_bucket(subscription_id, (select ids from sorted))]
where subscription_id = any ((select ids from sorted)::bigint[])
returning case when $4::boolean
    then pg_notify(webhook_channel('deliver'), '') end
