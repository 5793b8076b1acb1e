-- fanout: turn the next waiting events into deliveries, all in one statement,
-- so that a worker that is killed or frozen leaves either nothing or all.
--   $1  bigint   only outbox ids above this (a cursor: see hook-fanout.c)
--   $2  integer  at most this many events
--   $3  interval  only events created so long ago, or ahead; null: any time
-- One row: busy (another hook-fanout is at work: one at a time, so that
-- deliveries become visible in outbox order), events, deliveries, last id.
--
-- The advisory lock ends with the statement's own transaction, so a process
-- stopped for hours holds nothing.  Lanes are locked in id order, like
-- everywhere; a subscription removed meanwhile has no lane and gets nothing.
-- What is decided by a lane's columns is decided by the locked row, which may
-- be newer than this statement's snapshot: see the rule in lane_earliest.sql.
-- What _ops is told of a subscription (health.sql) goes to none with its URL.
-- $3 keeps partitions out of it that hold nothing new: the server then opens
-- three days of the outbox, not all of them, each time that it looks.
--
-- An id is an event's own, unless a producer has given it: of those that share
-- one, a statement takes one, as that is how an event is found again in here.
--
-- Subscriptions are matched once for all events of a kind, not for each: one
-- tenant may have 100,000 of them.  A filter reads the payload by itself.
--
-- The statement is planned once, before anything is known of sizes, and a
-- table that is small then may hold 100,000 rows a minute later.  So nothing is
-- joined freely: a table is looked up by index in a lateral subquery that
-- can't be taken apart (limit, offset), or by an array of ids; and what an
-- updated row gets is found in sorted arrays by width_bucket(), a binary
-- search.
with lock as materialized (
	select pg_try_advisory_xact_lock(
	    hashtextextended('hookutils fanout ' || current_schema(), 0)) as ok
), held as materialized (
	select o.id, o.created_at, o.event_id, o.event_type, o.aggregate_id,
	    o.api_version, o.tenant,
	    octet_length(o.payload::text) as payload_bytes
	from webhook_outbox o
	where o.fanned_out_at is null and o.id > $1
	    and o.created_at >= coalesce(now() - $3::interval, '-infinity')
	    and o.created_at <= coalesce(now() + $3::interval, 'infinity')
	    and (select ok from lock)
	order by o.id
	limit $2
	for no key update of o skip locked
), batch as materialized (
	select distinct on (id) * from held order by id, created_at
), kinds as materialized (
	select tenant, event_type, api_version, array_agg(id) as ids,
	    array_agg(created_at) as times, array_agg(event_id) as event_ids,
	    array_agg(aggregate_id) as about, array_agg(payload_bytes) as bytes
	from batch group by 1, 2, 3
), matched as materialized (
	select b.id as outbox_id, b.created_at, b.event_id, b.event_type,
	    b.aggregate_id, b.payload_bytes, b.subscription_id,
	    l.ordered, b.verdict,
	    now() + b.deadline_ms * interval '1 ms' as give_up_at,
	    l.owner is null and (l.next_due_at is null
		or l.next_due_at > now() - interval '5 s') as free,
	    greatest(l.hold_until, case b.state when 'active' then now()
		else now() + b.deadline_ms * interval '1 ms' end) as due_at
	from (select e.id, e.created_at, e.event_id, k.event_type,
		e.aggregate_id, e.payload_bytes, s.id as subscription_id,
		s.state, s.deadline_ms, v.verdict
	    from kinds k
	    cross join lateral (select id, state, deadline_ms, filter, url
		from webhook_subscriptions s
		where s.tenant = k.tenant and s.state <> 'disabled'
		    and (s.api_version is null
			or s.api_version = k.api_version)
		    and (s.event_types && array['*', k.event_type]
			or exists (select from unnest(s.event_types) t
			    where right(t, 2) = '.*'
				and starts_with(k.event_type, left(t, -1))
				and length(k.event_type) >= length(t)))
		offset 0) s
	    cross join lateral unnest(k.ids, k.times, k.event_ids, k.about,
		k.bytes) as e (id, created_at, event_id, aggregate_id,
		payload_bytes)
	    cross join lateral (select case when s.filter is null then 'yes'
		else coalesce((select webhook_filter(o.payload, s.filter)
		    from webhook_outbox o
		    where o.id = e.id and o.created_at = e.created_at
			and o.created_at >= coalesce(now() - $3::interval,
			    '-infinity')
			and o.created_at <= coalesce(now() + $3::interval,
			    'infinity')
		    limit 1), 'filter: the event is gone') end as verdict) v
	    where v.verdict <> 'no'
		and (k.tenant <> '_ops' or not exists (
		    select from webhook_subscriptions a
		    where a.id = substring(e.aggregate_id
			    from '^subscription ([0-9]{1,18})$')::bigint
			and a.url = s.url and starts_with(k.event_type,
			    'webhook.subscription.')))
	    order by s.id) b
	cross join lateral (select ordered, owner, next_due_at, hold_until
	    from webhook_lanes l where l.subscription_id = b.subscription_id
	    limit 1
	    for no key update of l) l
), tally as materialized (
	select array_agg(id order by id, created_at) as ids,
	    array_agg(created_at order by id, created_at) as times,
	    array_agg(n::integer order by id, created_at) as counts,
	    min(created_at) as first, max(created_at) as last
	from (select id, created_at, sum(n) as n
	    from (select id, created_at, 0 as n from batch
		union all
		select outbox_id, created_at, 1 from matched) as each
	    group by id, created_at) became
), due as materialized (
	select array_agg(subscription_id order by subscription_id) as ids,
	    array_agg(at order by subscription_id) as times
	from (select subscription_id, min(due_at) as at
	    from matched where free group by subscription_id) f
), made as (
	insert into webhook_deliveries (outbox_id, outbox_created_at,
	    event_id, event_type, subscription_id, state, give_up_at,
	    order_key, payload_bytes, finished_at, last_error)
	select outbox_id, created_at, event_id, event_type, subscription_id,
	    case verdict when 'yes' then 'pending' else 'failed' end,
	    give_up_at,
	    case when ordered then hashtextextended(
		coalesce(aggregate_id, event_id), 0) end,
	    payload_bytes,
	    case verdict when 'yes' then null else now() end,
	    case verdict when 'yes' then null else verdict end
	from matched
	order by outbox_id, subscription_id
	returning event_type, finished_at
), stamped as (
	update webhook_outbox o
	set fanned_out_at = now(), fanned_out_to = (select counts from tally)
	    [width_bucket(o.id, (select ids from tally))]
	where o.id = any ((select ids from tally)::bigint[])
	    and o.created_at = (select times from tally)
		[width_bucket(o.id, (select ids from tally))]
	    and o.created_at between (select first from tally)
		and (select last from tally)
	    and o.created_at >= coalesce(now() - $3::interval, '-infinity')
	    and o.created_at <= coalesce(now() + $3::interval, 'infinity')
), lowered as (
	update webhook_lanes l
	set next_due_at = least(l.next_due_at - interval '1 us',
	    (select times from due)
	    [width_bucket(l.subscription_id, (select ids from due))])
	where l.subscription_id = any ((select ids from due)::bigint[])
), counted as (
	insert into webhook_counters (name, label, outcome, shard, value)
	select c.* from (
		select v.name, m.label, v.outcome,
		    (pg_backend_pid() % 16)::smallint, v.n
		from (select left(event_type, 200) as label, count(*) as n,
			count(finished_at) as failed
		    from made group by 1) m
		cross join lateral (values
		    ('deliveries_created', '', n),
		    ('deliveries_finished', 'failed', failed))
		    as v (name, outcome, n)
		where v.n > 0
		union all
		select 'events_fanned_out', '', '', pg_backend_pid() % 16,
		    count(*)
		from batch having count(*) > 0
		union all
		select 'fanout_ms_sum', '', '', pg_backend_pid() % 16,
		    sum(case when isfinite(created_at) then greatest(extract(
			epoch from now() - created_at) * 1000, 0) else 0 end)
			::bigint
		from batch having count(*) > 0
		order by 1, 2, 3) c
	on conflict (name, label, outcome, shard)
	do update set value = webhook_counters.value + excluded.value
)
select not (select ok from lock), (select count(*) from batch), c.n,
    (select max(id) from batch),
    case when c.n > 0 then pg_notify(webhook_channel('deliver'), '') end
from (select count(*) as n from made) c
