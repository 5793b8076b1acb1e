-- source_rm: remove a source with its secrets, and write down that it was.
-- What it sent stays in the inbox.
--   $1  text  name
--   $2  text  who
--   $3  text  why, or null
-- One row: id, name, scheme; none if there is no such source.
with gone as (
	delete from webhook_sources where name = $1
	returning id, name, scheme
), told as (
	insert into webhook_audit (actor, tool, action, object, reason)
	select $2, 'hook-source', 'rm', 'source ' || name, $3
	from gone
)
select id, name, scheme from gone
