-- reconcile-closed: count what does not change any more.
--   $1  timestamptz  from
--   $2  timestamptz  until
-- One row: deliveries that are done, those of them that were delivered,
-- attempts.
select d.n, d.delivered, a.n
from (select count(*) as n,
	count(*) filter (where state = 'delivered') as delivered
    from webhook_deliveries
    where state in ('delivered', 'discarded')
	and finished_at >= $1::timestamptz and finished_at < $2::timestamptz) d,
    (select count(*) as n from webhook_attempts
    where at >= $1::timestamptz and at < $2::timestamptz) a
