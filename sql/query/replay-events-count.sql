-- replay-events-count: the events that a replay from the outbox would look
-- at; one that hook-fanout has not seen yet is none of them.
--   $1  text         only this event id, or null
--   $2  text         only of this tenant, or null
--   $3  text         only of this event type, or null
--   $4  text         only of types that begin so and go on, or null
--   $5  timestamptz  created then or later, or null
--   $6  timestamptz  created before, or null
-- One row: how many; the greatest outbox id (0: none).
select count(*), coalesce(max(id), 0)
from webhook_outbox
where fanned_out_at is not null
    and ($1::text is null or event_id = $1)
    and ($2::text is null or tenant = $2)
    and ($3::text is null or event_type = $3)
    and ($4::text is null
	or starts_with(event_type, $4) and event_type <> $4)
    and ($5::timestamptz is null or created_at >= $5)
    and ($6::timestamptz is null or created_at < $6)
