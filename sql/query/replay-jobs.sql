-- replay-jobs: jobs, newest last.
--   $1  bigint  only this one, or null
-- Rows: as below; done is of total, in deliveries looked at, or events of the
-- outbox; made is deliveries put back or created.
select id as job, kind, state, done, total, made, rate_per_second, actor,
    reason, query, created_at, updated_at
from webhook_jobs
where ($1::bigint is null or id = $1)
order by id
