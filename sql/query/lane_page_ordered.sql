-- lane_page_ordered: lane_page for lanes that keep each aggregate in order:
-- only the first waiting delivery of an aggregate, and only when it is due.
-- Parameters and rows as in lane_page, but the cursor runs over the aggregates'
-- hashes, not over time: $3 is the last order key seen, and order_key is
-- returned as the last column ($2 unused).
-- Aggregates are stepped through in the index, so a long line behind one of
-- them costs nothing.
with recursive head as (
	select w.subscription_id, w.room, w.raw, w.after_at, f.*, 1 as n
	from unnest($1::bigint[], $2::timestamptz[], $3::bigint[],
	    $4::integer[], $5::boolean[])
	    as w (subscription_id, after_at, after_key, room, raw)
	cross join lateral (
		select p.order_key, p.id, p.next_attempt_at
		from webhook_deliveries_pending p
		where p.subscription_id = w.subscription_id
		    and p.order_key > w.after_key
		order by p.order_key, p.outbox_id, p.id limit 1) f
	union all
	select h.subscription_id, h.room, h.raw, h.after_at, f.*,
	    h.n + (h.next_attempt_at <= now())::integer
	from head h
	cross join lateral (
		select p.order_key, p.id, p.next_attempt_at
		from webhook_deliveries_pending p
		where p.subscription_id = h.subscription_id
		    and p.order_key > h.order_key
		order by p.order_key, p.outbox_id, p.id limit 1) f
	where h.n + (h.next_attempt_at <= now())::integer <= h.room
)
select h.subscription_id, d.id, d.event_id, d.event_type,
    d.attempts, d.round_start, d.next_attempt_at,
    case when not h.raw then '{"type":' || to_json(d.event_type)::text
	|| ',"timestamp":"' || to_char(greatest('0001-01-01Z', least(
	    o.created_at, '9999-12-31T23:59:59.999999Z')) at time zone 'UTC',
	    'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
	|| '","api_version":' || coalesce(to_json(o.api_version)::text, 'null')
	|| ',"id":"' || d.event_id || '","data":' end,
    case when d.payload_bytes <= 16777216
    then coalesce(d.body, o.payload::text) end, d.body is not null, h.order_key
from head h
cross join lateral (select * from webhook_deliveries_pending
    where id = h.id limit 1) d
left join lateral (select * from webhook_outbox
    where id = d.outbox_id and created_at = d.outbox_created_at
    limit 1) o on true
where h.next_attempt_at <= now() and $6::bigint is not null
order by h.subscription_id, h.order_key
