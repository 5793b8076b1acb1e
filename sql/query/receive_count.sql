-- receive_count: add to the counters of hook-receive.
--   $1  text[]    sources
--   $2  text[]    what came of it
--   $3  bigint[]  how often
insert into webhook_counters (name, label, outcome, shard, value)
select 'received', label, outcome, pg_backend_pid() % 16, n
from unnest($1::text[], $2::text[], $3::bigint[]) as c (label, outcome, n)
order by label, outcome
on conflict (name, label, outcome, shard)
do update set value = webhook_counters.value + excluded.value
