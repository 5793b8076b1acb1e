-- reconcile-counters: count the rest, in one snapshot with the counters.
--   $1  timestamptz  what was before has been counted:
--   $2  bigint       deliveries that are done,
--   $3  bigint       those of them that were delivered,
--   $4  bigint       attempts
-- Rows as in reconcile-events, and none with kind null.
with counter as materialized (
	select name, outcome, sum(value)::bigint as n
	from webhook_counters group by 1, 2
), open as materialized (
	select (select count(*) from webhook_deliveries_pending)
	    + (select count(*) from webhook_deliveries
		where state in ('failed', 'expired')) as undone,
	    d.n as done, d.delivered,
	    (select count(*) from webhook_attempts
		where at >= $1::timestamptz) as attempts
	from (select count(*) as n,
		count(*) filter (where state = 'delivered') as delivered
	    from webhook_deliveries
	    where state in ('delivered', 'discarded')
		and finished_at >= $1::timestamptz) d
), pair (name, counted, there) as (
	select 'deliveries_created', (select sum(n) from counter
		where name = 'deliveries_created'),
	    undone + done + $2::bigint + coalesce((select sum(n) from counter
		where name = 'deliveries_pruned'), 0)
	from open
	union all
	select 'deliveries_finished, delivered', (select sum(n) from counter
		where name = 'deliveries_finished' and outcome = 'delivered'),
	    delivered + $3::bigint + coalesce((select sum(n) from counter
		where name = 'deliveries_pruned' and outcome = 'delivered'), 0)
	from open
	union all
	select 'attempts', (select sum(n) from counter
		where name = 'attempts'),
	    attempts + $4::bigint + coalesce((select sum(n) from counter
		where name = 'attempts_pruned'), 0)
	from open
)
select 'counter' as kind, null::bigint as id, null::text as event_id,
    null::bigint as subscription_id, name || ': ' || coalesce(counted, 0)
    || ' counted, ' || there || ' there or pruned' as why,
    'find out who added or removed rows by hand; then add the difference to'
    ' webhook_counters' as todo
from pair where coalesce(counted, 0) <> there
