-- doctor-schema: is the schema this program's?
--   $1  integer  the newest version that it knows
-- Findings, as lib/doctor.h has them.
with last as materialized (
	select coalesce(max(version), 0) as version from webhook_migrations
)
select 'fail', null::text, 'the schema is version ' || version
    || ', older than this program''s ' || $1, 'hook-migrate'
from last where version < $1::integer
union all
select 'fail', null, 'the schema is version ' || version
    || ', newer than this program''s ' || $1, 'install the newer hookutils'
from last where version > $1::integer
union all
select 'fail', 'version ' || n, 'was never applied, and newer ones were',
    'hook-migrate'
from last, generate_series(1, version) n
where n not in (select m.version from webhook_migrations m)
