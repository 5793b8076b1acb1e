-- lane_page: the next due deliveries of lanes that this worker owns.
-- Arrays, one element a lane:
--   $1  bigint[]       subscription ids
--   $2  timestamptz[]  cursor: only rows after (this next_attempt_at,
--   $3  bigint[]       this id)
--   $4  integer[]      at most this many
--   $5  boolean[]      raw: no envelope
--   $6  bigint         payload bytes of one lane, about
-- Rows, by lane and then in sending order: subscription_id, id, event_id,
-- event_type, attempts, round_start, next_attempt_at, head (the envelope up
-- to the payload, null if raw), body (null: the outbox row is gone, or the
-- payload is over STORE_BODY_MAX), whether the body is a transform's, and the
-- row's order key (0 here).
--
-- "limit 1" makes the body be looked up by index: joined freely, a plan that
-- was made while the outbox was small reads all of it for each page.
--
-- A cursor, since rows that were sent stay in the index until a vacuum, which
-- somebody's open snapshot may put off for hours.
select w.subscription_id, d.id, d.event_id, d.event_type,
    d.attempts, d.round_start, d.next_attempt_at,
    case when not w.raw then '{"type":' || to_json(d.event_type)::text
	|| ',"timestamp":"' || to_char(greatest('0001-01-01Z', least(
	    o.created_at, '9999-12-31T23:59:59.999999Z')) at time zone 'UTC',
	    'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
	|| '","api_version":' || coalesce(to_json(o.api_version)::text, 'null')
	|| ',"id":"' || d.event_id || '","data":' end,
    case when d.payload_bytes <= 16777216
    then coalesce(d.body, o.payload::text) end, d.body is not null, 0::bigint
from unnest($1::bigint[], $2::timestamptz[], $3::bigint[], $4::integer[],
    $5::boolean[]) as w (subscription_id, after_at, after_id, room, raw)
cross join lateral (
	select f.*, sum(f.payload_bytes) over (
	    order by f.next_attempt_at, f.id) as so_far
	from (select * from webhook_deliveries_pending p
	    where p.subscription_id = w.subscription_id
		and p.next_attempt_at <= now()
		and (p.next_attempt_at, p.id) > (w.after_at, w.after_id)
	    order by p.next_attempt_at, p.id
	    limit w.room) f) d
left join lateral (select * from webhook_outbox
    where id = d.outbox_id and created_at = d.outbox_created_at
    limit 1) o on true
where d.so_far - d.payload_bytes <= $6
