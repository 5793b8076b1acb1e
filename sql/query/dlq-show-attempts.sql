-- dlq-show-attempts: the attempts in what dlq-show gave, as a table.
--   $1  json  its object
-- Rows: as below, oldest first.
select attempt, at, url, status, duration_ms, error, response
from json_to_recordset($1::json -> 'attempt_log') as a (attempt integer,
    at timestamptz, url text, status integer, duration_ms integer, error text,
    response text)
order by at, attempt
