-- dead-list: a page of the dead messages of the inbox, oldest first.
--   $1  timestamptz  after this finished_at, and
--   $2  bigint       this id
--   $3  integer      at most this many
--   $4  text         only this event type, or null
--   $5  text         only types that begin so and go on, or null
--   $6  timestamptz  finished then or later, or null
--   $7  timestamptz  finished before, or null
-- Rows: as below, like those of dlq-list; the last one's finished_at and id
-- (without its m) lead to the next page.
select 'm' || id as id, 'message' as kind, null::bigint as subscription_id,
    null::text as tenant, message_id as event_id, event_type, state, attempts,
    exit_status as last_status, last_error, received_at as created_at,
    finished_at, source, exit_signal, failures
from webhook_inbox
where state = 'dead'
    and (finished_at, id) > ($1::timestamptz, $2::bigint)
    and ($4::text is null or event_type = $4)
    and ($5::text is null or starts_with(event_type, $5) and event_type <> $5)
    and ($6::timestamptz is null or finished_at >= $6)
    and ($7::timestamptz is null or finished_at < $7)
order by finished_at, webhook_inbox.id
limit $3::integer
