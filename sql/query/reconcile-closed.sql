-- reconcile-closed: count what does not change any more.
--   $1  timestamptz  from
--   $2  timestamptz  until
-- One row: deliveries that were delivered, that were discarded, attempts.
select d.delivered, d.discarded, a.n
from (select count(*) filter (where state = 'delivered') as delivered,
	count(*) filter (where state = 'discarded') as discarded
    from webhook_deliveries
    where state in ('delivered', 'discarded')
	and finished_at >= $1::timestamptz and finished_at < $2::timestamptz) d,
    (select count(*) as n from webhook_attempts
    where at >= $1::timestamptz and at < $2::timestamptz) a
