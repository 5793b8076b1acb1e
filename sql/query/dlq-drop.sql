-- dlq-drop: dead deliveries will never be sent.
--   $1  bigint[]  delivery ids
--   $2  text      actor
--   $3  text      reason, or null
-- Rows: what was dropped.  Others were not in the dead-letter queue.
-- The ids stand twice so that the rows are found by index, whatever is joined
-- to them.
with dead as materialized (
	select id, state from webhook_deliveries
	where id = any ($1::bigint[]) and state in ('failed', 'expired')
), gone as (
	update webhook_deliveries d
	set state = 'discarded', finished_at = now(),
	    discarded = 'dropped by ' || $2::text || coalesce(': ' || $3::text, '')
	from dead
	where d.id = any ($1::bigint[]) and d.state in ('failed', 'expired')
	    and d.id = dead.id and d.state = dead.state
	returning d.id, d.event_id, d.event_type, d.subscription_id, d.state,
	    dead.state as was
), counted as (
	insert into webhook_counters (name, label, outcome, shard, value)
	select c.* from (
		select 'deliveries_finished'::text, left(event_type, 200),
		    'discarded'::text, (pg_backend_pid() % 16)::smallint,
		    count(*)
		from gone group by 2
		union all
		select 'deliveries_reopened', '', was, pg_backend_pid() % 16,
		    count(*)
		from gone group by 3
		order by 1, 2, 3) c
	on conflict (name, label, outcome, shard)
	do update set value = webhook_counters.value + excluded.value
), told as (
	insert into webhook_audit (actor, tool, action, object, reason)
	select $2, 'hook-dlq', 'drop', 'delivery ' || id, $3
	from gone
)
select id, event_id, subscription_id, state, null::bigint as replay_of
from gone order by id
