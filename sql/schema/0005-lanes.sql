-- The claim: one lane per subscription.  Who owns a lane is the only sender
-- to that subscription, so its cap, rate, order and breaker hold everywhere.

create table webhook_lanes (
	subscription_id	bigint primary key
	    references webhook_subscriptions on delete cascade,
	owner		text,
	fence		bigint not null default 0,
	leased_until	timestamptz,
	next_due_at	timestamptz,
	hold_until	timestamptz,
	failures	integer not null default 0,
	breaker		text not null default 'closed',
	tokens		double precision not null default 0,
	tokens_at	timestamptz not null default now(),
	takeovers	bigint not null default 0,
	ordered		boolean not null default false,
	constraint breaker_known check (breaker in ('closed', 'open')),
	constraint leased_by_somebody check
	    ((owner is null) = (leased_until is null))
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
create index webhook_lanes_due on webhook_lanes (next_due_at)
    where next_due_at is not null;

comment on column webhook_lanes.fence is
    'raised by every claim; a result written under an older one is refused';
comment on column webhook_lanes.next_due_at is
    'when a worker should look: the lease''s end while leased, the earliest due row otherwise; null: nothing waits';
comment on column webhook_lanes.hold_until is
    'nothing is sent before: Retry-After, or an open breaker''s next probe';
comment on column webhook_lanes.failures is
    'failed attempts since the last success';
comment on column webhook_lanes.tokens is
    'of the rate''s bucket, as of tokens_at';
comment on column webhook_lanes.takeovers is
    'leases that ran out and were taken by somebody else';
comment on column webhook_lanes.ordered is
    'the subscription''s, here too so that who locks the lane sees the newest';

-- Workers that run, for people and for sharing lanes fairly.
create table webhook_workers (
	name		text primary key,
	tool		text not null,
	started_at	timestamptz not null default now(),
	seen_at		timestamptz not null default now(),
	lanes		integer not null default 0,
	hungry		boolean not null default false
) with (fillfactor = 50);

comment on column webhook_workers.name is
    'host:pid:random; what lanes.owner and attempts.worker hold';
comment on column webhook_workers.hungry is
    'has room and found no free lane: others give some back';

-- A new subscription gets its lane; a removed one leaves no row waiting.
create function webhook_subscription_made() returns trigger
language plpgsql security definer set search_path from current as $$
begin
	insert into webhook_lanes (subscription_id, ordered)
	values (new.id, new.ordered);
	return null;
end
$$;
create trigger webhook_subscription_made after insert
    on webhook_subscriptions
    for each row execute function webhook_subscription_made();

-- The lane is locked first: a fan-out that got there before has committed its
-- rows, which the UPDATE's own snapshot then sees; one that comes later finds
-- no lane.  A worker may be finishing deliveries meanwhile, and who meets a
-- row that moves to another partition fails: so a few at a time, beginning
-- with those that it will come to last, and again.
create function webhook_subscription_gone() returns trigger
language plpgsql security definer set search_path from current as $$
declare
	tries	integer := 0;
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
			exit when not found;
			tries := 0;
		exception when serialization_failure or deadlock_detected then
			tries := tries + 1;
			if tries > 100 then
				raise;
			end if;
		end;
	end loop;
	perform pg_notify(webhook_channel('deliver'), 'subscription');
	return old;
end
$$;
create trigger webhook_subscription_gone before delete
    on webhook_subscriptions
    for each row execute function webhook_subscription_gone();

-- A change by any hand raises the revision and is told to the workers at
-- once, and a lane that was at rest is looked at again.  The lane is locked
-- before it is looked at: who gives it back just now waits until the change
-- can be seen, and a fan-out that got there before has committed its rows.
create function webhook_subscription_set() returns trigger
language plpgsql security definer set search_path from current as $$
declare
	tries	integer := 0;
begin
	new.revision := old.revision + 1;
	new.updated_at := now();
	perform pg_notify(webhook_channel('deliver'), 'subscription');
	if new.ordered = old.ordered and (new.state <> 'active'
	    or old.state = 'active') then
		return new;
	end if;
	perform from webhook_lanes where subscription_id = new.id for update;
	if new.ordered <> old.ordered then
		update webhook_lanes set ordered = new.ordered
		where subscription_id = new.id;
	end if;
	if new.ordered and not old.ordered then
		loop
			begin
				update webhook_deliveries_pending d
				set order_key = hashtextextended(coalesce(
				    (select o.aggregate_id
				    from webhook_outbox o
				    where o.id = d.outbox_id and
					o.created_at = d.outbox_created_at),
				    d.event_id), 0)
				from (select id
				    from webhook_deliveries_pending
				    where subscription_id = new.id
					and order_key is null
				    order by next_attempt_at desc, id desc
				    limit 1000) p
				where d.id = p.id;
				exit when not found;
				tries := 0;
			exception when serialization_failure
			    or deadlock_detected then
				tries := tries + 1;
				if tries > 100 then
					raise;
				end if;
			end;
		end loop;
	end if;
	if new.state = 'active' and old.state <> 'active' then
		new.state_reason := null;
		new.failing_since := null;
		update webhook_lanes set next_due_at = now(),
		    hold_until = null, failures = 0, breaker = 'closed'
		where subscription_id = new.id and owner is null;
	end if;
	return new;
end
$$;
create trigger webhook_subscription_set before update
    on webhook_subscriptions for each row
    when (to_jsonb(old) - 'failing_since'
	is distinct from to_jsonb(new) - 'failing_since')
    execute function webhook_subscription_set();
