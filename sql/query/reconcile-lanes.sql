-- reconcile-lanes: the next lanes: who holds them, and do they sleep over a
-- delivery?
--   $1  bigint       only subscription ids above this
--   $2  integer      at most this many
--   $3  bigint[]     only these ids, with
--   $4  bigint[]     these fences
--   $5  text[]       and these next_due_at; null: any
-- Rows as in reconcile-events, the first with the last id looked at; then the
-- fence and next_due_at, by which a second look tells that nothing moved.
--
-- A lane that is given back is due in a second until its next owner, or the
-- old one, knows better; so a lane is only at fault when it is found the same
-- twice.  When it should be due is lane_earliest's business.  A lease that
-- ran out while the server was away has half a minute more.
with batch as materialized (
	select l.*, s.state
	from webhook_lanes l
	join webhook_subscriptions s on s.id = l.subscription_id
	where l.subscription_id > $1::bigint
	    and ($3::bigint[] is null or (l.subscription_id, l.fence,
		coalesce(l.next_due_at::text, '')) in
		(select * from unnest($3::bigint[], $4::bigint[],
		    $5::text[])))
	order by l.subscription_id limit $2::integer
), due as (
	select b.*, case
	    when b.owner is not null then null
	    when b.state <> 'active' then (
		select greatest(min(p.give_up_at), now()) + interval '15 s'
		from webhook_deliveries_pending p
		where p.subscription_id = b.subscription_id
		    and (b.next_due_at is null
			or b.next_due_at > now() + interval '15 s')
		having count(*) > 0)
	    when b.ordered then (
		with recursive head as (
			(select p.order_key, p.next_attempt_at
			from webhook_deliveries_pending p
			where p.subscription_id = b.subscription_id
			    and p.order_key is not null
			order by p.order_key, p.outbox_id, p.id limit 1)
			union all
			select f.* from head h cross join lateral (
				select p.order_key, p.next_attempt_at
				from webhook_deliveries_pending p
				where p.subscription_id = b.subscription_id
				    and p.order_key > h.order_key
				order by p.order_key, p.outbox_id, p.id
				limit 1) f)
		select min(next_attempt_at) from head)
	    else (
		select p.next_attempt_at from webhook_deliveries_pending p
		where p.subscription_id = b.subscription_id
		order by p.next_attempt_at, p.id limit 1)
	    end as at
	from batch b
)
select null::text as kind, (select max(subscription_id) from batch) as id,
    null::text as event_id, null::bigint as subscription_id,
    null::text as why, null::text as todo, null::bigint as fence,
    null::text as due
union all
select 'lane_leased', null, null, subscription_id, 'the lease of ' || owner
    || ' ran out ' || date_trunc('second', now() - leased_until) || ' ago',
    'start hook-deliver: it takes the lane over', fence,
    coalesce(next_due_at::text, '')
from due
where owner is not null
    and greatest(leased_until, pg_postmaster_start_time())
    < now() - interval '30 s'
union all
select 'lane_leased', null, null, subscription_id, 'the lease of ' || owner
    || ' runs until ' || leased_until || ', longer than any is: the server''s'
    ' clock was ahead', 'update webhook_lanes set leased_until = now()'
    ' where subscription_id = ' || subscription_id, fence,
    coalesce(next_due_at::text, '')
from due
where leased_until > now() + interval '11 min'
union all
select 'lane_asleep', null, null, subscription_id, 'a delivery is due at '
    || at || ', the lane ' || coalesce('at ' || next_due_at, 'never'),
    'update webhook_lanes set next_due_at = now() where subscription_id = '
    || subscription_id, fence, coalesce(next_due_at::text, '')
from due
where owner is null and at is not null and (next_due_at is null
    or next_due_at > greatest(at, hold_until) + interval '1 s')
