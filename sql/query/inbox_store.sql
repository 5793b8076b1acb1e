-- inbox_store: keep messages, each once.
--   $1  text[]   source
--   $2  text[]   message id
--   $3  text[]   event type, or null
--   $4  text[]   headers: name, value, name, ... with line ends between
--   $5  bytea[]  body
-- A row for each that is new, in the order given: source, message id.  Of two
-- alike in one call the first is kept.
insert into webhook_inbox (source, message_id, event_type, headers, body)
select source, message_id, event_type,
    string_to_array(headers, e'\n'), body
from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bytea[])
    as m (source, message_id, event_type, headers, body)
on conflict (source, message_id) do nothing
returning source, message_id
