-- prune-old: the partitions that are past their time.
--   $1  bigint  keep events for so many milliseconds,
--   $2  bigint  deliveries that are done,
--   $3  bigint  ... that are dead,
--   $4  bigint  and attempts
-- Rows: parent, name; events first, since deliveries wait for them to go.
select p.parent, p.name
from webhook_partitions p
join (values (1, 'webhook_outbox', $1::bigint),
    (2, 'webhook_deliveries_done', $2::bigint),
    (3, 'webhook_deliveries_dead', $3::bigint),
    (4, 'webhook_attempts', $4::bigint)) k (rank, parent, keep_ms)
    on k.parent = p.parent
where p.until_at <= now() - k.keep_ms * interval '1 ms'
order by k.rank, p.from_at
