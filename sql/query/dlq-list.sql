-- dlq-list: a page of the dead deliveries, oldest first.
--   $1  timestamptz  after this finished_at, and
--   $2  bigint       this id
--   $3  integer      at most this many
--   $4  bigint       only this subscription, or null
--   $5  text         only this tenant, or null
--   $6  text         only this event type, or null
--   $7  text         only types that begin so and go on, or null
--   $8  timestamptz  finished then or later: see dlq-days
--   $9  timestamptz  finished before
-- Rows: as below; the last one's finished_at and id lead to the next page.
-- A keyset instead of a cursor: no snapshot is kept while somebody reads on.
select id, kind, subscription_id, tenant, event_id, event_type, state,
    attempts, last_status, last_error, created_at, finished_at
from webhook_dlq
where (finished_at, id) > ($1::timestamptz, $2::bigint)
    and ($4::bigint is null or subscription_id = $4)
    and ($5::text is null or tenant = $5)
    and ($6::text is null or event_type = $6)
    and ($7::text is null or starts_with(event_type, $7) and event_type <> $7)
    and finished_at >= $8::timestamptz and finished_at < $9::timestamptz
    and kind = 'delivery'
order by finished_at, id
limit $3::integer
