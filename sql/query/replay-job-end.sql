-- replay-job-end: a running job ends.
--   $1  bigint  job
--   $2  text    finished, or cancelled
--   $3  bigint  only if its cursor is there, or null
--   $4  text    actor; a cancellation gets an audit row
--   $5  text    reason, or null
-- One row with its id, or none: it does not run.
with ended as (
	update webhook_jobs set state = $2, updated_at = now()
	where id = $1::bigint and state = 'running'
	    and ($3::bigint is null or cursor_id = $3)
	returning id
), told as (
	insert into webhook_audit (actor, tool, action, object, reason)
	select $4, 'hook-replay', 'cancel', 'job ' || id, $5
	from ended where $2 = 'cancelled'
)
select id from ended
