-- body_set: keep what a transform made, before it is sent for the first time.
--   $1  bigint  delivery id
--   $2  bigint  subscription id
--   $3  bigint  fence
--   $4  text    the body
--   $5  text    event id, as in finish
-- A row if it was kept: the body that counts (an earlier owner's, if any).
update webhook_deliveries_pending d
set body = coalesce(d.body, $4)
where d.id = $1 and d.event_id = $5 and exists (select from webhook_lanes l
    where l.subscription_id = $2 and l.fence = $3)
returning d.body
