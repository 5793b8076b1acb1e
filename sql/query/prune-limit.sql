-- prune-limit: how long the next statements may wait for a lock, and take.
--   $1  text  milliseconds for a lock, 0: any time
--   $2  text  milliseconds altogether, likewise
-- One row, of no interest.
select set_config('lock_timeout', $1, false),
    set_config('statement_timeout', $2, false)
