-- doctor-roles: who may do more than its work needs, by what it is?
-- Findings, as lib/doctor.h has them.  Rights to tables: doctor-grants.
-- What is to be typed is quoted for the shell, since names can be anybody's.
with role as materialized (
	select oid, rolname::text as name, rolsuper, rolcanlogin
	    or rolsuper or rolcreaterole or rolcreatedb or rolreplication
	    or rolbypassrls as strong
	from pg_roles where rolname in ('webhook_producer', 'webhook_worker',
	    'webhook_receiver', 'webhook_operator', 'webhook_viewer')
), tool (name, role) as materialized (values
	('hook-fanout', 'webhook_worker'), ('hook-deliver', 'webhook_worker'),
	('hook-consume', 'webhook_worker'),
	('hook-receive', 'webhook_receiver')
), follower as materialized (
	select distinct t.name as tool, t.role, r.oid, r.rolname::text as name,
	    r.rolsuper, r.oid = (select relowner from pg_class
		where oid = 'webhook_outbox'::regclass) as owner
	from pg_stat_activity a
	join tool t on t.name = a.application_name
	join pg_roles r on r.oid = a.usesysid
	where a.datname = current_database()
)
select 'fail', name, 'can log in, or has a power over the whole server',
    'psql -c ''alter role ' || name || ' nologin nosuperuser nocreaterole'
	' nocreatedb noreplication nobypassrls'''
from role where strong
union all
select 'fail', r.name, 'is a member of ' || g.rolname,
    'psql -c ''' || replace(format('revoke %I from ', g.rolname), '''',
	'''\''''') || r.name || ''''
from role r join pg_auth_members m on m.member = r.oid
join pg_roles g on g.oid = m.roleid
union all
select 'fail', 'schema ' || n.nspname, 'everybody may make objects in it',
    'psql -c ''' || replace(format('revoke create on schema %I from public',
	n.nspname), '''', '''\''''') || ''''
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.oid = 'webhook_outbox'::regclass
    and has_schema_privilege('public', n.oid, 'create')
union all
select 'warn', f.tool, 'runs as ' || f.name || ', who '
    || case when f.rolsuper then 'is a superuser' else 'owns the tables' end,
    format('psql -c ''create role %I login in role %s'', and PGUSER=%1$I',
	replace(f.tool, '-', '_'), f.role)
from follower f where f.rolsuper or f.owner
union all
select 'warn', f.tool, 'runs as ' || f.name || ', who is ' || r.name
    || ' as well', case r.name
    when 'webhook_operator'
	then 'psql -c ''' || replace(format('revoke %I from %I', r.name,
	    f.name), '''', '''\''''') || ''''
    else format('psql -c ''create role %I login in role %s'', and PGUSER=%1$I',
	replace(f.tool, '-', '_'), f.role) end
from follower f join role r on r.name <> f.role
    and (r.name = 'webhook_operator' or f.tool = 'hook-receive')
    and r.name in ('webhook_operator', 'webhook_worker')
    and pg_has_role(f.oid, r.oid, 'member')
where not f.rolsuper and not f.owner
union all
select 'warn', l.rolname::text, 'is ' || string_agg(r.name, ', '
    order by r.name) || ' and webhook_operator',
    'psql -c ''' || replace(format('revoke webhook_operator from %I',
	l.rolname), '''', '''\''''') || ''''
from pg_roles l
join role o on o.name = 'webhook_operator'
join role r on r.name in ('webhook_producer', 'webhook_worker',
    'webhook_receiver') and pg_has_role(l.oid, r.oid, 'member')
where l.rolcanlogin and not l.rolsuper and pg_has_role(l.oid, o.oid, 'member')
    and l.oid not in (select oid from follower)
    and l.oid <> (select relowner from pg_class
	where oid = 'webhook_outbox'::regclass)
group by l.rolname
