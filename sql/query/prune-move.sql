-- prune-move: rows that came to the default partition since prune-fill.
--   $1  text  parent
--   $2  date  day
-- One row: how many were moved.
select webhook_partition_move($1, $1 || to_char($2::date, '"_"YYYYMMDD'),
    $2::date, false)
