-- lane_next: how long may a worker sleep?
-- One row: milliseconds until the first lane is due, or null.
select (extract(epoch from next_due_at - now()) * 1000)::bigint
from webhook_lanes where next_due_at is not null
order by next_due_at limit 1
