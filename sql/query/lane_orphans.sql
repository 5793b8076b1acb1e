-- lane_orphans: after a take-over, count the attempts whose outcome the dead
-- worker did not write.  It sent in order and at most max_concurrency at
-- once, so they are among the lane's first due rows.  A row that has used up
-- its schedule this way ends as failed: it may be what kills the workers.
--   $1  bigint[]  subscription ids
--   $2  bigint[]  fences
-- Rows: id of each delivery counted.
with mine as materialized (
	select l.subscription_id, s.max_concurrency,
	    cardinality(s.retry_ms) + 1 as most
	from unnest($1::bigint[], $2::bigint[]) as w (id, fence)
	join webhook_lanes l on l.subscription_id = w.id and l.fence = w.fence
	join webhook_subscriptions s on s.id = l.subscription_id
), counted as (
	update webhook_deliveries d
	set attempts = d.attempts + 1,
	    state = case when d.attempts + 1 - d.round_start > m.most
		then 'failed' else 'pending' end,
	    finished_at = case when d.attempts + 1 - d.round_start > m.most
		then now() end,
	    last_error = 'no outcome known: the worker stopped'
	from mine m
	cross join lateral (
		select p.id from webhook_deliveries_pending p
		where p.subscription_id = m.subscription_id
		    and p.next_attempt_at <= now()
		order by p.next_attempt_at, p.id
		limit m.max_concurrency) f
	where d.id = f.id and d.state = 'pending'
	returning d.id, d.attempts
), told as (
	insert into webhook_attempts (delivery_id, attempt, at, error)
	select id, attempts, now(), 'no outcome known: the worker stopped'
	from counted
)
select id from counted
