-- dead-drop: dead messages will never be handled.
--   $1  bigint[]  ids
--   $2  text      actor
--   $3  text      reason, or null
-- Rows: what was dropped.  Others were not in the dead-letter queue.
with gone as (
	update webhook_inbox set state = 'discarded', finished_at = now()
	where id = any ($1::bigint[]) and state = 'dead'
	returning id, message_id, state, source
), told as (
	insert into webhook_audit (actor, tool, action, object, reason)
	select $2, 'hook-dlq', 'drop', 'message ' || id, $3
	from gone
), counted as (
	insert into webhook_counters (name, label, outcome, shard, value)
	select 'messages_reopened', left(source, 200), 'dead',
	    pg_backend_pid() % 16, count(*)
	from gone group by 2 order by 2
	on conflict (name, label, outcome, shard)
	do update set value = webhook_counters.value + excluded.value
)
select 'm' || id as id, message_id as event_id,
    null::bigint as subscription_id, state, null::bigint as replay_of, source
from gone order by gone.id
