-- Retention: partitions are made ahead, and dropped when they are old
-- (hook-prune; hook-migrate makes them too).
--
-- The statements have names of tables in them, which no parameter can be, so
-- these are functions.  They run as their caller, who must own the tables.
--
-- Producers must not wait.  So a partition is filled apart, and only attached
-- with a lock on the parent; it is detached with one (CONCURRENTLY is refused
-- where there is a default partition), marked, and dropped by another
-- transaction.  How long these wait for a lock, and may hold it, is set by
-- the caller: lock_timeout, statement_timeout.
-- lock: none

-- The days there are.  By their bounds, since a name can be anybody's.
create view webhook_partitions as
    select p.relname::text as parent, c.relname::text as name,
	b[1]::timestamptz as from_at, b[2]::timestamptz as until_at
    from pg_inherits i
    join pg_class c on c.oid = i.inhrelid
    join pg_class p on p.oid = i.inhparent
    cross join lateral (select regexp_match(pg_get_expr(c.relpartbound,
	c.oid), '^FOR VALUES FROM \(''([^'']+)''\) TO \(''([^'']+)''\)$')
	as b) bounds
    where b is not null and p.oid in ('webhook_outbox'::regclass,
	'webhook_attempts'::regclass, 'webhook_deliveries_done'::regclass,
	'webhook_deliveries_dead'::regclass);

comment on view webhook_partitions is
    'the daily partitions, which hook-prune makes and drops';

-- By which column a table is split.
create function webhook_partition_by(parent text) returns text
language sql immutable as $$
	select case parent when 'webhook_outbox' then 'created_at'
	    when 'webhook_attempts' then 'at'
	    when 'webhook_deliveries_done' then 'finished_at'
	    when 'webhook_deliveries_dead' then 'finished_at' end
$$;

-- Move a day's rows from the default partition to a table; how many.  With
-- waiting, those too that somebody has locked.
create function webhook_partition_move(parent text, name text, day date,
	waiting boolean)
returns bigint
language plpgsql set search_path from current as $$
declare
	moved	bigint;
	cols	text;
begin
	select string_agg(quote_ident(attname), ', ' order by attnum)
	into cols from pg_attribute
	where attrelid = parent::regclass and attnum > 0
	    and not attisdropped;
	execute format('with gone as (delete from %1$I where ctid = any (array('
	    'select ctid from %1$I where %3$I >= %4$L and %3$I < %5$L'
	    ' for update %6$s)) and %3$I >= %4$L and %3$I < %5$L'
	    ' returning %7$s)'
	    ' insert into %2$I (%7$s) select %7$s from gone',
	    parent || '_default', name, webhook_partition_by(parent),
	    day || ' 00:00Z', day + 1 || ' 00:00Z',
	    case when waiting then '' else 'skip locked' end, cols);
	get diagnostics moved = row_count;
	return moved;
end
$$;

-- A partition (1 of 2): a table with those rows of the default partition that
-- belong in it.  Returns how many, or null where there is a partition.
-- Storage settings are those of the default partition.
create function webhook_partition_fill(parent text, day date)
returns bigint
language plpgsql set search_path from current as $$
declare
	name	text := parent || to_char(day, '"_"YYYYMMDD');
	opts	text;
begin
	perform pg_advisory_xact_lock(hashtextextended(
	    'hookutils partitions ' || current_schema(), 0));
	perform from webhook_partitions p
	where p.parent = webhook_partition_fill.parent
	    and p.from_at < (day + 1 || ' 00:00Z')::timestamptz
	    and p.until_at > (day || ' 00:00Z')::timestamptz;
	if found then
		return null;
	end if;
	select array_to_string(reloptions, ', ') into opts
	from pg_class where oid = (parent || '_default')::regclass;
	execute format('create table %1$I (like %2$I including all'
	    ' excluding identity, constraint one_day check (%3$I >= %4$L'
	    ' and %3$I < %5$L)) %6$s', name, parent,
	    webhook_partition_by(parent),
	    day || ' 00:00Z', day + 1 || ' 00:00Z',
	    coalesce('with (' || opts || ')', ''));
	execute format('alter table %I owner to %I', name,
	    (select pg_get_userbyid(relowner) from pg_class
	    where oid = parent::regclass));
	return webhook_partition_move(parent, name, day, false);
end
$$;

-- A partition (2 of 2): attach it, with the rows that came meanwhile; how
-- many.
--
-- ATTACH itself would lock the parent less.  But a statement that has looked
-- at the list of partitions before, and waits for the default one, would then
-- not find the rows that moved, or have its own refused as belonging
-- elsewhere.  And a CHECK on the default partition would spare reading it
-- through, but refuse rows of that day that come meanwhile.
create function webhook_partition_attach(parent text, day date)
returns bigint
language plpgsql set search_path from current as $$
declare
	name	text := parent || to_char(day, '"_"YYYYMMDD');
	moved	bigint;
