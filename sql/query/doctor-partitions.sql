-- doctor-partitions: are there partitions for the coming days?
-- Findings, as lib/doctor.h has them.  Without one, rows go to a default
-- partition; hook-prune moves them, and makes fourteen days ahead.
with parent (name) as materialized (values ('webhook_outbox'),
	('webhook_attempts'), ('webhook_deliveries_done'),
	('webhook_deliveries_dead')
), missing as (
	select p.name, min(now() + d * interval '1 day') as day
	from parent p, generate_series(0, 2) d
	where not exists (select from webhook_partitions w
	    where w.parent = p.name and w.from_at <= now() + d * interval '1 day'
		and w.until_at > now() + d * interval '1 day')
	group by 1
)
select 'fail', name, 'has no partition for ' || to_char(day, 'YYYY-MM-DD'),
    'hook-prune, and daily: systemctl enable --now hook-prune.timer'
from missing
union all
select 'warn', name || '_default', 'holds rows that belong into a day''s'
    || ' partition', 'hook-prune'
from parent where pg_stat_get_live_tuples((name || '_default')::regclass) > 0
union all
select 'warn', name, 'was taken out and not dropped: hook-prune was killed',
    'hook-prune'
from webhook_detached
