-- Roles, granted least.  They belong to the whole server, so they may exist
-- already, or the person migrating may not be allowed to make them: then the
-- grants that can't be given are left out, with a notice.
--
--	webhook_producer	stores events
--	webhook_worker		hook-fanout, hook-deliver
--	webhook_receiver	stores incoming messages
--	webhook_operator	subscriptions, secrets, dead letters, replays
--	webhook_viewer		reads, but no secret and no header

do $$
declare
	r	text;
	g	record;
	sch	text := quote_ident(current_schema());
begin
	foreach r in array array['producer', 'worker', 'receiver',
	    'operator', 'viewer'] loop
		begin
			execute 'create role webhook_' || r || ' nologin';
		exception
		when duplicate_object or unique_violation then null;
		when insufficient_privilege then
			raise notice 'role webhook_% not created: no right'
			    ' to', r;
		end;
		begin
			execute format('grant usage on schema %s to'
			    ' webhook_%s', sch, r);
			execute format('grant select on webhook_migrations to'
			    ' webhook_%s', r);
		exception when undefined_object then null;
		end;
	end loop;

	for g in select * from (values
	    ('producer', 'insert, select (id, event_id, created_at) on webhook_outbox'),
	    ('producer', 'insert on webhook_topic_outbox'),
	    ('producer', 'execute on function webhook_enqueue'),
	    ('worker', 'select, insert, update (fanned_out_at, fanned_out_to) on webhook_outbox'),
	    ('worker', 'select, update (state, state_reason, failing_since) on webhook_subscriptions'),
	    ('worker', 'select on webhook_secrets'),
	    ('worker', 'select, insert, update on webhook_deliveries'),
	    ('worker', 'select, update on webhook_deliveries_pending'),
	    ('worker', 'usage on sequence webhook_deliveries_id_seq'),
	    ('worker', 'select, insert on webhook_attempts'),
	    ('worker', 'select, update on webhook_lanes'),
	    ('worker', 'select, insert, update, delete on webhook_workers'),
	    ('worker', 'select, insert, update on webhook_wakeup'),
	    ('worker', 'select, insert, update on webhook_counters'),
	    ('operator', 'select, insert, update (fanned_out_at, fanned_out_to) on webhook_outbox'),
	    ('operator', 'select, insert, update, delete on webhook_subscriptions, webhook_secrets'),
	    ('operator', 'select, insert, update on webhook_deliveries, webhook_lanes, webhook_jobs, webhook_counters'),
	    ('operator', 'select on webhook_deliveries_pending, webhook_attempts, webhook_dlq, webhook_workers, webhook_wakeup, webhook_idempotency, webhook_topic_outbox'),
	    ('operator', 'usage on sequence webhook_deliveries_id_seq'),
	    ('operator', 'select, insert on webhook_audit'),
	    ('operator', 'execute on function webhook_enqueue'),
	    ('viewer', 'select on webhook_outbox, webhook_deliveries, webhook_deliveries_pending, webhook_attempts, webhook_dlq, webhook_lanes, webhook_workers, webhook_audit, webhook_jobs, webhook_counters'),
	    ('viewer', 'select (id, tenant, name, url, event_types, filter, transform, api_version, max_concurrency, rate_per_second, ordered, timeout_ms, retry_ms, deadline_ms, raw, legacy, retry_4xx, state, state_reason, failing_since, revision, created_at, updated_at) on webhook_subscriptions'),
	    ('viewer', 'select (id, subscription_id, created_at, expires_at) on webhook_secrets')
	    ) as t (role, what) loop
		begin
			execute format('grant %s to webhook_%s', g.what,
			    g.role);
		exception when undefined_object then
			raise notice 'role webhook_% is missing: grant "%"'
			    ' left out', g.role, g.what;
		end;
	end loop;
	revoke execute on function webhook_enqueue from public;
end
$$;
