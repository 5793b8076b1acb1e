-- dlq-show: one delivery, whatever its state, with all that is known of it.
--   $1  bigint       delivery id
--   $2  text         its state,
--   $3  timestamptz  when it was finished, or null,
--   $4  timestamptz  when its event was stored: these leave one partition
--   $5  timestamptz  attempts since then, a little early,
--   $6  timestamptz  and until then
-- One row, or none, where it has moved on: a JSON object.  Of a response all but printable ASCII is
-- escaped, so that it is harmless anywhere.  "next" is what to type.
with t (form) as (values ('YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))
select row_to_json(r) from (
	select d.id, d.state, d.event_id, d.event_type, d.subscription_id,
	    coalesce(s.tenant, o.tenant) as tenant, o.aggregate_id,
	    d.attempts, d.attempts - d.round_start as attempts_this_round,
	    d.last_status, d.last_error, d.discarded, d.replay_of,
	    d.outbox_id, d.payload_bytes, d.body is not null as transformed,
	    to_char(d.outbox_created_at, t.form) as event_created_at,
	    to_char(d.created_at, t.form) as created_at,
	    case d.state when 'pending' then to_char(d.next_attempt_at, t.form)
		end as next_attempt_at,
	    to_char(d.give_up_at, t.form) as give_up_at,
	    to_char(d.finished_at, t.form) as finished_at,
	    case when s.id is not null then (select row_to_json(x) from (
		select s.id, s.name, s.state, s.state_reason,
		    to_char(s.failing_since, t.form) as failing_since,
		    regexp_replace(regexp_replace(s.url, '[?#].*$', '?...'),
			'//[^/]*@', '//...@') as url) x)
		end as subscription,
	    (select coalesce(json_agg(x order by x.at, x.attempt), '[]') from (
		select a.attempt, to_char(a.at, t.form) as at, a.url, a.status,
		    a.duration_ms, a.error, (
			select coalesce(string_agg(case
			    when b = 92 then '\\'
			    when b between 32 and 126 then chr(b)
			    when b = 9 then '\t' when b = 10 then '\n'
			    when b = 13 then '\r'
			    else '\x' || lpad(to_hex(b), 2, '0') end,
			    '' order by i), '')
			from generate_series(0,
			    octet_length(a.response_head) - 1) i
			cross join lateral (
			    select get_byte(a.response_head, i) as b) g)
		    as response, a.worker
		from webhook_attempts a where a.delivery_id = d.id
		    and a.at between $5::timestamptz and $6::timestamptz) x)
		as attempt_log,
	    case when d.state = 'pending' and s.state = 'active'
		    then 'nothing: it is tried when it is due'
		when d.state = 'pending' then 'hook-sub resume ' || s.id
		when o.id is null
		    then 'nothing: its event was pruned, its body is gone'
		when s.id is null then 'nothing: its subscription was removed'
		else case s.state when 'disabled'
			then 'hook-sub resume ' || s.id || ' && ' else '' end
		    || case when d.state in ('failed', 'expired')
			then 'hook-dlq retry ' else 'hook-replay --force ' end
		    || d.id
		end as next
	from t
	cross join webhook_deliveries d
	left join webhook_subscriptions s on s.id = d.subscription_id
	left join webhook_outbox o on o.id = d.outbox_id
	    and o.created_at = $4::timestamptz
	where d.id = $1::bigint and d.state = $2::text
	    and ($3::timestamptz is null or d.finished_at = $3)) r
