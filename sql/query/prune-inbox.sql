-- prune-inbox: forget messages that are done, discarded or dead, some at a time, with an audit row.
--   $1  bigint   older than so many milliseconds
--   $2  integer  at most this many
--   $3  text     actor
--   $4  text     reason, or null
-- One row: how many went.
with old as materialized (
	select id from webhook_inbox
	where received_at < now() - $1::bigint * interval '1 ms'
	    and state <> 'pending'
	    and finished_at < now() - $1::bigint * interval '1 ms'
	order by received_at
	limit $2::integer
	for update skip locked
), gone as (
	delete from webhook_inbox t
	using old where t.id = old.id
	returning 1
), counted as materialized (
	select count(*) as n from gone
), told as (
	insert into webhook_audit (actor, tool, action, object, reason, detail)
	select $3, 'hook-prune', 'delete', 'table webhook_inbox', $4,
	    jsonb_build_object('rows', n)
	from counted where n > 0
)
select n from counted
