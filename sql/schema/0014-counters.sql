-- Counters that say how many deliveries there are of each outcome: what came
-- to it (deliveries_finished), without what left it (deliveries_reopened: it
-- was retried or dropped) and what hook-prune dropped (deliveries_pruned).

-- As before, but what it discards is counted.  That is of the type "other",
-- in one row, on shards that nobody else writes, and after all else: a
-- transaction that removes more subscriptions than this one then goes on to
-- wait for nobody who waits for it.
create or replace function webhook_subscription_gone() returns trigger
language plpgsql security definer set search_path from current as $$
declare
	tries	integer := 0;
	n	bigint;
	total	bigint := 0;
begin
	perform from webhook_lanes where subscription_id = old.id for update;
	loop
		begin
			update webhook_deliveries d set state = 'discarded',
			    discarded = 'subscription removed',
			    finished_at = now()
			from (select id from webhook_deliveries_pending
			    where subscription_id = old.id
			    order by next_attempt_at desc, id desc
			    limit 1000) p
			where d.id = p.id and d.state = 'pending';
			get diagnostics n = row_count;
			exit when n = 0;
			total := total + n;
			tries := 0;
		exception when serialization_failure or deadlock_detected then
			tries := tries + 1;
			if tries > 100 then
				raise;
			end if;
		end;
	end loop;
	if total > 0 then
		insert into webhook_counters as c (name, label, outcome,
		    shard, value)
		values ('deliveries_finished', 'other', 'discarded',
		    -2 - pg_backend_pid() % 16, total)
		on conflict (name, label, outcome, shard)
		do update set value = c.value + excluded.value;
	end if;
	perform pg_notify(webhook_channel('deliver'), 'subscription');
	return old;
end
$$;

-- What was not counted before is made up for, so that it adds up from here.
-- Who is about to finish deliveries is waited for, and waits meanwhile.
-- Deliveries that were delivered have always been counted.
lock table webhook_deliveries in share mode;

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
