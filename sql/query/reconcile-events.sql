-- reconcile-events: the next events of the outbox against their deliveries.
--   $1  bigint       only ids above this
--   $2  timestamptz  created then or later, or null
--   $3  integer      at most this many events, of this many deliveries times 20
-- Rows: kind, id (of a delivery), event_id, subscription_id, why, todo: what is
-- wrong.  The first row has kind null, and as id the last outbox id looked at
-- (null: there are no more).
--
-- One statement has one snapshot, in which fan-out, replay and outcome are
-- whole, and a row that moves is in one place.  Deliveries are read by the
-- range of the events' ids: a few index scans, not one for each event.
--
-- What should have matched is known for subscriptions that were as they are
-- now when the event was fanned out.  Those that changed within the minute
-- before are left out: their change may have been committed just after it.
-- A test event goes to one subscription, whatever others want.
with batch as materialized (
	select * from (
		select o.*, sum(fanned_out_to) over (order by id) as so_far
		from (select id, created_at, event_id, event_type, tenant,
			aggregate_id, api_version, payload, fanned_out_at,
			fanned_out_to
		    from webhook_outbox
		    where id > $1::bigint
			and ($2::timestamptz is null or created_at >= $2)
		    order by id limit $3::integer) o) w
	where so_far is null or so_far - coalesce(fanned_out_to, 0)
	    <= $3::integer * 20
), found as materialized (
	select d.id, d.outbox_id, d.outbox_created_at, d.subscription_id,
	    d.replay_of
	from webhook_deliveries d
	where d.outbox_id >= (select min(id) from batch)
	    and d.outbox_id <= (select max(id) from batch)
), each as (
	select b.id, b.event_id, b.fanned_out_at, b.fanned_out_to,
	    count(f.id) as n,
	    count(f.id) filter (where f.replay_of is null) as made,
	    count(distinct f.subscription_id)
		filter (where f.replay_of is null) as subscriptions
	from batch b
	left join found f on f.outbox_id = b.id
	    and f.outbox_created_at = b.created_at
	group by 1, 2, 3, 4
), twice as (
	select outbox_id, outbox_created_at, subscription_id, max(id) as id
	from found where replay_of is null
	group by 1, 2, 3 having count(*) > 1
), bad as (
	select 'unstamped' as kind, null::bigint as id, event_id,
	    null::bigint as subscription_id,
	    'not fanned out, but has ' || n || ' deliveries' as why,
	    'stop hook-fanout; set fanned_out_at = now(), fanned_out_to = '
	    || made || ' where event_id = ''' || event_id || '''' as todo
	from each where fanned_out_at is null and n > 0
	union all
	select 'missing', null, event_id, null, 'became ' || fanned_out_to
	    || ' deliveries, of which ' || made || ' are there',
	    'hook-replay --fanout -e ' || event_id
	from each where made < fanned_out_to
	union all
	select 'surplus', null, event_id, null, 'became ' || fanned_out_to
	    || ' deliveries, but ' || made || ' are there',
	    'set fanned_out_to = ' || made || ' where event_id = '''
	    || event_id || ''''
	from each where made > fanned_out_to and made = subscriptions
	union all
	select 'doubled', t.id, b.event_id, t.subscription_id,
	    'a second delivery to this subscription, and no replay',
	    'if it waits, set state = ''discarded'', discarded = ''doubled'','
	    ' finished_at = now() where id = ' || t.id || '; and replay_of to'
	    ' the first one''s id'
	from twice t
	join batch b on b.id = t.outbox_id
	    and b.created_at = t.outbox_created_at
	union all
	select 'unmatched', null, b.event_id, s.id,
	    'matched this subscription, which has no delivery of it',
	    'hook-replay --fanout -s ' || s.id || ' -e ' || b.event_id
	from batch b
	join webhook_subscriptions s on s.tenant = b.tenant
	    and s.state <> 'disabled'
	    and s.updated_at < b.fanned_out_at - interval '1 minute'
    and (b.tenant <> '_ops' or not exists (
	select from webhook_subscriptions a
	where a.id = substring(b.aggregate_id
		from '^subscription ([0-9]{1,18})$')::bigint
	    and a.url = s.url
	    and starts_with(b.event_type, 'webhook.subscription.')))
	    and (s.api_version is null or s.api_version = b.api_version)
	    and (s.event_types && array['*', b.event_type]
		or exists (select from unnest(s.event_types) t
		    where right(t, 2) = '.*'
			and starts_with(b.event_type, left(t, -1))
			and length(b.event_type) >= length(t)))
	left join found f on f.outbox_id = b.id
	    and f.outbox_created_at = b.created_at
	    and f.subscription_id = s.id
	where f.id is null and b.event_type <> 'webhook.test'
	    and case when s.filter is null then true
		else webhook_filter(b.payload, s.filter) <> 'no' end
)
select null::text as kind, (select max(id) from batch) as id,
    null::text as event_id, null::bigint as subscription_id,
    null::text as why, null::text as todo
union all
select * from bad
