-- prune-drop: drop a table that was taken out, count its rows, and write down
-- that it is gone.
--   $1  text  name
--   $2  text  actor
--   $3  text  reason, or null
-- One row: how many rows it had; null: it is gone already.
with gone as materialized (
	select webhook_partition_drop($1) as n
), told as (
	insert into webhook_audit (actor, tool, action, object, reason, detail)
	select $2, 'hook-prune', 'drop', 'table ' || $1, $3,
	    jsonb_build_object('rows', n)
	from gone where n is not null
)
select n from gone
