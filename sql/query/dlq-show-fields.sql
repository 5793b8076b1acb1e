-- dlq-show-fields: what dlq-show gave, as a table of one line a field.
--   $1  json  its object
-- Rows: field, value.
select key as field, value #>> '{}' as value
from (
	select key, value, n, 0 as m
	from json_each($1::json) with ordinality f (key, value, n)
	where key not in ('attempt_log', 'subscription')
	union all
	select 'subscription ' || key, value, 15, m
	from json_each(case json_typeof($1::json -> 'subscription')
	    when 'object' then $1::json -> 'subscription' else '{}' end)
	    with ordinality s (key, value, m)) f
where value #>> '{}' is not null
order by n, m
