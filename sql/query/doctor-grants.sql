-- doctor-grants: who has a right to our tables and functions that the schema
-- has not given?
-- Findings, as lib/doctor.h has them.
--
-- What it gives, in the words of its grants; "(!a, b)" is every column but
-- those.  Others may have what webhook_producer has.  To everybody belong the
-- functions that are harmless: not those that run with their owner's rights
-- (those of triggers can't be called), nor those that change partitions.
with given (role, what) as (values
    ('every', 'select on webhook_migrations'),
    ('producer', 'insert, select (id, event_id, created_at)'
	' on webhook_outbox'),
    ('producer', 'insert on webhook_topic_outbox'),
    ('producer', 'execute on webhook_enqueue'),
    ('worker', 'select, insert, update (fanned_out_at, fanned_out_to)'
	' on webhook_outbox'),
    ('worker', 'select, update (state, state_reason, failing_since)'
	' on webhook_subscriptions'),
    ('worker', 'select on webhook_secrets'),
    ('worker', 'select, insert, update on webhook_deliveries,'
	' webhook_wakeup, webhook_counters'),
    ('worker', 'select, update on webhook_deliveries_pending, webhook_lanes'),
    ('worker', 'usage on webhook_deliveries_id_seq'),
    ('worker', 'select, insert on webhook_attempts'),
    ('worker', 'select, insert, update, delete on webhook_workers'),
    ('worker', 'delete on webhook_wakeup'),
    ('worker', 'select, update (!id, source, message_id, event_type,'
	' headers, body, received_at) on webhook_inbox'),
    ('worker', 'select (id, name) on webhook_sources'),
    ('worker', 'execute on webhook_enqueue, webhook_sample'),
    ('receiver', 'select on webhook_sources, webhook_source_secrets,'
	' webhook_wakeup'),
    ('receiver', 'insert (source, message_id, event_type, headers, body),'
	' select (source, message_id) on webhook_inbox'),
    ('receiver', 'select, insert, update on webhook_counters'),
    ('operator', 'select, insert, update (fanned_out_at, fanned_out_to)'
	' on webhook_outbox'),
    ('operator', 'select, insert, update, delete on webhook_subscriptions,'
	' webhook_secrets, webhook_sources, webhook_source_secrets'),
    ('operator', 'select, insert, update on webhook_deliveries,'
	' webhook_lanes, webhook_jobs, webhook_counters'),
    ('operator', 'select on webhook_deliveries_pending, webhook_attempts,'
	' webhook_dlq, webhook_workers, webhook_wakeup, webhook_idempotency,'
	' webhook_topic_outbox, webhook_samples, webhook_partitions,'
	' webhook_detached'),
    ('operator', 'usage on webhook_deliveries_id_seq'),
    ('operator', 'select, insert on webhook_audit'),
    ('operator', 'select, update (state, failures, takeovers,'
	' next_attempt_at, finished_at) on webhook_inbox'),
    ('operator', 'delete on webhook_wakeup'),
    ('operator', 'execute on webhook_enqueue, webhook_consumers,'
	' webhook_look, webhook_snapshot'),
    ('viewer', 'select on webhook_outbox, webhook_deliveries,'
	' webhook_deliveries_pending, webhook_attempts, webhook_dlq,'
	' webhook_lanes, webhook_workers, webhook_audit, webhook_jobs,'
	' webhook_counters, webhook_sources, webhook_samples,'
	' webhook_partitions, webhook_detached'),
    ('viewer', 'select (!headers) on webhook_subscriptions'),
    ('viewer', 'select (!secret) on webhook_secrets, webhook_source_secrets'),
    ('viewer', 'select (!headers, body) on webhook_inbox'),
    ('viewer', 'execute on webhook_look, webhook_snapshot')
), allowed as materialized (
	select 'webhook_' || role as role, p[1] as priv, object,
	    starts_with(p[2], '!') as but,
	    regexp_split_to_array(ltrim(p[2], '!'), ', ') as cols
	from given
	cross join lateral regexp_matches(split_part(what, ' on ', 1),
	    '([a-z]+)(?: \(([^)]*)\))?', 'g') p
	cross join lateral regexp_split_to_table(
	    split_part(what, ' on ', 2), ', ') object
), here as materialized (
	select relnamespace as oid from pg_class
	where oid = 'webhook_outbox'::regclass
), has as materialized (
	select c.relname::text as object, null::text as col,
	    c.oid::regclass::text as written, c.relkind = 'S' as sequence,
	    false as function, c.relowner as owner, a.*
	from pg_class c join here on here.oid = c.relnamespace
	cross join lateral aclexplode(c.relacl) a
	where starts_with(c.relname, 'webhook_')
	union all
	select c.relname, t.attname, c.oid::regclass::text, false, false,
	    c.relowner, a.*
	from pg_class c join here on here.oid = c.relnamespace
	join pg_attribute t on t.attrelid = c.oid
	cross join lateral aclexplode(t.attacl) a
	where starts_with(c.relname, 'webhook_')
	union all
	select p.proname, null, p.oid::regprocedure::text, false, true,
	    p.proowner, a.*
	from pg_proc p join here on here.oid = p.pronamespace
	cross join lateral aclexplode(
	    coalesce(p.proacl, acldefault('f', p.proowner))) a
	where starts_with(p.proname, 'webhook_')
	    and (p.prosecdef or p.proname ~ '^webhook_partition_'
		or p.proacl is not null)
	    and p.prorettype <> 'trigger'::regtype
	    and (a.grantee <> 0 or p.prosecdef
		or p.proname ~ '^webhook_partition_')
), excess as (
	select h.*, lower(h.privilege_type) as priv,
	    coalesce(r.rolname, 'public')::text as who
	from has h left join pg_roles r on r.oid = h.grantee
	where h.grantee <> h.owner and not coalesce(r.rolsuper, false)
	    and (h.is_grantable or not exists (select from allowed l
		where (l.role = r.rolname or l.role = 'webhook_every'
			and starts_with(r.rolname, 'webhook_')
		    or l.role = 'webhook_producer'
			and not starts_with(r.rolname, 'webhook_'))
		    and l.object = h.object
		    and l.priv = lower(h.privilege_type)
		    and (l.cols is null or h.col is not null
			and l.but <> (h.col = any (l.cols)))))
)
select case when who = 'public' or starts_with(who, 'webhook_') then 'fail'
    else 'warn' end, who, 'may ' || string_agg(distinct priv, ', ') || ' '
    || written || case when bool_or(is_grantable)
	then ', and let others do it' else '' end,
    'psql -c ''' || replace(format('revoke %s on %s%s from %s',
	string_agg(distinct priv || coalesce(' (' || quote_ident(col) || ')',
	    ''), ', '), case when function then 'function '
	when sequence then 'sequence ' else '' end, written,
	case grantee when 0 then 'public' else quote_ident(who) end),
	'''', '''\''''') || ''''
from excess
group by who, grantee, written, function, sequence
order by 1, 2, 3
