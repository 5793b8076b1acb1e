-- doctor-tls: which sessions of ours are readable on their way?
--   $1  text  networks that need no encryption, with commas between
--   $2  text  the sslmode of this session
-- Findings, as lib/doctor.h has them.
with remote as materialized (
	select a.application_name as tool, host(a.client_addr) as host, s.ssl,
	    coalesce(g.encrypted, false) as gss, a.pid = pg_backend_pid() as own
	from pg_stat_activity a join pg_stat_ssl s on s.pid = a.pid
	left join pg_stat_gssapi g on g.pid = a.pid
	where starts_with(a.application_name, 'hook-')
	    and a.datname = current_database()
	    and a.client_addr <<= any
		(regexp_split_to_array(trim($1), '[ ,]+')::inet[]) is false
)
select 'fail', tool || ' from ' || host, 'is not encrypted',
    'hostssl for host in pg_hba.conf, sslmode=verify-full in -d'
from remote where not ssl and not gss group by 2
union all
select 'warn', tool || ' from ' || host, 'is encrypted, but sslmode='
    || $2 || ' does not tell the server from another',
    'sslmode=verify-full in -d'
from remote where own and ssl and $2 not in ('verify-ca', 'verify-full')
union all
select 'warn', null, 'can''t tell of other sessions',
    'psql -c ''' || replace(format('grant pg_read_all_stats to %I',
	current_user), '''', '''\''''') || ''''
where not pg_has_role('pg_read_all_stats', 'usage')
