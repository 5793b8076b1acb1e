-- prune-fill: begin a partition, with what the default partition holds of it.
--   $1  text  parent
--   $2  date  day
-- One row: how many rows, null where there is one by now.
select webhook_partition_fill($1, $2::date)
