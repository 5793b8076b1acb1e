-- reconcile-days: the days whose deliveries and attempts do not change any
-- more, but for hook-prune.
-- Rows: from, until; the first from -infinity.  The last until is the start of
-- what may still change.
select coalesce(lag(day) over (order by day), '-infinity') as from_at,
    day as until_at
from generate_series(coalesce((select min(from_at) from webhook_partitions),
    now()), (now() at time zone 'utc')::date::timestamp at time zone 'utc'
    - interval '1 day', interval '1 day') day
order by day
