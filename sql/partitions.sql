-- Make the daily partitions of today and the next 14 days (UTC), with what the
-- default partitions hold of those days; each in a transaction of its own, so
-- that none waits for another's locks.  hook-prune makes them likewise.
--
-- Filling one takes no lock that anybody waits for; attaching it does, and so
-- may take no longer than :wait_ms.

set lock_timeout = :'half_ms';
\o /dev/null
select 'begin', format('select webhook_partition_fill(%L, %L)', parent, day),
    format('set local statement_timeout = %L', :'wait_ms'),
    format('select webhook_partition_attach(%1$L, %2$L) where not exists ('
	'select from webhook_partitions where parent = %1$L'
	' and from_at = %3$L)', parent, day, day || ' 00:00Z'), 'commit'
from unnest(array['webhook_outbox', 'webhook_attempts',
    'webhook_deliveries_done', 'webhook_deliveries_dead']) parent,
    generate_series((now() at time zone 'utc')::date,
    (now() at time zone 'utc')::date + 14, interval '1 day') t,
    lateral (select t::date as day) d
order by day, parent \gexec
\o
