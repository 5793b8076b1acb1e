-- replay-count: the deliveries that a replay would look at.
--   $1  text[]       in these states
--   $2  text         only of this event id, or null
--   $3  bigint       only of this subscription, or null
--   $4  text         only of this tenant, or null
--   $5  text         only of this event type, or null
--   $6  text         only of types that begin so and go on, or null
--   $7  timestamptz  created then or later, or null
--   $8  timestamptz  created before, or null
-- One row: how many; the greatest id (0: none); the first ids, a JSON array.
-- What was created since finished since: that leaves older days alone.
with found as materialized (
	select d.id
	from webhook_deliveries d
	left join webhook_subscriptions s on s.id = d.subscription_id
	where d.state = any ($1::text[])
	    and ($2::text is null or d.outbox_id = any (array(
		select id from webhook_outbox where event_id = $2)))
	    and ($3::bigint is null or d.subscription_id = $3)
	    and ($4::text is null or s.tenant = $4)
	    and ($5::text is null or d.event_type = $5)
	    and ($6::text is null
		or starts_with(d.event_type, $6) and d.event_type <> $6)
	    and ($7::timestamptz is null
		or d.created_at >= $7 and d.finished_at >= $7)
	    and ($8::timestamptz is null or d.created_at < $8)
)
select count(*) as deliveries, coalesce(max(id), 0) as last_id,
    coalesce((select json_agg(id) from (select id from found
	order by id limit 10) f), '[]') as first
from found
