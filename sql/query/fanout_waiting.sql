-- fanout_waiting: what hook-fanout -n tells, and which event stands first.
--   $1  bigint  only outbox ids above this
--   $2  interval  only events created so long ago, or ahead; null: any time
-- One row: how many wait, the first one's outbox id and event id.
select count(*), min(id), min(event_id) filter (where first)
from (select id, event_id, row_number() over (order by id) = 1 as first
    from webhook_outbox where fanned_out_at is null and id > $1
	and created_at >= coalesce(now() - $2::interval, '-infinity')
	and created_at <= coalesce(now() + $2::interval, 'infinity')) w
