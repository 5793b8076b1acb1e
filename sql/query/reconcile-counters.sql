-- reconcile-counters: count the rest, in one snapshot with the counters.
--   $1  timestamptz  what was before has been counted:
--   $2  bigint       deliveries that were delivered,
--   $3  bigint       that were discarded,
--   $4  bigint       attempts
-- Rows as in reconcile-events, and none with kind null.
--
-- The dead are counted anew: a retry takes one out of any day.
with counter as materialized (
	select name, outcome, sum(value)::bigint as n
	from webhook_counters group by 1, 2
), done as materialized (
	select o.outcome, o.before + coalesce(d.n, 0) as n
	from (values ('delivered', $2::bigint), ('discarded', $3::bigint),
	    ('expired', 0), ('failed', 0)) as o (outcome, before)
	left join (
		select state, count(*) as n from webhook_deliveries
		where state in ('failed', 'expired')
		    or state in ('delivered', 'discarded')
			and finished_at >= $1::timestamptz
		group by state) d on d.state = o.outcome
), pair (name, counted, there) as (
	select 'deliveries_created', (select sum(n) from counter
		where name = 'deliveries_created'),
	    (select sum(n) from done)
	    + (select count(*) from webhook_deliveries_pending)
	    + coalesce((select sum(n) from counter
		where name = 'deliveries_pruned'), 0)
	union all
	select 'deliveries_finished, ' || outcome,
	    (select sum(case name when 'deliveries_reopened' then -n else n end)
		from counter c where c.outcome = done.outcome and name in
		    ('deliveries_finished', 'deliveries_reopened')),
	    n + coalesce((select sum(n) from counter c
		where c.outcome = done.outcome
		    and name = 'deliveries_pruned'), 0)
	from done
	union all
	select 'attempts', (select sum(n) from counter
		where name = 'attempts'),
	    (select count(*) from webhook_attempts
		where at >= $1::timestamptz)
	    + $4::bigint + coalesce((select sum(n) from counter
		where name = 'attempts_pruned'), 0)
)
select 'counter' as kind, null::bigint as id, null::text as event_id,
    null::bigint as subscription_id, name || ': ' || coalesce(counted, 0)
    || ' counted, ' || there || ' there or pruned' as why,
    'find out who added, removed or moved rows by hand; then add the'
    ' difference to webhook_counters' as todo
from pair where coalesce(counted, 0) <> there
