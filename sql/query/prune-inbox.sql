-- prune-inbox: forget messages that are done, discarded or dead, some at a
-- time, with an audit row.
--   $1  bigint   older than so many milliseconds
--   $2  integer  look at no more than this many
--   $3  text     actor
--   $4  text     reason, or null
--   $5  bigint   of ids above this
-- One row: how many went, and the id to go on after; null: the rest is new.
with page as materialized (
	select id, state <> 'pending' and finished_at
		< now() - $1::bigint * interval '1 ms' as is_final,
	    received_at < now() - $1::bigint * interval '1 ms' as is_old
	from webhook_inbox
	where id > $5
	order by id
	limit $2::integer
), old as materialized (
	select id from webhook_inbox
	where id = any (array(select id from page where is_old and is_final))
	    and state <> 'pending'
	for update skip locked
), gone as (
	delete from webhook_inbox t
	using old where t.id = old.id
	returning t.source, t.state
), summed as (
	insert into webhook_counters (name, label, outcome, shard, value)
	select 'messages_pruned', left(source, 200), state,
	    pg_backend_pid() % 16, count(*)
	from gone group by 2, 3 order by 2, 3
	on conflict (name, label, outcome, shard)
	do update set value = webhook_counters.value + excluded.value
), counted as materialized (
	select count(*) as n from gone
), told as (
	insert into webhook_audit (actor, tool, action, object, reason, detail)
	select $3, 'hook-prune', 'delete', 'table webhook_inbox', $4,
	    jsonb_build_object('rows', n)
	from counted where n > 0
)
select n, (select max(id) from page having bool_or(is_old))
from counted
