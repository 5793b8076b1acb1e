-- inbox_claim: take messages that are due, or whose consumer's lease ran out.
--   $1  text         source
--   $2  text         only of this type, or null
--   $3  text         only of types that begin so and go on, or null
--   $4  timestamptz  after this next_attempt_at, and
--   $5  bigint       this id: the cursor, -infinity and 0 for the head
--   $6  integer      at most this many, and of 16 MiB or one more than that
--   $7  text         owner: this consumer's name
--   $8  bigint       lease, milliseconds
-- A row for each: id, fence, attempts (this one too), failures, takeovers,
-- order_key; and in every row, of which there is always one, the new cursor
-- (cursor_at, cursor_id) and more: look again at once.
--
-- A row that is claimed stays where it is in the index, and the cursor passes
-- it: what was claimed and done costs no later look, even while a snapshot
-- that somebody holds keeps its index entry from being removed.  What is
-- behind the cursor (a row that committed late, a lease that ran out) is
-- found by a look from the head, now and then.
--
-- Leases that ran out while nobody could reach the server say nothing about
-- their owners: those have 10 seconds (a lease, if that is longer) to return.
with due as materialized (
	select id, next_attempt_at, octet_length(body) as len
	from webhook_inbox
	where source = $1 and state = 'pending' and next_attempt_at <= now()
	    and (next_attempt_at, id) > ($4::timestamptz, $5::bigint)
	    and (owner is null or leased_until < now()
		and pg_postmaster_start_time() < now()
		    - greatest($8::bigint, 10000) * interval '1 ms')
	    and ($2::text is null or event_type = $2)
	    and ($3::text is null
		or starts_with(event_type, $3) and event_type <> $3)
	order by next_attempt_at, id
	limit $6::integer
	for no key update skip locked
), sized as materialized (
	select id, next_attempt_at, sum(len) over w - len as before
	from due window w as (order by next_attempt_at, id)
), taken as (
	update webhook_inbox i
	set owner = $7, fence = i.fence + 1,
	    leased_until = now() + $8::bigint * interval '1 ms',
	    attempts = i.attempts + 1,
	    takeovers = i.takeovers + (i.owner is not null)::integer
	from sized s
	where i.id = any (array[s.id]) and s.before < 16777216
	returning i.id, i.fence, i.attempts, i.failures, i.takeovers,
	    i.order_key, i.next_attempt_at
), upto as (
	select coalesce(n = $6::integer or n_taken < n, false) as more,
	    last_at, last_id
	from (select count(*) as n,
		count(*) filter (where before < 16777216) as n_taken
	    from sized) c
	left join lateral (select next_attempt_at as last_at, id as last_id
	    from sized where before < 16777216
	    order by next_attempt_at desc, id desc limit 1) l on true
)
select t.id, t.fence, t.attempts, t.failures, t.takeovers, t.order_key,
    case when more then last_at
	else greatest($4::timestamptz, now() - interval '500 ms') end
	as cursor_at,
    case when more then last_id
	when $4::timestamptz >= now() - interval '500 ms' then $5::bigint
	else 0 end as cursor_id, more
from upto left join taken t on true
order by t.next_attempt_at, t.id
