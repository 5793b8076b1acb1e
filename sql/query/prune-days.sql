-- prune-days: which partitions are missing: those of today and 14 days more,
-- and of days that a default partition holds rows of (UTC).
-- Rows: parent; day; how many rows the default partition holds.  Today first,
-- then those that hold some.  Days further ahead stay where they are.
with held as materialized (
	select 'webhook_outbox' as parent, created_at as at
	from webhook_outbox_default
	union all
	select 'webhook_attempts', at from webhook_attempts_default
	union all
	select 'webhook_deliveries_done', finished_at
	from webhook_deliveries_done_default
	union all
	select 'webhook_deliveries_dead', finished_at
	from webhook_deliveries_dead_default
), day as (
	select parent, (at at time zone 'utc')::date as day, count(*) as n
	from held
	where isfinite(at) and at < ((now() at time zone 'utc')::date + 15)
	    ::timestamp at time zone 'utc'
	group by 1, 2
	union all
	select parent, day::date, 0
	from unnest(array['webhook_outbox', 'webhook_attempts',
	    'webhook_deliveries_done', 'webhook_deliveries_dead']) parent,
	    generate_series((now() at time zone 'utc')::date,
	    (now() at time zone 'utc')::date + 14, interval '1 day') day
)
select d.parent, d.day, sum(d.n)::bigint as n
from day d
where not exists (select from webhook_partitions p
    where p.parent = d.parent
	and p.from_at < (d.day + 1)::timestamp at time zone 'utc'
	and p.until_at > d.day::timestamp at time zone 'utc')
group by 1, 2
order by day <> (now() at time zone 'utc')::date, sum(d.n) = 0, day, parent
