-- reconcile-days: the days whose deliveries and attempts do not change any
-- more, but for hook-prune.
-- Rows: from, until; the first from -infinity.  The last until is the start of
-- what may still change.
-- Only where partitions end, since the first may be of years ago.
select coalesce(lag(day) over (order by day), '-infinity') as from_at,
    day as until_at
from (select until_at as day from webhook_partitions
    where parent <> 'webhook_outbox' and until_at < (now() at time zone 'utc')
	::date::timestamp at time zone 'utc' - interval '1 day'
    union
    select (now() at time zone 'utc')::date::timestamp at time zone 'utc'
	- interval '1 day') d
order by day
