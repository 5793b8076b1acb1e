-- await_event: was an event fanned out?
--   $1  text  event id
-- One row: how many deliveries it became, null if not yet; none if there is
-- no such event.
select fanned_out_to from webhook_outbox where event_id = $1
