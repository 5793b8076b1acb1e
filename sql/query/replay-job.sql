-- replay-job: one job.
--   $1  bigint  job
-- One row, or none: as below; lib/rerun.c reads the columns by number.
select kind, (select '{' || string_agg(v, ',') || '}'
	from jsonb_array_elements_text(query->'states') v) as states,
    query->>'event_id', query->>'subscription_id', query->>'tenant',
    query->>'event_type', query->>'event_type_prefix', query->>'since',
    query->>'until', coalesce(query->>'force', 'false'), query->>'last_id',
    rate_per_second::numeric, cursor_id, done, total, made, state
from webhook_jobs where id = $1::bigint
