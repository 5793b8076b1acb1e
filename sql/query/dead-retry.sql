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
), counted as (
	insert into webhook_counters (name, label, outcome, shard, value)
	select 'messages_reopened', left(source, 200), 'dead',
	    pg_backend_pid() % 16, count(*)
	from back group by 2 order by 2
	on conflict (name, label, outcome, shard)
	do update set value = webhook_counters.value + excluded.value
), woken as materialized (
	select pg_notify(webhook_channel(webhook_consumers(source)), '')
	from back group by source
)
select 'm' || id as id, message_id as event_id,
    null::bigint as subscription_id, state, null::bigint as replay_of, source
from back where (select count(*) from woken) >= 0
order by back.id
