-- Counters that say how many messages are done or dead: what came to it
-- (consumed), without what left it again (messages_reopened: a dead one was
-- retried or dropped) and what hook-prune deleted (messages_pruned).
-- lock: none
-- read: webhook_inbox

-- What was not counted before is made up for, as in 0014.  Applications ack
-- without counting, so more may be done than that.

with sides as (
	select left(source, 200) as label, state as outcome, -1 as n
	from webhook_inbox where state in ('done', 'dead')
	union all
	select label, outcome, case name when 'consumed' then value
	    else -value end
	from webhook_counters
	where name in ('consumed', 'messages_reopened', 'messages_pruned')
	    and outcome in ('done', 'dead')
), missing as (
	select label, outcome, sum(n)::bigint as n from sides group by 1, 2
)
insert into webhook_counters as c (name, label, outcome, shard, value)
select case when n > 0 then 'messages_pruned' else 'consumed' end,
    label, outcome, -1, abs(n)
from missing where n > 0 or n < 0 and outcome = 'dead'
on conflict (name, label, outcome, shard)
do update set value = c.value + excluded.value;
