-- prune-start: may this session prune, and is it the only one?
-- One row: the tables' owner, where the caller has not that role (null: it
-- has); whether it got the lock that makes it the only hook-prune, and keeps
-- hook-reconcile from counting meanwhile, until it ends.
select case when not pg_has_role(relowner, 'USAGE')
    then pg_get_userbyid(relowner) end,
    pg_try_advisory_lock(hashtextextended(
	'hookutils prune ' || current_schema(), 0))
from pg_class where oid = 'webhook_outbox'::regclass
