-- What applications call: webhook_enqueue(), and the wake-up behind INSERT.
-- Both run with the search path of the schema they were made in.

-- Store one event, once per (tenant, key): the second call stores nothing
-- and returns the first event's id; the same key with another event is
-- refused.  A null key stores always.
create function webhook_enqueue(
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
		insert into webhook_idempotency (tenant, key, event_id,
		    fingerprint)
		values (webhook_enqueue.tenant, idempotency_key, ev, print)
		on conflict on constraint webhook_idempotency_pkey do nothing;
		if not found then
			select i.* into strict seen from webhook_idempotency i
			where i.tenant = webhook_enqueue.tenant
			    and i.key = idempotency_key;
			if seen.fingerprint <> print then
				raise exception 'idempotency key % was used for'
				    ' another event, %', idempotency_key,
				    seen.event_id
				    using errcode = 'unique_violation';
			end if;
			return seen.event_id;
		end if;
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

-- The channel a follower listens on: one per database and schema, of a fixed
-- short form whatever the schema is called.
create function webhook_channel(follower text) returns text
language sql stable set search_path from current as
$$ select 'webhook_' || follower || '_'
    || left(md5(current_schema()), 12) $$;

-- Wake a sleeping hook-fanout.  NOTIFY takes a global lock at commit, so it
-- is sent only while somebody sleeps.  PREPARE TRANSACTION refuses NOTIFY, so
-- a server that allows it (max_prepared_transactions > 0) gets none unless
-- asked: hook.notify = on or off, per session, role or database.
create function webhook_wake() returns trigger
language plpgsql security definer set search_path from current as $$
declare
	wanted	text := current_setting('hook.notify', true);
begin
	if exists (select from webhook_wakeup
	    where follower = 'fanout' and asleep)
	    and (wanted in ('on', 'true', '1')
		or (coalesce(wanted, '') = ''
		and current_setting('max_prepared_transactions') = '0')) then
		perform pg_notify(webhook_channel('fanout'), '');
	end if;
	return null;
end
$$;

create trigger webhook_wake after insert on webhook_outbox
    for each statement execute function webhook_wake();
