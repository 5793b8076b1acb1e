-- lane_rest: give lanes back (1 of 2).  Each is free and due again in a
-- second, whatever happens to us; lane_earliest then puts the real time.
-- Arrays, one element a lane, as in lane_state:
--   $1  bigint[]   subscription ids
--   $2  bigint[]   fences
--   $3  bigint[]   hold, milliseconds from now (negative: none)
--   $4  integer[]  failures since the last success
--   $5  boolean[]  breaker open
--   $6  integer[]  thousandths of a token, as of now
-- Rows: subscription_id, fence, next_due_at: what lane_earliest takes.  One
-- that is missing is locked, or not ours any more.
with mine as materialized (
	select w.* from unnest($1::bigint[], $2::bigint[], $3::bigint[],
	    $4::integer[], $5::boolean[], $6::integer[])
	    as w (id, fence, hold_ms, failures, open, tokens)
	join webhook_lanes l on l.subscription_id = any (array[w.id])
	    and l.fence = w.fence
	where l.owner is not null
	order by w.id
	for no key update of l skip locked
)
update webhook_lanes l
set owner = null, leased_until = null,
    next_due_at = now() + interval '1 s',
    hold_until = case when m.hold_ms >= 0
	then now() + m.hold_ms * interval '1 ms' end,
    failures = m.failures,
    breaker = case when m.open then 'open' else 'closed' end,
    tokens = m.tokens / 1000.0, tokens_at = now()
from mine m
where l.subscription_id = any (array[m.id]) and l.fence = m.fence
returning l.subscription_id, l.fence, l.next_due_at
