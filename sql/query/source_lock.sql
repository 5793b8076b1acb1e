-- source_lock: wait for who changes a source, so that the next statement sees
-- what became of it.
--   $1  text  name of the source
-- One row: id; none if there is no such source.
select id from webhook_sources where name = $1 for no key update
