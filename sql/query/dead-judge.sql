-- dead-judge: which of these messages may be retried or dropped, or why not.
--   $1  bigint[]  ids
--   $2  bigint[]  leave these out: they were done just now
--   $3  boolean   only those that may be
-- Rows: id, event_id, subscription_id, state, why (null where it may be).
select 'm' || id as id, event_id, null::bigint as subscription_id, state, why
from (
	select a.id, i.message_id as event_id, i.state,
	    case when i.id is null then 'no such message'
		when i.state <> 'dead'
		then 'not in the dead-letter queue: ' || i.state end as why
	from (select distinct id from unnest($1::bigint[]) as u (id)
	    where id <> all ($2::bigint[])) a
	left join webhook_inbox i on i.id = a.id) j
where why is null or not $3::boolean
order by j.id
