-- Counters that say how many deliveries there are of each outcome: what came
-- to it (deliveries_finished), without what left it (deliveries_reopened: it
-- was retried or dropped) and what hook-prune dropped (deliveries_pruned).
-- lock: none
-- read: webhook_deliveries

-- What was not counted before is made up for, so that it adds up from here.
-- Rows and counters are read in one snapshot, and who changes both in one
-- transaction changes no difference between them: so nobody is held up, and
-- who removes a subscription has counted since 0013.  Deliveries that were
-- delivered have always been counted.

with there as (
	select state as outcome, count(*) as n from webhook_deliveries
	where state in ('failed', 'expired', 'discarded') group by 1
	union all
	select outcome, case name when 'deliveries_pruned' then value
	    else -value end
	from webhook_counters
	where name in ('deliveries_finished', 'deliveries_pruned')
	    and outcome in ('failed', 'expired', 'discarded')
), missing as (
	select outcome, sum(n)::bigint as n from there group by 1
)
insert into webhook_counters as c (name, label, outcome, shard, value)
select case when n > 0 then 'deliveries_finished'
    else 'deliveries_reopened' end,
    case when n > 0 then 'other' else '' end, outcome, -1, abs(n)
from missing where n <> 0
on conflict (name, label, outcome, shard)
do update set value = c.value + excluded.value;
