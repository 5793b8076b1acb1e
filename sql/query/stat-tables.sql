-- stat-tables: how large the tables are, the largest first.
--   $1  jsonb  tables, of stat-look
-- Rows: table, bytes (indexes included, as of the last vacuum), partitions.
select key as table, (value ->> 0)::bigint as bytes,
    (value ->> 1)::integer as partitions
from jsonb_each($1::jsonb) order by 2 desc, 1