begin
	execute format('lock table only %I in access exclusive mode', parent);
	execute format('lock table only %I in access exclusive mode',
	    parent || '_default');
	moved := webhook_partition_move(parent, name, day, true);
	execute format('alter table %I attach partition %I'
	    ' for values from (%L) to (%L)', parent, name,
	    day || ' 00:00Z', day + 1 || ' 00:00Z');
	execute format('alter table %I drop constraint one_day', name);
	return moved;
end
$$;

-- Both, for who need not hurry.
create function webhook_partition_make(parent text, day date)
returns bigint
language plpgsql set search_path from current as $$
declare
	moved	bigint := webhook_partition_fill(parent, day);
begin
	return moved + case when moved is not null
	    then webhook_partition_attach(parent, day) end;
end
$$;

-- Why a partition must stay, however old; null: it need not.
--	outbox		an event that is not fanned out, or whose body a
--			pending delivery needs
--	deliveries	of an event that is there: hook-replay --fanout judges
--			by them what is missing
-- gone are partitions to be thought away (a dry run).  A pending delivery is
-- looked for by the ids of the day's events, since that is what there is an
-- index for; and where no id is found, the sentence made of it is null.
create function webhook_partition_needed(name text, gone text[] default '{}')
returns text
language plpgsql set search_path from current set enable_seqscan = off as $$
declare
	part	webhook_partitions;
	event	webhook_partitions;
	least	bigint;
	most	bigint;
	id	text;
begin
	select * into part from webhook_partitions p
	where p.name = webhook_partition_needed.name;
	if not found then
		return 'no partition any more';
	end if;
	if part.parent = 'webhook_outbox' then
		execute format('select event_id from %I'
		    ' where fanned_out_at is null order by id limit 1', name)
		    into id;
		if id is not null then
			return 'event ' || id || ' is not fanned out';
		end if;
		execute format('select min(id), max(id) from %I', name)
		    into least, most;
		select d.id into id from webhook_deliveries_pending d
		where d.outbox_id between least and most
		    and d.outbox_created_at >= part.from_at
		    and d.outbox_created_at < part.until_at
		order by d.outbox_id limit 1;
		return 'delivery ' || id || ' is pending';
	elsif part.parent in ('webhook_deliveries_done',
	    'webhook_deliveries_dead') then
		for event in select * from webhook_partitions p
		    where p.parent = 'webhook_outbox'
		    and p.from_at < part.until_at
		    and p.name <> all (gone) order by p.from_at loop
			execute format('select id from %I'
			    ' where outbox_created_at >= %L'
			    ' and outbox_created_at < %L limit 1', name,
			    event.from_at, event.until_at) into id;
			if id is not null then
				return 'delivery ' || id || ' is of an event'
				    ' in ' || event.name;
			end if;
		end loop;
		if exists (select from webhook_outbox_default) then
			execute format('select d.id from %I d'
			    ' join webhook_outbox_default o'
			    ' on o.id = d.outbox_id'
			    ' and o.created_at = d.outbox_created_at limit 1',
			    name) into id;
			return 'delivery ' || id || ' is of an event in'
			    ' webhook_outbox_default';
		end if;
	end if;
	return null;
end
$$;

-- Take a partition out, for webhook_partition_drop(); or leave it, and return
-- why.  Locked, nobody can come to need it: who makes an outbox row's
-- delivery pending has read that row, and so has locked its partition until
-- the commit.  Deliveries' own partitions need no second look, since no old
-- event comes back.
create function webhook_partition_detach(name text) returns text
language plpgsql set search_path from current as $$
declare
	parent	text;
	why	text;
begin
	select p.parent into parent from webhook_partitions p
	where p.name = webhook_partition_detach.name;
	if not found then
		return 'no partition any more';
	end if;
	execute format('lock table only %I in access exclusive mode', parent);
	execute format('lock table only %I in access exclusive mode', name);
	if parent = 'webhook_outbox' then
		why := webhook_partition_needed(name);
		if why is not null then
			return why;
		end if;
	end if;
	execute format('alter table %I detach partition %I', parent, name);
	execute format('comment on table %I is %L', name,
	    'hookutils: pruned from ' || parent || ', to be dropped');
	return null;
end
$$;

