-- replay-events: the next events of a job become deliveries, as if new, to
-- the subscriptions of today.
--   $1  text         only this event id, or null
--   $2  text         only of this tenant, or null
--   $3  text         only of this event type, or null
--   $4  text         only of types that begin so and go on, or null
--   $5  timestamptz  created then or later, or null
--   $6  timestamptz  created before, or null
--   $7  bigint   only this subscription, or null
--   $8  boolean  force: also where a delivery exists, whatever its state
--   $9  bigint   job, or null: a dry run, nothing is changed
--   $10 bigint   its cursor; where it isn't, nothing is done
--   $11 bigint   outbox ids up to this
--   $12 integer  at most this many events
-- One row: events looked at, deliveries made (dry: to be made), last outbox
-- id, null where there was no event; the first event ids, a JSON array.
-- Matching is hook-fanout's (fanout.sql).  The caller holds replay-lock, so
-- that the snapshot here shows what another replay made.  "offset 0" and the
-- array hold the planner to the index, grouping instead of joining what may
-- be long to linear time, whatever the statistics say.
with job as materialized (
	select id from webhook_jobs
	where id = $9::bigint and cursor_id = $10::bigint
	    and state = 'running'
	for update
), batch as materialized (
	select o.id, o.created_at, o.event_id, o.event_type, o.aggregate_id,
	    o.payload, o.api_version, o.tenant, o.fanned_out_to,
	    octet_length(o.payload::text) as payload_bytes
	from webhook_outbox o
	where o.fanned_out_at is not null
	    and ($1::text is null or o.event_id = $1)
	    and ($2::text is null or o.tenant = $2)
	    and ($3::text is null or o.event_type = $3)
	    and ($4::text is null
		or starts_with(o.event_type, $4) and o.event_type <> $4)
	    and ($5::timestamptz is null or o.created_at >= $5)
	    and ($6::timestamptz is null or o.created_at < $6)
	    and o.id > $10::bigint and o.id <= $11::bigint
	    and ($9::bigint is null or exists (select from job))
	order by o.id
	limit $12::integer
), existing as materialized (
	select d.* from batch b
	cross join lateral (
		select outbox_id, subscription_id, id, replay_of
		from webhook_deliveries where outbox_id = b.id offset 0) d
), wanted as materialized (
	select outbox_id, subscription_id, max(verdict) as verdict,
	    max(delivery_id) as replay_of
	from (
		select b.id as outbox_id, s.id as subscription_id, v.verdict,
		    null::bigint as delivery_id
		from batch b
		join webhook_subscriptions s on s.tenant = b.tenant
		    and s.state <> 'disabled'
		    and ($7::bigint is null or s.id = $7)
		    and (b.tenant <> '_ops' or not exists (
			select from webhook_subscriptions a
			where a.id = substring(b.aggregate_id
				from '^subscription ([0-9]{1,18})$')::bigint
			    and a.url = s.url and starts_with(b.event_type,
				'webhook.subscription.')))
		    and (s.api_version is null
			or s.api_version = b.api_version)
		    and (s.event_types && array['*', b.event_type]
			or exists (select from unnest(s.event_types) t
			    where right(t, 2) = '.*'
				and starts_with(b.event_type, left(t, -1))
				and length(b.event_type) >= length(t)))
		cross join lateral (select case when s.filter is null
		    then 'yes' else webhook_filter(b.payload, s.filter) end
		    as verdict) v
		where v.verdict <> 'no'
		union all
		select outbox_id, subscription_id, null, id from existing) m
	group by outbox_id, subscription_id
	having max(verdict) is not null
	    and ($8::boolean or max(delivery_id) is null)
), locked as materialized (
	select l.subscription_id, l.ordered, l.hold_until,
	    l.owner is null and (l.next_due_at is null
		or l.next_due_at > now() - interval '5 s') as free
	from webhook_lanes l
	where l.subscription_id in (select subscription_id from wanted)
	    and $9::bigint is not null
	order by l.subscription_id
	for no key update of l
), made as (
	insert into webhook_deliveries (outbox_id, outbox_created_at,
	    event_id, event_type, subscription_id, state, give_up_at,
	    replay_of, order_key, payload_bytes, finished_at, last_error)
	select b.id, b.created_at, b.event_id, b.event_type,
	    w.subscription_id,
	    case w.verdict when 'yes' then 'pending' else 'failed' end,
	    now() + s.deadline_ms * interval '1 ms', w.replay_of,
	    case when k.ordered then hashtextextended(
		coalesce(b.aggregate_id, b.event_id), 0) end,
	    b.payload_bytes,
	    case w.verdict when 'yes' then null else now() end,
	    case w.verdict when 'yes' then null else w.verdict end
	from wanted w
	join batch b on b.id = w.outbox_id
	join webhook_subscriptions s on s.id = w.subscription_id
	join locked k on k.subscription_id = w.subscription_id
	order by b.id, w.subscription_id
	returning outbox_id, event_type, replay_of, finished_at
), became as materialized (
	select outbox_id, count(*) as n
	from (select outbox_id, replay_of from existing
	    union all select outbox_id, replay_of from made) e
	where replay_of is null
	group by outbox_id
), stamp as materialized (
	select b.id, b.created_at, coalesce(c.n, 0) as n
	from batch b left join became c on c.outbox_id = b.id
	where b.fanned_out_to <> coalesce(c.n, 0) and $9::bigint is not null
), stamped as (
	update webhook_outbox o
	set fanned_out_to = s.n
	from stamp s
	where o.id = any (array(select id from stamp))
	    and o.id = s.id and o.created_at = s.created_at
), lowered as (
	update webhook_lanes l
	set next_due_at = least(l.next_due_at - interval '1 us', due.at)
	from (select k.subscription_id, greatest(k.hold_until,
		case s.state when 'active' then now()
		else now() + s.deadline_ms * interval '1 ms' end) as at
	    from locked k
	    join webhook_subscriptions s on s.id = k.subscription_id
	    where k.free) due
	where l.subscription_id = due.subscription_id
), counted as (
	insert into webhook_counters (name, label, outcome, shard, value)
	select v.name, m.label, v.outcome, pg_backend_pid() % 16, v.n
	from (select left(event_type, 200) as label, count(*) as n,
		count(finished_at) as failed
	    from made group by 1) m
	cross join lateral (values ('deliveries_created', '', n),
	    ('deliveries_finished', 'failed', failed)) as v (name, outcome, n)
	where v.n > 0 order by 1, 2, 3
	on conflict (name, label, outcome, shard)
	do update set value = webhook_counters.value + excluded.value
), seen as materialized (
	select (select count(*) from batch) as events,
	    (select max(id) from batch) as last,
	    case when $9::bigint is null then (select count(*) from wanted)
		else (select count(*) from made) end as deliveries
), advanced as (
	update webhook_jobs j
	set cursor_id = seen.last, done = done + seen.events,
	    made = made + seen.deliveries, updated_at = now()
	from job, seen
	where j.id = job.id and seen.last is not null
)
select events, deliveries, last, (
	select json_agg(event_id) from (
		select event_id from batch where id in
		    (select outbox_id from wanted) order by id limit 10) f),
    case when (select exists (select from made))
	then pg_notify(webhook_channel('deliver'), '') end
from seen
