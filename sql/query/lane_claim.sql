-- lane_claim: take lanes that are due and free, or whose lease ran out.
--   $1  text     owner: this worker's name
--   $2  bigint   lease, milliseconds
--   $3  integer  at most this many
--   $4  boolean  also from others whose lease ran out
-- Rows: subscription_id, fence, taken over from a worker that did not give it
-- back, milliseconds until hold_until (negative: past), failures, breaker is
-- open, tokens as of now, milliseconds since then, was ours already.
-- next_due_at becomes the lease's end, so the same look finds a lane whose
-- owner died.  A lane taken over starts with an empty bucket: nobody knows
-- what the dead one sent last.
--
-- Leases that ran out while nobody could reach the server say nothing about
-- their owners: those have 10 seconds (a lease, if that is longer) to return.
with due as (
	select subscription_id, owner <> $1 is true as taken,
	    owner = $1 is true as own
	from webhook_lanes
	where next_due_at <= now()
	    and (owner is null or owner = $1
		or $4::boolean and pg_postmaster_start_time() < now()
		    - greatest($2::bigint, 10000) * interval '1 ms')
	order by next_due_at
	limit $3
	for no key update skip locked
)
update webhook_lanes l
set owner = $1, fence = l.fence + 1,
    leased_until = now() + $2::bigint * interval '1 ms',
    next_due_at = now() + $2::bigint * interval '1 ms',
    takeovers = l.takeovers + due.taken::integer,
    tokens = case when due.taken then 0 else l.tokens end,
    tokens_at = case when due.taken then now() else l.tokens_at end
from due
where l.subscription_id = any (array[due.subscription_id])
returning l.subscription_id, l.fence, due.taken,
    coalesce((extract(epoch from l.hold_until - now()) * 1000)::bigint, -1),
    l.failures, l.breaker = 'open', l.tokens,
    (extract(epoch from now() - l.tokens_at) * 1000)::bigint, due.own
