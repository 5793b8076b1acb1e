-- replay-pick: the next deliveries of a replay's job.
--   $1  text[]       in these states
--   $2  text         only of this event id, or null
--   $3  bigint       only of this subscription, or null
--   $4  text         only of this tenant, or null
--   $5  text         only of this event type, or null
--   $6  text         only of types that begin so and go on, or null
--   $7  timestamptz  created then or later, or null
--   $8  timestamptz  created before, or null
--   $9  bigint   ids above this (the job's cursor)
--   $10 bigint   and not above this: what the replay makes is no part of it
--   $11 integer  at most this many
-- One row: ids, an array (null: there are no more); how many; the last one.
with page as materialized (
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
	    and d.id > $9::bigint and d.id <= $10::bigint
	order by d.id
	limit $11::integer
)
select array_agg(id), count(*), max(id) from page
