-- inbox_renew: this consumer's handlers still run.
--   $1  text      owner
--   $2  bigint    lease, milliseconds
--   $3  bigint[]  message ids
--   $4  bigint[]  fences
-- A row for each that is still ours: id.
-- A row that somebody holds locked is not waited for: the others' leases
-- would run out.
with mine as (
	select i.id from unnest($3::bigint[], $4::bigint[]) as m (id, fence)
	join webhook_inbox i on i.id = m.id and i.fence = m.fence
	where i.owner = $1 and i.state = 'pending'
	order by i.id
	for no key update of i skip locked
)
update webhook_inbox i
set leased_until = now() + $2::bigint * interval '1 ms'
from mine
where i.id = mine.id
returning i.id
