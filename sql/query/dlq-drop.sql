-- dlq-drop: dead deliveries will never be sent.
--   $1  bigint[]  delivery ids
--   $2  text      actor
--   $3  text      reason, or null
-- Rows: what was dropped.  Others were not in the dead-letter queue.
with gone as (
	update webhook_deliveries
	set state = 'discarded', finished_at = now(),
	    discarded = 'dropped by ' || $2::text || coalesce(': ' || $3::text, '')
	where id = any ($1::bigint[]) and state in ('failed', 'expired')
	returning id, event_id, subscription_id, state
), told as (
	insert into webhook_audit (actor, tool, action, object, reason)
	select $2, 'hook-dlq', 'drop', 'delivery ' || id, $3
	from gone
)
select id, event_id, subscription_id, state, null::bigint as replay_of
from gone order by id
