-- What hook-stat(1) shows beside the counters: samples of these, so that it
-- can say what the last hour was; and what takes too long to be looked at
-- each time, looked at once a minute by whichever follower comes first.
-- lock: webhook_workers, access exclusive
-- lock: webhook_counters, access exclusive
-- lock: webhook_lanes, share
-- lock: webhook_subscriptions, share
-- lock: webhook_secrets, share

-- Tables are locked in the order that followers' statements lock them in, so
-- that neither waits for the other.

alter table webhook_workers
    add column in_flight integer not null default 0;
comment on column webhook_workers.in_flight is
    'requests that it has sent and that were not answered, a second ago';

-- What is not well is found without looking at what is.
create index webhook_lanes_troubled on webhook_lanes (subscription_id)
    where breaker = 'open' or hold_until is not null;
create index webhook_subscriptions_unwell on webhook_subscriptions (id)
    where state <> 'active' or failing_since is not null;
create index webhook_secrets_expiring on webhook_secrets (expires_at)
    where expires_at is not null;

-- By this a reader tells the first 200 event types from those that came
-- later, and always the same ones.
alter table webhook_counters
    add column since timestamptz not null default now();
comment on column webhook_counters.since is
    'when it was first counted';

create table webhook_samples (
	at		timestamptz primary key,
	counts		jsonb not null,
	waiting		bigint not null,
	waiting_since	timestamptz,
	dead		bigint not null,
	dead_since	timestamptz,
	partitions_until timestamptz,
	tables		jsonb not null,
	audit_id	bigint not null
);

comment on table webhook_samples is
    'one a minute, of the last 25 hours: what hook-stat compares with';
comment on column webhook_samples.counts is
    'webhook_counters summed: name and outcome, with a space between';
comment on column webhook_samples.waiting is
    'events not fanned out and created over a day ago, or ahead; up to 100,001';
comment on column webhook_samples.dead is
    'deliveries in the dead-letter queue; up to 100,001';
comment on column webhook_samples.partitions_until is
    'up to then each table has a partition for every day; null: not today';
comment on column webhook_samples.tables is
    'bytes and partitions of each, as vacuum last saw them';
comment on column webhook_samples.audit_id is
    'the newest of webhook_audit: after an operator''s act it is looked again';

-- Who removes a subscription, as before, but what it discards is counted: from
-- the next one on, since an index above has waited for those under way.  That
-- is of the type "other", in one row, on shards that nobody else writes, and
-- after all else: a transaction that removes more subscriptions than this one
-- then goes on to wait for nobody who waits for it.
create or replace function webhook_subscription_gone() returns trigger
language plpgsql security definer set search_path from current as $$
declare
	tries	integer := 0;
	n	bigint;
	total	bigint := 0;
begin
	perform from webhook_lanes where subscription_id = old.id for update;
	loop
		begin
			update webhook_deliveries d set state = 'discarded',
			    discarded = 'subscription removed',
			    finished_at = now()
			from (select id from webhook_deliveries_pending
			    where subscription_id = old.id
			    order by next_attempt_at desc, id desc
			    limit 1000) p
			where d.id = p.id and d.state = 'pending';
			get diagnostics n = row_count;
			exit when n = 0;
			total := total + n;
			tries := 0;
		exception when serialization_failure or deadlock_detected then
			tries := tries + 1;
			if tries > 100 then
				raise;
			end if;
		end;
	end loop;
	if total > 0 then
		insert into webhook_counters as c (name, label, outcome,
		    shard, value)
		values ('deliveries_finished', 'other', 'discarded',
		    -2 - pg_backend_pid() % 16, total)
		on conflict (name, label, outcome, shard)
		do update set value = c.value + excluded.value;
	end if;
	perform pg_notify(webhook_channel('deliver'), 'subscription');
	return old;
end
$$;

-- The look itself.  All days are opened, and thousands of table entries read.
create function webhook_look(out waiting bigint,
	out waiting_since timestamptz, out dead bigint,
	out dead_since timestamptz, out partitions_until timestamptz,
	out tables jsonb, out audit_id bigint)
language plpgsql stable security definer set search_path from current
set enable_seqscan = on set enable_hashjoin = on set enable_mergejoin = on
as $$
begin
	select count(*), min(created_at) into waiting, waiting_since
	from (select o.created_at from webhook_outbox o
	    where o.fanned_out_at is null
		and (o.created_at <= now() - interval '1 day'
		or o.created_at >= now() + interval '1 day')
	    limit 100001) w;
	select count(*), min(finished_at) into dead, dead_since
	from (select d.finished_at from webhook_deliveries_dead d
	    limit 100001) d;
	select case when bool_and(today) then min(until_at) end
	into partitions_until
	from (select bool_or(p.from_at <= now() and p.until_at > now())
		    is true as today, max(p.until_at) as until_at
	    from unnest(array['webhook_outbox', 'webhook_attempts',
		'webhook_deliveries_done', 'webhook_deliveries_dead'])
		as t (parent)
	    left join webhook_partitions p on p.parent = t.parent
	    group by t.parent) p;
	select jsonb_object_agg(name, jsonb_build_array(bytes, parts))
	into tables
	from (select root.relname as name, count(t.relid) as parts,
		sum((c.relpages + coalesce(i.pages, 0))::bigint)
		    * current_setting('block_size')::bigint as bytes
	    from pg_class root
	    left join lateral pg_partition_tree(root.oid) t on t.isleaf
	    join pg_class c on c.oid = coalesce(t.relid, root.oid)
	    left join lateral (select sum(x.relpages) as pages
		from pg_index ix join pg_class x on x.oid = ix.indexrelid
		where ix.indrelid = c.oid) i on true
	    where root.relnamespace = (select relnamespace from pg_class
		    where oid = 'webhook_outbox'::regclass)
		and root.relkind in ('r', 'p') and not root.relispartition
		and starts_with(root.relname, 'webhook_')
	    group by root.relname) s;
	select coalesce(max(id), 0) into audit_id from webhook_audit;
