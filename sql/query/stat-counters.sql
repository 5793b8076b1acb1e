-- stat-counters: what the programs have counted.
-- Rows: name, outcome, label, value.  Of the event types those are named that
-- were counted first, 200 of them, so that a name never comes and goes; the
-- others are "other".
with counter as materialized (
	select name, label, outcome, min(since) as since, sum(value) as value,
	    name in ('attempts', 'deliveries_created', 'deliveries_finished')
		as of_type
	from webhook_counters group by 1, 2, 3
), known as materialized (
	select label from counter where of_type and label <> 'other'
	group by label order by min(since), label limit 200
)
select name, outcome, case when not of_type
	or label in (select label from known) then label else 'other' end
    as label, sum(value)::bigint as value
from counter group by 1, 2, 3 order by 1, 3, 2
