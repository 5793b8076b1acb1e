-- dlq-days: from when until when there may be finished deliveries: the days
-- whose partitions hold anything on disk, and no row outside of them.
--   $1  regclass     webhook_deliveries_dead, or webhook_deliveries_done
--   $2  timestamptz  finished then or later, or null
--   $3  timestamptz  finished before, or null
-- One row: from_at, until_at.
-- A statement that has these as constants is planned for those days alone;
-- else the server opens each partition and all of its indexes, which takes a
-- new session four times as long as to ask for their sizes.  Anything in the
-- default partition, or in what is not an ordinary table, may be of any day.
with part as materialized (
	select inhrelid as id from pg_inherits where inhparent = $1::regclass
), bound as materialized (
	select pg_get_expr(c.relpartbound, c.oid) as text,
	    c.relkind = 'r' as plain
	from part join pg_class c on c.oid = part.id
	where c.relkind <> 'r' or pg_relation_size(part.id) > 0
), day as materialized (
	select case when plain and text like 'FOR VALUES FROM (''%'') TO (''%'')'
	    then string_to_array(text, '''') end as b
	from bound
)
select greatest($2::timestamptz, case when bool_or(b is null) then '-infinity'
	else coalesce(min(b[2]::timestamptz), 'infinity') end) as from_at,
    least($3::timestamptz, case when bool_or(b is null) then 'infinity'
	else coalesce(max(b[4]::timestamptz), '-infinity') end) as until_at
from day
