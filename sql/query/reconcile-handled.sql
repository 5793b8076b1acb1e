-- reconcile-handled: count the next messages that are done.
--   $1  bigint   only ids above this
--   $2  integer  look at this many
-- One row: the last id looked at, or null; how many are done; and how many
-- consumers have counted that were not pruned.
--
-- What was counted when the first page is read is done by then, and stays so:
-- it is on some page.
select max(id) as id, count(*) filter (where state = 'done') as done,
    (select sum(case name when 'consumed' then value else -value end)
	from webhook_counters where outcome = 'done'
	    and name in ('consumed', 'messages_pruned')) as counted
from (select id, state from webhook_inbox
    where id > $1::bigint order by id limit $2::integer) m
