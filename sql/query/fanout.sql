-- fanout: turn the next waiting events into deliveries, all in one statement,
-- so that a worker that is killed or frozen leaves either nothing or all.
--   $1  bigint   only outbox ids above this (a cursor: see hook-fanout.c)
--   $2  integer  at most this many events
-- One row: busy (another hook-fanout is at work: one at a time, so that
-- deliveries become visible in outbox order), events, deliveries, last id.
--
-- The advisory lock ends with the statement's own transaction, so a process
-- stopped for hours holds nothing.  Lanes are locked in id order, like
-- everywhere; a subscription removed meanwhile has no lane and gets nothing.
with lock as materialized (
	select pg_try_advisory_xact_lock(
	    hashtextextended('hookutils fanout ' || current_schema(), 0)) as ok
), batch as materialized (
	select o.id, o.created_at, o.event_id, o.event_type, o.aggregate_id,
	    o.payload, o.api_version, o.tenant,
	    octet_length(o.payload::text) as payload_bytes
	from webhook_outbox o
	where o.fanned_out_at is null and o.id > $1
	    and (select ok from lock)
	order by o.id
	limit $2
	for no key update of o skip locked
), matched as materialized (
	select b.id as outbox_id, s.id as subscription_id, s.state, s.ordered,
	    s.deadline_ms, v.verdict
	from batch b
	join webhook_subscriptions s on s.tenant = b.tenant
	    and s.state <> 'disabled'
	    and (s.api_version is null or s.api_version = b.api_version)
	    and (s.event_types && array['*', b.event_type]
		or exists (select from unnest(s.event_types) t
		    where right(t, 2) = '.*'
			and starts_with(b.event_type, left(t, -1))
			and length(b.event_type) >= length(t)))
	cross join lateral (select case when s.filter is null then 'yes'
	    else webhook_filter(b.payload, s.filter) end as verdict) v
	where v.verdict <> 'no'
), locked as materialized (
	select l.subscription_id, l.next_due_at, l.hold_until, l.owner
	from webhook_lanes l
	where l.subscription_id in (select subscription_id from matched)
	order by l.subscription_id
	for no key update of l
), made as (
	insert into webhook_deliveries (outbox_id, outbox_created_at,
	    event_id, event_type, subscription_id, state, give_up_at,
	    order_key, payload_bytes, finished_at, last_error)
	select b.id, b.created_at, b.event_id, b.event_type,
	    m.subscription_id,
	    case m.verdict when 'yes' then 'pending' else 'failed' end,
	    now() + m.deadline_ms * interval '1 ms',
	    case when m.ordered then hashtextextended(
		coalesce(b.aggregate_id, b.event_id), 0) end,
	    b.payload_bytes,
	    case m.verdict when 'yes' then null else now() end,
	    case m.verdict when 'yes' then null else m.verdict end
	from matched m
	join batch b on b.id = m.outbox_id
	join locked using (subscription_id)
	order by b.id, m.subscription_id
	returning outbox_id, event_type
), became as materialized (
	select outbox_id, count(*) as n from made group by outbox_id
), stamped as (
	update webhook_outbox o
	set fanned_out_at = now(), fanned_out_to = coalesce(c.n, 0)
	from batch b left join became c on c.outbox_id = b.id
	where o.id = b.id and o.created_at = b.created_at
), lowered as (
	update webhook_lanes l
	set next_due_at = due.at
	from (select m.subscription_id, greatest(k.hold_until,
		min(case m.state when 'active' then now()
		    else now() + m.deadline_ms * interval '1 ms' end)) as at
	    from matched m join locked k using (subscription_id)
	    where k.owner is null
	    group by m.subscription_id, k.hold_until, k.next_due_at
	    having k.next_due_at is null or k.next_due_at > greatest(
		k.hold_until, min(case m.state when 'active' then now()
		    else now() + m.deadline_ms * interval '1 ms' end))) due
	where l.subscription_id = due.subscription_id and l.owner is null
), counted as (
	insert into webhook_counters (name, label, shard, value)
	select 'deliveries_created', event_type, pg_backend_pid() % 16,
	    count(*)
	from made group by event_type order by event_type
	on conflict (name, label, outcome, shard)
	do update set value = webhook_counters.value + excluded.value
)
select not (select ok from lock), (select count(*) from batch), c.n,
    (select max(id) from batch),
    case when c.n > 0 then pg_notify(webhook_channel('deliver'), '') end
from (select coalesce(sum(n), 0) as n from became) c
