-- The look at who sleeps, paid by every INSERT, without a search path of its
-- own: setting and resetting it made a producer's commit a quarter dearer
-- (16 clients that commit one event each: 0.74 of the rate without a trigger;
-- so 0.93).  What it names is named in full instead, operators too, since it
-- runs with its owner's rights and the caller's search path.
-- lock: none

-- NOTIFY takes a global lock at commit, so it is sent only while somebody
-- sleeps.  PREPARE TRANSACTION refuses NOTIFY, so a server that allows it
-- (max_prepared_transactions > 0) gets none unless asked: hook.notify = on
-- or off, per session, role or database.
create function webhook_notify(follower text) returns void
language plpgsql security definer set search_path from current as $$
declare
	wanted	text := current_setting('hook.notify', true);
begin
	if wanted in ('on', 'true', '1') or (coalesce(wanted, '') = ''
	    and current_setting('max_prepared_transactions') = '0') then
		perform pg_notify(webhook_channel(follower), '');
	end if;
end
$$;
revoke execute on function webhook_notify(text) from public;

do $do$
begin
	execute format($f$
create or replace function webhook_wake() returns trigger
language plpgsql security definer as $$
begin
	if exists (select from %1$I.webhook_wakeup w
	    where w.follower operator(pg_catalog.=) 'fanout' and w.asleep) then
		perform %1$I.webhook_notify('fanout');
	end if;
	return null;
end
$$ $f$, current_schema());
end
$do$;
