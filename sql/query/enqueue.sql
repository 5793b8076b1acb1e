-- enqueue: store one event, once per key.
--   $1  text  event type
--   $2  json  payload, kept byte for byte
--   $3  text  aggregate, or null
--   $4  text  api version, or null
--   $5  text  tenant, '' for none
--   $6  text  idempotency key, or null
--   $7  text  traceparent, or null
-- One row: the event's id; the first event's where the key was seen before.
select webhook_enqueue($1, $2, $3, $4, $5, $6, $7)
