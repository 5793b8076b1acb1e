-- replay-judge: which of these deliveries may be worked on, or why not.
--   $1  bigint[]  delivery ids
--   $2  bigint[]  leave these out: they were done just now
--   $3  text      retry, drop, replay, or force: what is wanted
--   $4  boolean   only those that may be
-- Rows: id, event_id, subscription_id, state, why (null where it may be).
select * from (
	select a.id, d.event_id, d.subscription_id, d.state,
	    case when d.id is null then 'no such delivery'
		when $3 in ('retry', 'drop')
		    and d.state not in ('failed', 'expired')
		then 'not in the dead-letter queue: ' || d.state
		when $3 = 'drop' then null
		when d.state = 'pending' then 'already waiting to be sent'
		when $3 = 'replay' and d.state in ('delivered', 'discarded')
		then d.state || ': --force sends it again'
		when s.id is null
		then 'subscription ' || d.subscription_id || ' was removed'
		when s.state = 'disabled'
		then 'subscription ' || d.subscription_id || ' is disabled'
		when o.here is null
		then 'event ' || d.event_id || ' was pruned: its body is gone'
	    end as why
	from (select distinct id from unnest($1::bigint[]) as u (id)
	    where id <> all ($2::bigint[])) a
	left join webhook_deliveries d on d.id = a.id
	left join webhook_subscriptions s on s.id = d.subscription_id
	left join lateral (
		select true as here from webhook_outbox
		where id = d.outbox_id and created_at = d.outbox_created_at
		offset 0) o on true) j
where why is null or not $4::boolean
order by id
