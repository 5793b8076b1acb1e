-- stat-facts: how the whole is.
--   $1  timestamptz  near_from, near_to: of stat-look; constants here, so
--   $2  timestamptz  that the server plans for these days only
--   $3  timestamptz  looked_at
--   $4  bigint       waiting, waiting_since of stat-look
--   $5  timestamptz
--   $6  bigint       dead, dead_since of stat-look
--   $7  timestamptz
--   $8  bigint       gave_up of stat-look: those since then are added
--   $9  timestamptz  partitions_until of stat-look
-- One row, whose columns hook-stat(1) describes.
--
-- However much there is, little is read: 10,000 events that wait, 128 pages
-- of the pending partition (some 5,000 deliveries; where it is larger, a
-- random choice of its pages, from which the rest is estimated), and what is
-- not well by indexes of its own.
with share as materialized (
	select pages <= 128 as whole,
	    least(100, 128 * 100.0 / greatest(pages, 1))::real as percent
	from (select pg_relation_size('webhook_deliveries_pending')
	    / current_setting('block_size')::bigint as pages) s
), unwell as materialized (
	select id, state, failing_since from webhook_subscriptions
	where state <> 'active' or failing_since is not null
), troubled as materialized (
	select subscription_id, breaker, hold_until from webhook_lanes
	where breaker = 'open' or hold_until is not null
), held as materialized (
	select id from unwell where state <> 'active'
	union
	select subscription_id from troubled where hold_until > now()
), pending as materialized (
	select count(*) as seen,
	    count(*) filter (where next_attempt_at > now()) as later,
	    count(*) filter (where next_attempt_at <= now()
		and subscription_id in (select id from held)) as held,
	    min(next_attempt_at) filter (where next_attempt_at <= now()
		and subscription_id not in (select id from held)) as due_since,
	    min(created_at) as since
	from webhook_deliveries_pending
	    tablesample system ((select percent from share))
), sized as materialized (
	select p.*, case when whole then p.seen
	    else greatest(p.seen, pg_stat_get_live_tuples(
		'webhook_deliveries_pending'::regclass)) end as total
	from pending p, share
), near as materialized (
	select count(*) as n, min(created_at) as since
	from (select created_at from webhook_outbox
	    where fanned_out_at is null and created_at > $1::timestamptz
		and created_at < $2::timestamptz
	    order by id limit 10001) w
), died as materialized (
	select coalesce(greatest(sum(value)::bigint - $8::bigint, 0), 0) as n
	from webhook_counters
	where name = 'deliveries_finished'
	    and outcome in ('failed', 'expired')
), subs as materialized (
	select case when reltuples > 20000 then reltuples::bigint
	    else (select count(*) from webhook_subscriptions) end as n
	from pg_class where oid = 'webhook_subscriptions'::regclass
), live as materialized (
	select tool, lanes, in_flight from webhook_workers
	where seen_at > now() - interval '20 s'
), seen as materialized (
	select label as tool, extract(epoch from now())::bigint - max(value)
	    as ago
	from webhook_counters where name = 'seen' group by 1
), expiring as materialized (
	select min(last) as at
	from (select max(k.expires_at) as last
	    from (select distinct subscription_id from webhook_secrets
		where expires_at > now()
		    and expires_at < now() + interval '30 d') e
	    join webhook_secrets k on k.subscription_id = e.subscription_id
	    group by k.subscription_id
	    having bool_and(k.expires_at is not null)
	    union all
	    select max(expires_at) from webhook_source_secrets
	    where purpose = 'signature'
	    group by source_id having bool_and(expires_at is not null)) l
	where last > now()
)
select least($4::bigint + near.n, 100001) as outbox_waiting,
    round(extract(epoch from now() - least($5::timestamptz, near.since)))
	::bigint as outbox_oldest_s,
    s.total as deliveries_pending,
    (not share.whole)::integer as deliveries_estimated,
    s.total - round(s.total * (s.later + s.held)::numeric
	/ greatest(s.seen, 1))::bigint as deliveries_due,
    round(s.total * s.held::numeric / greatest(s.seen, 1))::bigint
	as deliveries_held,
    round(s.total * s.later::numeric / greatest(s.seen, 1))::bigint
	as deliveries_scheduled,
    round(extract(epoch from now() - least(s.due_since, (
	select l.next_due_at from webhook_lanes l
	where not share.whole and l.owner is null and l.next_due_at < now()
	order by l.next_due_at limit 1))))::bigint as deliveries_due_oldest_s,
    round(extract(epoch from now() - s.since))::bigint
	as deliveries_oldest_s,
    (select coalesce(sum(in_flight), 0) from live)::bigint
	as deliveries_in_flight,
    least($6::bigint + died.n, 100001) as dead_deliveries,
    round(extract(epoch from now() - coalesce($7::timestamptz,
	case when died.n > 0 then $3::timestamptz end)))::bigint
	as dead_deliveries_oldest_s,
    (select count(*) from (select from webhook_inbox where state = 'dead'
	limit 10001) d) as dead_messages,
    (select count(*) from (select from webhook_inbox where state = 'pending'
	limit 10001) p) as inbox_pending,
    subs.n - (select count(*) from unwell where state <> 'active')
	as subscriptions_active,
    (select count(*) from unwell where state = 'paused')
	as subscriptions_paused,
    (select count(*) from unwell where state = 'disabled')
	as subscriptions_disabled,
    (select count(*) from unwell where state = 'active'
	and failing_since is not null) as subscriptions_failing,
    (select round(extract(epoch from now() - min(failing_since)))::bigint
	from unwell where state = 'active') as subscriptions_failing_oldest_s,
    (select count(*) from troubled where breaker = 'open') as breakers_open,
    subs.n - (select count(*) from troubled where breaker = 'open')
	as breakers_closed,
    (select coalesce(sum(lanes), 0) from live)::bigint as lanes_owned,
    (select count(*) from live where tool = 'hook-fanout')
	as workers_fanout,
    (select count(*) from live where tool = 'hook-deliver')
	as workers_deliver,
    (select count(*) from live where tool = 'hook-consume')
	as workers_consume,
    (select ago from seen where tool = 'hook-fanout') as fanout_seen_s,
    (select ago from seen where tool = 'hook-deliver') as deliver_seen_s,
    h.kind as snapshot_kind, h.pid as snapshot_pid, h.who as snapshot_who,
    h.application as snapshot_application,
    coalesce(round(extract(epoch from now() - h.since)), 0)::bigint
	as snapshot_s,
    coalesce(h.transactions, 0) as snapshot_transactions,
    coalesce(h.blind, false) as snapshot_blind,
    pg_notification_queue_usage() as notify_usage,
    round(extract(epoch from $9::timestamptz - now()))::bigint
	as partitions_ahead_s,
    (select round(extract(epoch from at - now()))::bigint from expiring)
	as secret_expires_s,
    (extract(epoch from clock_timestamp()) * 1000)::bigint as clock_ms
from sized s, share, near, died, subs
left join webhook_snapshot() h on true
