-- replay-job-claim: be the only one to work on a job, while connected.
--   $1  bigint  job
-- One row: whether that is so.
select pg_try_advisory_lock(hashtextextended(
    'hookutils job ' || $1::bigint || ' ' || current_schema(), 0))
