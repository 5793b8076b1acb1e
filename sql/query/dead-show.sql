-- dead-show: one message of the inbox, whatever its state.
--   $1  bigint  id
-- One row, or none: a JSON object.  Of standard error all but printable ASCII
-- is escaped, so that it is harmless anywhere.  "next" is what to type.
with t (form) as (values ('YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))
select row_to_json(r) from (
	select 'm' || i.id as id, 'message' as kind, i.state, i.source,
	    i.message_id, i.event_type, i.attempts, i.failures, i.takeovers,
	    i.exit_status, i.exit_signal, i.last_error,
	    (select coalesce(string_agg(case when b = 92 then '\\'
		when b between 32 and 126 then chr(b)
		when b = 9 then '\t' when b = 10 then '\n'
		when b = 13 then '\r'
		else '\x' || lpad(to_hex(b), 2, '0') end, '' order by n), '')
	    from generate_series(0, octet_length(i.stderr_tail) - 1) n
	    cross join lateral (select get_byte(i.stderr_tail, n) as b) g)
		as stderr,
	    (select coalesce(json_agg(to_char(f, t.form)), '[]')
	    from unnest(i.failed_at) f) as failed_at,
	    i.order_key, i.owner,
	    to_char(i.received_at, t.form) as received_at,
	    case i.state when 'pending' then to_char(i.next_attempt_at, t.form)
		end as next_attempt_at,
	    to_char(i.leased_until, t.form) as leased_until,
	    to_char(i.finished_at, t.form) as finished_at,
	    case i.state when 'dead' then 'hook-dlq retry m' || i.id
		when 'pending' then 'nothing: it is handled when it is due'
		else 'nothing: it is ' || i.state end as next
	from t cross join webhook_inbox i
	where i.id = $1::bigint) r
