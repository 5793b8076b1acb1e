-- prune-detach: take a partition out, with an audit row that says up to when
-- its parent has lost rows (replay-pruned reads it).
--   $1  text  name
--   $2  text  actor
--   $3  text  reason, or null
-- One row: why it must stay, or null: it is out.  None: it is none any more.
with part as materialized (
	select name, parent, until_at from webhook_partitions where name = $1
), out as materialized (
	select webhook_partition_detach(name) as why, part.* from part
), told as (
	insert into webhook_audit (actor, tool, action, object, reason, detail)
	select $2, 'hook-prune', 'detach', 'table ' || parent, $3,
	    jsonb_build_object('partition', name, 'until', until_at)
	from out where why is null
)
select why from out
