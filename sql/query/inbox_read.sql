-- inbox_read: what is in messages.
--   $1  bigint[]  ids
--   $2  boolean   say, too, if the body is JSON
-- Rows, in the order of the ids: id, message_id, event_type, received_at, the
-- body, if it is JSON, and the headers, one a line: its name in capitals with
-- _ for -, =, and its value with ? for control characters; those of one name
-- joined by commas.  A name with any other character is left out, since X_A
-- would pass for X-A.
select m.id, message_id, event_type,
    to_char(received_at, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as received_at,
    body, case when $2::boolean then webhook_inbox_json(body) end as is_json,
    (select string_agg(line, E'\n') from (
	select upper(replace(name, '-', '_')) || '=' || string_agg(
	    regexp_replace(value, '[\x01-\x1f\x7f-\x9f]', '?', 'g'), ', '
	    order by i) as line
	from (select headers[i] as name, headers[i + 1] as value, i
	    from generate_series(1, cardinality(headers), 2) i) p
	where name ~ '^[A-Za-z0-9][A-Za-z0-9-]{0,99}$'
	    and octet_length(value) <= 8192
	group by upper(replace(name, '-', '_'))
	order by min(i)) h) as headers
from unnest($1::bigint[]) with ordinality as m (id, n)
join webhook_inbox i on i.id = any (array[m.id])	-- as in inbox_ack
order by m.n
