-- lane_orphans: after a take-over, count the attempts whose outcome the dead
-- worker did not write.  It sent in order and at most max_concurrency at
-- once, so they are among the lane's first due rows; where order is kept,
-- among the first due ones of each aggregate.  A row that has used up its
-- schedule this way ends as failed: it may be what kills the workers.
--   $1  bigint[]  subscription ids
--   $2  bigint[]  fences
-- Rows: id of each delivery counted.
with mine as materialized (
	select l.subscription_id, s.ordered, cardinality(s.retry_ms) + 1 as most,
	    case l.breaker when 'open' then 1 else s.max_concurrency end
		as room
	from unnest($1::bigint[], $2::bigint[]) as w (id, fence)
	join webhook_lanes l on l.subscription_id = any (array[w.id])
	    and l.fence = w.fence
	join webhook_subscriptions s on s.id = any (array[l.subscription_id])
), sent as materialized (
	select f.id, m.most from mine m
	cross join lateral (
		select p.id from webhook_deliveries_pending p
		where not m.ordered and p.subscription_id = m.subscription_id
		    and p.next_attempt_at <= now()
		order by p.next_attempt_at, p.id
		limit m.room) f
	union all
	select f.id, m.most from mine m
	cross join lateral (
		with recursive head as (
			(select p.order_key, p.id, p.next_attempt_at
			from webhook_deliveries_pending p
			where m.ordered and p.order_key is not null
			    and p.subscription_id = m.subscription_id
			order by p.order_key, p.outbox_id, p.id limit 1)
			union all
			select f.* from head h cross join lateral (
				select p.order_key, p.id, p.next_attempt_at
				from webhook_deliveries_pending p
				where p.subscription_id = m.subscription_id
				    and p.order_key > h.order_key
				order by p.order_key, p.outbox_id, p.id
				limit 1) f)
		select id from head where next_attempt_at <= now()
		limit m.room) f
), counted as (
	update webhook_deliveries d
	set attempts = d.attempts + 1,
	    state = case when d.attempts + 1 - d.round_start > s.most
		then 'failed' else 'pending' end,
	    finished_at = case when d.attempts + 1 - d.round_start > s.most
		then now() end,
	    last_status = null,
	    last_error = 'no outcome known: the worker stopped'
	from sent s
	where d.id = any (array[s.id]) and d.state = 'pending'
	returning d.id, d.attempts, d.event_type, d.state
), told as (
	insert into webhook_attempts (delivery_id, attempt, at, error)
	select id, attempts, now(), 'no outcome known: the worker stopped'
	from counted
), summed as (
	insert into webhook_counters (name, label, outcome, shard, value)
	select c.* from (
		select 'deliveries_finished'::text, left(event_type, 200),
		    state, (pg_backend_pid() % 16)::smallint, count(*)
		from counted where state <> 'pending' group by 2, 3
		union all
		select 'attempts', left(event_type, 200), 'unknown',
		    pg_backend_pid() % 16, count(*)
		from counted group by 2
		union all
		select 'takeovers', '', '', pg_backend_pid() % 16, count(*)
		from mine having count(*) > 0
		order by 1, 2, 3) c
	on conflict (name, label, outcome, shard)
	do update set value = webhook_counters.value + excluded.value
)
select id from counted
