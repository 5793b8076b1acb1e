-- inbox_renew: this consumer's handlers still run.
--   $1  text      owner
--   $2  bigint    lease, milliseconds
--   $3  bigint[]  message ids
--   $4  bigint[]  fences
--   $5  text[]    the senders' ids, as in inbox_ack
-- A row for each that is still ours: id.
-- A row that somebody holds locked is not waited for: the others' leases
-- would run out.
-- How it is looked up: as in inbox_ack.
with mine as materialized (
	select i.id from unnest($3::bigint[], $4::bigint[], $5::text[])
	    as m (id, fence, message_id)
	cross join lateral (
		select i.id from webhook_inbox i
		where i.id = any (array[m.id]) and i.fence = m.fence
		    and i.owner = $1
		    and i.message_id is not distinct from m.message_id
		for no key update skip locked) i
)
update webhook_inbox i
set leased_until = now() + $2::bigint * interval '1 ms'
from mine
where i.id = any (array[mine.id])
returning i.id
