-- prune-keys: forget idempotency keys, some at a time, with an audit row.
--   $1  bigint   older than so many milliseconds
--   $2  integer  at most this many
--   $3  text     actor
--   $4  text     reason, or null
-- One row: how many went.
with old as materialized (
	select tenant, key from webhook_idempotency
	where created_at < now() - $1::bigint * interval '1 ms'
	order by created_at
	limit $2::integer
	for update skip locked
), gone as (
	delete from webhook_idempotency t
	using old where t.tenant = old.tenant and t.key = old.key
	returning 1
), counted as materialized (
	select count(*) as n from gone
), told as (
	insert into webhook_audit (actor, tool, action, object, reason, detail)
	select $3, 'hook-prune', 'delete', 'table webhook_idempotency', $4,
	    jsonb_build_object('rows', n)
	from counted where n > 0
)
select n from counted
