-- dead-retry: put dead messages back into the inbox; what they went through
-- stays with them, their failures are counted anew.
--   $1  bigint[]  ids
--   $2  text      actor
--   $3  text      reason, or null
-- Rows: what waits now.  Others were not in the dead-letter queue.
with back as (
	update webhook_inbox
	set state = 'pending', finished_at = null, next_attempt_at = now(),
	    failures = 0, takeovers = 0
	where id = any ($1::bigint[]) and state = 'dead'
	returning id, message_id, state, source
), told as (
	insert into webhook_audit (actor, tool, action, object, reason)
	select $2, 'hook-dlq', 'retry', 'message ' || id, $3
	from back
), woken as materialized (
	select pg_notify(webhook_channel(webhook_consumers(source)), '')
	from back group by source
)
select 'm' || id as id, message_id as event_id,
    null::bigint as subscription_id, state, null::bigint as replay_of, source
from back where (select count(*) from woken) >= 0
order by back.id