-- What was taken out and not dropped yet: by name and by mark, since a table
-- of the same shape may be an operator's own.
create view webhook_detached as
    select c.relname::text as name, m.parent
    from pg_class c
    join (values ('webhook_outbox'), ('webhook_attempts'),
	('webhook_deliveries_done'), ('webhook_deliveries_dead'))
	as m (parent)
	on obj_description(c.oid, 'pg_class')
	= 'hookutils: pruned from ' || m.parent || ', to be dropped'
    where c.relkind = 'r' and not c.relispartition
	and starts_with(c.relname, m.parent || '_')
	and c.relnamespace = (select relnamespace from pg_class
	    where oid = 'webhook_outbox'::regclass);

comment on view webhook_detached is
    'what hook-prune took out and has not dropped: it was killed';

-- Drop one, and count what was in it; how many rows.
create function webhook_partition_drop(name text) returns bigint
language plpgsql set search_path from current as $$
declare
	parent	text;
	total	bigint;
begin
	select d.parent into parent from webhook_detached d
	where d.name = webhook_partition_drop.name;
	if not found then
		return null;
	end if;
	execute format('lock table %I in access exclusive mode', name);
	execute format('with n as (select %s as outcome, count(*) as n from %I'
	    ' group by 1 order by 1),'
	    ' counted as (insert into webhook_counters (name, outcome, shard,'
	    ' value) select %L, outcome, pg_backend_pid() %% 16, n from n'
	    ' on conflict (name, label, outcome, shard) do update'
	    ' set value = webhook_counters.value + excluded.value)'
	    ' select coalesce(sum(n), 0) from n',
	    case when parent ~ 'deliveries' then 'state' else quote_literal('')
	    end, name, case parent when 'webhook_outbox' then 'events_pruned'
	    when 'webhook_attempts' then 'attempts_pruned'
	    else 'deliveries_pruned' end) into total;
	execute format('drop table %I', name);
	return total;
end
$$;

-- Store one event, once per (tenant, key), as before; a key that hook-prune
-- forgets between our two looks at it is a new one.
create or replace function webhook_enqueue(
	event_type	text,
	payload		json,
	aggregate_id	text default null,
	api_version	text default null,
	tenant		text default '',
	idempotency_key	text default null,
	traceparent	text default null)
returns text
language plpgsql security definer set search_path from current as $$
declare
	ev	text;
	print	bytea;
	seen	webhook_idempotency;
begin
	ev := 'evt_' || lpad(to_hex((extract(epoch from clock_timestamp())
	    * 1000)::bigint), 12, '0')
	    || replace(gen_random_uuid()::text, '-', '');
	if idempotency_key is not null then
		if octet_length(idempotency_key) not between 1 and 255 then
			raise exception 'idempotency key: 1 to 255 bytes, not %',
			    octet_length(idempotency_key)
			    using errcode = 'invalid_parameter_value';
		end if;
		print := sha256(convert_to(concat_ws(E'\x1f', event_type,
		    coalesce(aggregate_id, ''), coalesce(api_version, ''),
		    payload::text), 'UTF8'));
		loop
			insert into webhook_idempotency (tenant, key,
			    event_id, fingerprint)
			values (webhook_enqueue.tenant, idempotency_key, ev,
			    print)
			on conflict on constraint webhook_idempotency_pkey
			    do nothing;
			exit when found;
			select i.* into seen from webhook_idempotency i
			where i.tenant = webhook_enqueue.tenant
			    and i.key = idempotency_key;
			continue when not found;
			if seen.fingerprint <> print then
				raise exception 'idempotency key % was used for'
				    ' another event, %', idempotency_key,
				    seen.event_id
				    using errcode = 'unique_violation';
			end if;
			return seen.event_id;
		end loop;
	end if;
	insert into webhook_outbox (event_id, event_type, payload,
	    aggregate_id, api_version, tenant, idempotency_key, traceparent)
	values (ev, webhook_enqueue.event_type, webhook_enqueue.payload,
	    webhook_enqueue.aggregate_id, webhook_enqueue.api_version,
	    webhook_enqueue.tenant, idempotency_key,
	    webhook_enqueue.traceparent);
	return ev;
end
$$;

do $$
declare
	f	record;
	r	text;
begin
	for f in select p.oid::regprocedure as name from pg_proc p
	    join pg_namespace n on n.oid = p.pronamespace
	    where n.nspname = current_schema()
	    and p.proname ~ '^webhook_partition_' loop
		execute format('revoke execute on function %s from public',
		    f.name);
	end loop;
	foreach r in array array['operator', 'viewer'] loop
		begin
			execute format('grant select on webhook_partitions,'
			    ' webhook_detached to webhook_%s', r);
		exception when undefined_object then
			raise notice 'role webhook_% is missing: grant "%"'
			    ' left out', r, 'select on webhook_partitions';
		end;
	end loop;
end
$$;
