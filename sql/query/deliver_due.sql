-- deliver_due: what hook-deliver -n tells.
-- One row: lanes that are due, lanes that a worker holds, deliveries pending.
select (select count(*) from webhook_lanes where next_due_at <= now()),
    (select count(*) from webhook_lanes where owner is not null),
    (select count(*) from webhook_deliveries_pending)
