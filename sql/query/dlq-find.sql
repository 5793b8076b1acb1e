-- dlq-find: where one delivery and what belongs to it stand.
--   $1  bigint  delivery id
-- One row, or none: what dlq-show takes as $2 to $6.
select d.state, d.finished_at, d.outbox_created_at,
    d.created_at - interval '1 hour',
    coalesce(d.finished_at, now()) + interval '1 hour'
from webhook_deliveries d
where d.id = $1::bigint
