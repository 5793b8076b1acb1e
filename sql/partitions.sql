-- Make the daily partitions of today and the next 14 days (UTC), with what the
-- default partitions hold of those days; each in a transaction of its own, so
-- that none waits for another's locks.  hook-prune makes them likewise.

\o /dev/null
select format('select webhook_partition_make(%L, %L)', parent, day::date)
from unnest(array['webhook_outbox', 'webhook_attempts',
    'webhook_deliveries_done', 'webhook_deliveries_dead']) parent,
    generate_series((now() at time zone 'utc')::date,
    (now() at time zone 'utc')::date + 14, interval '1 day') day
order by day, parent \gexec
\o
