-- lane_expire: end what is past its deadline and can't have its last attempt:
-- the subscription is not active, or its breaker is open and the probe failed.
--   $1  bigint[]  subscription ids
--   $2  bigint[]  fences
--   $3  text      why
-- At most 1,000 a lane and call.  Rows: id.
with mine as materialized (
	select l.subscription_id
	from unnest($1::bigint[], $2::bigint[]) as w (id, fence)
	join webhook_lanes l on l.subscription_id = any (array[w.id])
	    and l.fence = w.fence
), over as materialized (
	select p.id from mine m
	cross join lateral (
		select p.id from webhook_deliveries_pending p
		where p.subscription_id = m.subscription_id
		    and p.give_up_at <= now()
		limit 1000) p
), ended as (
	update webhook_deliveries d
	set state = 'expired', finished_at = now(),
	    last_error = $3 || coalesce('; before: ' || d.last_error, '')
	from over o
	where d.id = any (array[o.id]) and d.state = 'pending'
	returning d.id, d.event_type
), counted as (
	insert into webhook_counters (name, label, outcome, shard, value)
	select 'deliveries_finished', left(event_type, 200), 'expired',
	    pg_backend_pid() % 16, count(*)
	from ended group by 2 order by 2
	on conflict (name, label, outcome, shard)
	do update set value = webhook_counters.value + excluded.value
)
select id from ended
