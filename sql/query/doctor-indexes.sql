-- doctor-indexes: which indexes of our tables are not valid?
-- Findings, as lib/doctor.h has them.  A killed "create index concurrently"
-- leaves one that is written to and never read.
select 'fail', c.relname::text, 'the index is not valid: nothing uses it',
    case c.relkind when 'i'
	then format('psql -c ''reindex index concurrently %I.%I''',
	    n.nspname, c.relname)
	else format('psql -c ''\d+ %I.%I'' and attach what its partitions'
	    ' lack', n.nspname, c.relname) end
from pg_index i
join pg_class c on c.oid = i.indexrelid
join pg_class t on t.oid = i.indrelid
join pg_namespace n on n.oid = t.relnamespace
where n.oid = (select relnamespace from pg_class
	where oid = 'webhook_outbox'::regclass)
    and starts_with(t.relname, 'webhook_')
    and not (i.indisvalid and i.indisready and i.indislive)
order by 2
