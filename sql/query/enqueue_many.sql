-- enqueue_many: enqueue_lines for events none of which has an idempotency
-- key: one INSERT, several times as fast as a function call for each.
-- Arrays, one element an event:
--   $1  text[]  payloads, as JSON
--   $2  text[]  event types, as JSON strings; so are the others, or null
--   $3  text[]  aggregates
--   $4  text[]  api versions
--   $5  text[]  tenants
--   $6  text[]  traceparents
-- A row for each, in order: the event's id.
insert into webhook_outbox (payload, event_type, aggregate_id, api_version,
    tenant, traceparent)
select e.payload::json, e.event_type::json #>> '{}',
    e.aggregate_id::json #>> '{}', e.api_version::json #>> '{}',
    coalesce(e.tenant::json #>> '{}', ''), e.traceparent::json #>> '{}'
from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[],
    $6::text[]) with ordinality as e (payload, event_type, aggregate_id,
    api_version, tenant, traceparent, number)
order by e.number
returning event_id
