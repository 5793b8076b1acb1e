-- doctor-vacuum: would dead rows be removed soon?
-- Findings, as lib/doctor.h has them.
with ours as materialized (
	select c.relname::text as name, array_to_string(c.reloptions, ' ') as set
	from pg_class c
	where c.relnamespace = (select relnamespace from pg_class
		where oid = 'webhook_outbox'::regclass)
	    and c.relkind = 'r' and starts_with(c.relname, 'webhook_')
)
select 'fail', name, 'is off: dead rows are never removed',
    'psql -c ''alter system set ' || name
    || ' = on'' -c ''select pg_reload_conf()'''
from pg_settings
where name in ('autovacuum', 'track_counts') and setting <> 'on'
union all
select 'warn', name, 'is ' || setting || ' s: autovacuum looks too seldom',
    'psql -c ''alter system reset ' || name
    || ''' -c ''select pg_reload_conf()'''
from pg_settings
where name = 'autovacuum_naptime' and setting::integer > 300
union all
select 'fail', name, 'has autovacuum switched off',
    'psql -c ''alter table ' || name || ' reset (autovacuum_enabled)'''
from ours where set ~ 'autovacuum_enabled=(false|off|0|no)'
union all
select 'warn', name, 'changes all the time and is vacuumed as others are',
    'psql -c ''alter table ' || name || ' set (autovacuum_vacuum_scale_factor'
    || ' = 0.02, autovacuum_vacuum_threshold = 2000,'
    || ' autovacuum_vacuum_cost_delay = 0)'''
from ours
where name in ('webhook_deliveries_pending', 'webhook_lanes', 'webhook_inbox')
    and substring(set from 'autovacuum_vacuum_scale_factor=([0-9.]+)')
	::double precision <= 0.1 is not true
