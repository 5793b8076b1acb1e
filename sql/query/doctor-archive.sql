-- doctor-archive: does the WAL go somewhere else?
-- Findings, as lib/doctor.h has them.
with s as materialized (
	select current_setting('archive_mode') as mode,
	    current_setting('archive_command') as command,
	    coalesce(current_setting('archive_library', true), '') as library,
	    (select setting::integer from pg_settings
		where name = 'archive_timeout') as timeout_s,
	    a.archived_count, a.last_archived_time, a.last_failed_time,
	    a.last_failed_wal
	from pg_stat_archiver a
)
select 'fail', 'archive_mode', 'is off: after a disk is lost there is only'
    || ' the last backup', 'psql -c ''alter system set archive_mode = on'','
    || ' and restart the server; see hook-backup(7)'
from s where mode = 'off'
union all
select 'fail', 'archive_command', 'is empty: WAL files pile up',
    'psql -c "alter system set archive_command = ''...''"'
    || ' -c ''select pg_reload_conf()''; see hook-backup(7)'
from s where mode <> 'off' and command in ('', '(disabled)') and library = ''
union all
select 'fail', 'archive_command', 'has failed since '
    || to_char(last_failed_time, 'YYYY-MM-DD HH24:MI') || ', at '
    || last_failed_wal, 'look into the server''s log'
from s
where mode <> 'off' and last_failed_time
    > coalesce(last_archived_time, '-infinity')
union all
select 'warn', 'archive_command', 'has not archived anything yet',
    'psql -c ''select pg_switch_wal()'''
from s
where mode <> 'off' and archived_count = 0 and last_failed_time is null
    and (command not in ('', '(disabled)') or library <> '')
union all
select 'warn', 'archive_timeout', 'is off: when little happens, a WAL file'
    || ' takes hours to be archived',
    'psql -c ''alter system set archive_timeout = "60s"'''
    || ' -c ''select pg_reload_conf()'''
from s where mode <> 'off' and timeout_s = 0
