-- prune-needed: must this partition stay?
--   $1  text    name
--   $2  text[]  partitions that are to be thought away
-- One row: why, or null.
select webhook_partition_needed($1, $2::text[])