end
$$;

-- A follower lives; and the minute's sample, if there is none yet.  Nothing
-- in here waits for a lock that is held for long.
--
-- Event types beyond the first 200 are counted together from then on, so that
-- no producer can make the counters too many to be read.
create function webhook_sample(tool text) returns void
language plpgsql security definer set search_path from current
set enable_seqscan = on set enable_hashjoin = on set enable_mergejoin = on
as $$
begin
	insert into webhook_counters as c (name, label, value)
	values ('seen', tool, extract(epoch from now())::bigint)
	on conflict (name, label, outcome, shard)
	do update set value = greatest(c.value, excluded.value);

	if not pg_try_advisory_xact_lock(hashtextextended(
	    'hookutils sample ' || current_schema(), 0)) or exists (
	    select from webhook_samples where at > now() - interval '55 s')
	    then
		return;
	end if;
	insert into webhook_samples (at, counts, waiting, waiting_since, dead,
	    dead_since, partitions_until, tables, audit_id)
	select now(), (select coalesce(jsonb_object_agg(key, n), '{}')
		from (select name || ' ' || outcome as key, sum(value) as n
		    from webhook_counters where name <> 'seen'
		    group by 1) c), l.*
	from webhook_look() l;
	delete from webhook_samples where at < now() - interval '25 hours';

	with more as materialized (
		select label from webhook_counters
		where name in ('attempts', 'deliveries_created',
		    'deliveries_finished') and label <> 'other'
		group by label order by min(since), label
		offset 200
	), rows as materialized (
		select c.name, c.label, c.outcome, c.shard
		from webhook_counters c
		where c.name in ('attempts', 'deliveries_created',
		    'deliveries_finished') and c.label in (select * from more)
		for update skip locked
	), gone as (
		delete from webhook_counters c using rows r
		where (c.name, c.label, c.outcome, c.shard)
		    = (r.name, r.label, r.outcome, r.shard)
		returning c.name, c.outcome, c.value
	)
	insert into webhook_counters as c (name, label, outcome, shard, value)
	select g.name, 'other', g.outcome, -1, sum(g.value)
	from gone g group by 1, 3 order by 1, 3
	on conflict (name, label, outcome, shard)
	do update set value = c.value + excluded.value;
end
$$;

-- Who has kept the oldest snapshot, or transaction, so that dead rows can't
-- be vacuumed: at most one row.  A writer counts in any database, since it
-- bounds the snapshots of all.  blind: our owner may not see the sessions of
-- others.  (The functions behind the views, since these cost ten times more
-- to plan.)
create function webhook_snapshot(out kind text, out pid integer,
	out who text, out application text, out since timestamptz,
	out transactions integer, out blind boolean)
returns setof record
language sql stable security definer set search_path from current as $$
	select h.kind, h.pid, coalesce(h.who, h.role::regrole::text),
	    h.application, h.since, h.transactions,
	    not pg_has_role('pg_read_all_stats', 'usage')
	from (select 'session', a.pid, null::text, a.usesysid,
		a.application_name, a.xact_start,
		greatest(age(a.backend_xid), age(a.backend_xmin))
	    from pg_stat_get_activity(null) a
	    where a.pid <> pg_backend_pid()
		and a.backend_type <> 'autovacuum worker'
		and (a.backend_xid is not null or a.backend_xmin is not null
		    and (a.datid is null or a.datid in (0, (select oid
			from pg_database where datname = current_database()))))
	    union all
	    select 'prepared transaction', null, null, p.ownerid, p.gid,
		p.prepared, age(p.transaction)
	    from pg_prepared_xact() p
	    union all
	    select 'replication slot', s.active_pid, '', null, s.slot_name,
		null, age(s.xmin)
	    from pg_get_replication_slots() s where s.xmin is not null)
	    as h (kind, pid, who, role, application, since, transactions)
	order by h.since nulls last, h.transactions desc limit 1
$$;

do $$
declare
	g	record;
begin
	revoke execute on function webhook_look, webhook_sample,
	    webhook_snapshot from public;
	for g in select * from (values
	    ('worker', 'execute on function webhook_sample'),
	    ('operator', 'select on webhook_samples, webhook_partitions'),
	    ('operator', 'execute on function webhook_look, webhook_snapshot'),
	    ('viewer', 'select on webhook_samples'),
	    ('viewer', 'execute on function webhook_look, webhook_snapshot')
	    ) as t (role, what) loop
		begin
			execute format('grant %s to webhook_%s', g.what,
			    g.role);
		exception when undefined_object then
			raise notice 'role webhook_% is missing: grant "%"'
			    ' left out', g.role, g.what;
		end;
	end loop;
end
$$;
