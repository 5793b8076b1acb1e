-- await_deliveries: where an event's deliveries stand.
--   $1  text  event id
-- Rows, by id: the columns below.
select d.id, o.event_id, d.subscription_id, d.state, d.attempts,
    d.last_status, d.last_error
from webhook_outbox o
join webhook_deliveries d on d.outbox_id = o.id
where o.event_id = $1
order by d.id
