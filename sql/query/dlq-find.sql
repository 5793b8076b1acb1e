-- dlq-find: where one delivery and what belongs to it stand.
--   $1  bigint       delivery id
--   $2  text[]       its state is one of these; and, of what is finished,
--   $3  timestamptz  finished then or later, or null
--   $4  timestamptz  finished before, or null
-- One row, or none: what dlq-show takes as $2 to $6.
select d.state, d.finished_at, d.outbox_created_at,
    d.created_at - interval '1 hour',
    coalesce(d.finished_at, now()) + interval '1 hour'
from webhook_deliveries d
where d.id = $1::bigint and d.state = any ($2::text[])
    and ($3::timestamptz is null or d.finished_at >= $3)
    and ($4::timestamptz is null or d.finished_at < $4)
