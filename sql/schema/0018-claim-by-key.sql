-- webhook_inbox_claim, whatever the size of the inbox when it is planned.
-- lock: none
--
-- As it was in 0010, but what was an "=" that could become a walk through all
-- messages is a look-up by the primary key now ("= any (array[...])"); what
-- comes first of a key, or has none yet, can only be found by
-- webhook_inbox_order, and not by a walk through all that was ever done; and
-- of a thousand messages of one key only the first is looked into.

-- What sql/query/inbox_claim.sql does, but of each key only the message that
-- was stored first, and only while no other of it is leased.  To say so of a
-- key, a claim must see what all others claimed: so one at a time, each with
-- a look that is newer than the lock.  It is a function to be one statement:
-- a client that stops amid it keeps no lock.
--
-- released: keys whose message was finished just now; the next of such a key
-- may be far behind the cursor.
create or replace function webhook_inbox_claim(of_source text, of_type text,
	of_prefix text, after_at timestamptz, after_id bigint, most integer,
	claimer text, lease interval, path jsonpath, released text[])
returns table (id bigint, fence bigint, attempts integer, failures integer,
	takeovers integer, order_key text, cursor_at timestamptz,
	cursor_id bigint, more boolean)
language plpgsql set search_path from current as $$
#variable_conflict use_column
declare
	patient	boolean := pg_postmaster_start_time()
	    > clock_timestamp() - greatest(lease, interval '10 s');
	keyed	integer;
	n_seen	integer;
	n_free	integer;
	ids	bigint[];
	end_at	timestamptz;
	end_id	bigint;
begin
	perform pg_advisory_xact_lock(hashtextextended('hookutils consume '
	    || current_schema() || ' ' || of_source, 0));
	update webhook_inbox i set order_key = webhook_inbox_key(body, path)
	from (select n.id as nid from webhook_inbox n
	    where source = of_source and state = 'pending'
		and order_key is null
	    order by order_key, n.id limit 500) n
	where i.id = any (array[nid]) and order_key is null;
	get diagnostics keyed = row_count;

	with seen as materialized (
		select i.id, i.next_attempt_at, i.order_key,
		    octet_length(i.body) as len
		from webhook_inbox i
		where source = of_source and state = 'pending'
		    and next_attempt_at <= now()
		    and (next_attempt_at, i.id) > (after_at, after_id)
		    and order_key is not null
		    and (owner is null or leased_until < now() and not patient)
		    and (of_type is null or event_type = of_type)
		    and (of_prefix is null or starts_with(event_type, of_prefix)
			and event_type <> of_prefix)
		order by next_attempt_at, i.id
		limit greatest(1000, most)
	), next as (
		select i.id, i.next_attempt_at, i.order_key,
		    octet_length(i.body) as len
		from unnest(released) r (key)
		cross join lateral (select n.id as nid from webhook_inbox n
		    where source = of_source and state = 'pending'
			and order_key between r.key and r.key
			and (of_type is null or event_type = of_type)
			and (of_prefix is null
			    or starts_with(event_type, of_prefix)
			    and event_type <> of_prefix)
		    order by order_key, n.id limit 1) h
		join webhook_inbox i on i.id = any (array[nid])
		where next_attempt_at <= now()
		    and (owner is null or leased_until < now() and not patient)
	), free as (
		select c.id, c.next_attempt_at, c.len
		from (select * from seen where order_key = ''
		    union all
		    select * from (select distinct on (order_key) *
			from (select * from seen where order_key <> ''
			    union all
			    select * from next) k
			order by order_key, id) first) c
		where c.order_key = '' or not exists (
		    select from webhook_inbox e
		    where source = of_source and state = 'pending'
			and e.order_key = c.order_key and e.id <> c.id
			and (e.id < c.id or owner is not null
			    and (leased_until >= now() or patient))
			and (of_type is null or event_type = of_type)
			and (of_prefix is null
			    or starts_with(event_type, of_prefix)
			    and event_type <> of_prefix))
		order by 2, 1
		limit most + 1
	), sized as (
		select f.id, next_attempt_at, row_number() over w as n,
		    sum(len) over w - len as before
		from free f window w as (order by next_attempt_at, f.id)
	)
	select (select count(*) from seen), (select count(*) from free),
	    (select array_agg(s.id) from sized s
		where n <= most and before < 16777216),
	    l.next_attempt_at, l.id
	into n_seen, n_free, ids, end_at, end_id
	from (select) one
	left join lateral (select s.id, next_attempt_at from seen s
	    order by 2 desc, 1 desc limit 1) l on true;

	-- Where claimable ones are left the cursor stays before them.
	more := true;
	if n_free > coalesce(cardinality(ids), 0) then
		select i.next_attempt_at, i.id into end_at, end_id
		from webhook_inbox i where i.id = any (ids)
		order by 1 desc, 2 desc limit 1;
		if (end_at, end_id) > (after_at, after_id) is not true then
			end_at := after_at;
			end_id := after_id;
		end if;
	elsif n_seen < greatest(1000, most) then
		more := keyed = 500;
		end_at := greatest(after_at, now() - interval '500 ms');
		end_id := case when end_at = after_at then after_id else 0 end;
	end if;

	return query
	with held as (
		select i.id as hid from webhook_inbox i
		where i.id = any (ids) and state = 'pending'
		    and next_attempt_at <= now()
		    and (owner is null or leased_until < now() and not patient)
		order by i.id
		for no key update skip locked
	), taken as (
		update webhook_inbox i
		set owner = claimer, fence = i.fence + 1,
		    leased_until = clock_timestamp() + lease,
		    attempts = i.attempts + 1, takeovers = i.takeovers
			+ (i.owner is not null)::integer
		from held where i.id = any (array[hid])
		returning i.id, i.fence, i.attempts, i.failures, i.takeovers,
		    i.order_key
	)
	select t.id, t.fence, t.attempts, t.failures, t.takeovers,
	    t.order_key, end_at, end_id, more
	from (select) one left join taken t on true
	order by t.id;
end
$$;
