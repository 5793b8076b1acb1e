-- reconcile-messages: do the counters of messages agree with what is there?
--   $1  bigint  so many are done, and
--   $2  bigint  so many were counted before that was seen
-- Rows as in reconcile-events, and none with kind null.
with sides as (
	select left(source, 200) as source, 0 as counted, 1 as there
	from webhook_inbox where state = 'dead'
	union all
	select label, case name when 'consumed' then value else -value end, 0
	from webhook_counters where outcome = 'dead' and name in
	    ('consumed', 'messages_reopened', 'messages_pruned')
), pair (name, counted, there) as (
	select 'consumed, dead, of ' || source, sum(counted), sum(there)
	from sides group by source having sum(counted) <> sum(there)
	union all
	select 'consumed, done', $2::bigint, $1::bigint
	where $1::bigint < $2::bigint
)
select 'counter' as kind, null::bigint as id, null::text as event_id,
    null::bigint as subscription_id, name || ': ' || counted
    || ' counted and not pruned, ' || there || ' there' as why,
    'find out who added, removed or moved messages by hand; then add the'
    ' difference to webhook_counters' as todo
from pair order by name
