-- lane_tick: this worker lives: renew its leases, and learn what changed.
--   $1  text      owner: this worker's name
--   $2  text      tool
--   $3  bigint    lease, milliseconds
--   $4  boolean   hungry: has room and found no lane
--   $5  bigint[]  subscription ids
--   $6  bigint[]  fences
--   $7  integer   requests that are not answered yet
-- A row for each lane still owned: subscription_id, the subscription's
-- revision, milliseconds that its lease has left; another for each that was
-- renewed, likewise, without the revision; and one row with null, the lanes
-- of the hungriest other worker (null: none is), null, the server's clock
-- (unix milliseconds).
--
-- A lane that somebody holds locked (a long fan-out, an open transaction of
-- an operator) is not waited for: the others' leases would run out.
with beat as (
	insert into webhook_workers (name, tool, lanes, hungry, in_flight)
	values ($1, $2, cardinality($5::bigint[]), $4, $7::integer)
	on conflict (name) do update set seen_at = now(),
	    lanes = excluded.lanes, hungry = excluded.hungry,
	    in_flight = excluded.in_flight
), mine as materialized (
	select l.subscription_id, l.leased_until
	from unnest($5::bigint[], $6::bigint[]) as w (id, fence)
	join webhook_lanes l on l.subscription_id = any (array[w.id])
	    and l.fence = w.fence
	where l.owner = $1
), aging as materialized (
	select l.subscription_id from webhook_lanes l
	where l.subscription_id = any (array(select subscription_id from mine))
	    and l.owner = $1 and l.leased_until
		< now() + $3::bigint * interval '1 ms' * 0.7
	order by l.subscription_id
	for no key update of l skip locked
), renewed as (
	update webhook_lanes l
	set leased_until = now() + $3::bigint * interval '1 ms',
	    next_due_at = now() + $3::bigint * interval '1 ms'
	from aging a
	where l.subscription_id = any (array[a.subscription_id])
	    and l.owner = $1
	returning l.subscription_id
)
select m.subscription_id, s.revision,
    (extract(epoch from m.leased_until - now()) * 1000)::bigint, null::bigint
from mine m
join webhook_subscriptions s on s.id = any (array[m.subscription_id])
union all
select subscription_id, null, $3::bigint, null from renewed
union all
select null, (select min(w.lanes) from webhook_workers w
    where w.hungry and w.name <> $1 and w.tool = $2
	and w.seen_at > now() - interval '5 s')::bigint, null,
    (extract(epoch from clock_timestamp()) * 1000)::bigint
