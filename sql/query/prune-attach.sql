-- prune-attach: let a partition that was begun be one.
--   $1  text  parent
--   $2  date  day
-- One row: how many rows were moved since.
select webhook_partition_attach($1, $2::date)
