-- stat-workers: who works, or did a minute ago.
-- Rows: tool, host, pid, lanes, in_flight, started_at, seen_s; at most 50.
select tool, regexp_replace(name, ':[^:]*:[^:]*$', '') as host,
    substring(name from ':([0-9]+):[^:]*$')::bigint as pid,
    lanes, in_flight, started_at,
    round(extract(epoch from now() - seen_at))::bigint as seen_s
from webhook_workers
where seen_at > now() - interval '1 minute'
order by tool, started_at, name limit 50
