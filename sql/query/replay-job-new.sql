-- replay-job-new: start a job.
--   $1  text         deliveries, or outbox
--   $2  text[]       states, or null
--   $3  text         event id, or null
--   $4  bigint       subscription, or null
--   $5  text         tenant, or null
--   $6  text         event type, or null
--   $7  text         beginning of types, or null
--   $8  timestamptz  since, or null
--   $9  timestamptz  until, or null
--   $10 boolean      force
--   $11 bigint       last id of it
--   $12 bigint       how many there are
--   $13 double precision  at most this many deliveries a second, or null
--   $14 text         actor
--   $15 text         reason, or null
-- One row: its id, its cursor (below the first event's id).
with made as (
	insert into webhook_jobs (kind, query, total, rate_per_second, actor,
	    reason, cursor_id)
	values ($1, jsonb_strip_nulls(jsonb_build_object(
		'states', $2::text[], 'event_id', $3::text,
		'subscription_id', $4::bigint, 'tenant', $5::text,
		'event_type', $6::text, 'event_type_prefix', $7::text,
		'since', $8::timestamptz, 'until', $9::timestamptz,
		'force', $10::boolean, 'last_id', $11::bigint)),
	    $12, $13, $14, $15,
	    case when $1 = 'outbox' then least(0, (
		select greatest(min(id), -9223372036854775807) - 1
		from webhook_outbox)) else 0 end)
	returning id, query, cursor_id
), told as (
	insert into webhook_audit (actor, tool, action, object, reason, detail)
	select $14, 'hook-replay', 'replay', 'job ' || id, $15, query
	from made
)
select id, cursor_id from made
