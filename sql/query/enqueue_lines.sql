-- enqueue_lines: store events, in order.
-- Arrays, one element an event:
--   $1  text[]  payloads, as JSON
--   $2  text[]  event types, as JSON strings; so are the others, or null
--   $3  text[]  aggregates
--   $4  text[]  api versions
--   $5  text[]  tenants
--   $6  text[]  idempotency keys
--   $7  text[]  traceparents
-- A row for each, in order: the event's id.
select webhook_enqueue(event_type => e.event_type::json #>> '{}',
    payload => e.payload::json,
    aggregate_id => e.aggregate_id::json #>> '{}',
    api_version => e.api_version::json #>> '{}',
    tenant => coalesce(e.tenant::json #>> '{}', ''),
    idempotency_key => e.idempotency_key::json #>> '{}',
    traceparent => e.traceparent::json #>> '{}')
from (select * from unnest($1::text[], $2::text[], $3::text[], $4::text[],
    $5::text[], $6::text[], $7::text[]) with ordinality
    as u (payload, event_type, aggregate_id, api_version, tenant,
	idempotency_key, traceparent, number)
    order by number) e
