-- inbox_store: keep messages, each once, and wake who sleeps for them.
--   $1  text[]   source
--   $2  text[]   message id
--   $3  text[]   event type, or null
--   $4  text[]   headers: name, value, name, ... with line ends between
--   $5  bytea[]  body
-- A row for each that is new, in the order given: source, message id.  Of two
-- alike in one call the first is kept.
--
-- Here and not in a trigger, which cost 10 microseconds a message: consumers
-- of what others insert find it at their next poll.
with kept as (
	insert into webhook_inbox (source, message_id, event_type, headers,
	    body)
	select source, message_id, event_type,
	    string_to_array(headers, e'\n'), body
	from unnest($1::text[], $2::text[], $3::text[], $4::text[],
	    $5::bytea[])
	    as m (source, message_id, event_type, headers, body)
	on conflict (source, message_id) do nothing
	returning source, message_id
), woken as (
	select count(pg_notify(webhook_channel(c.name), '')::text) as n
	from (select webhook_consumers(source) as name
	    from (select distinct source from kept) s) c
	where coalesce(current_setting('hook.notify', true), '')
		not in ('off', 'false', '0')
	    and exists (select from webhook_wakeup where asleep
		and starts_with(follower, c.name || ' '))
)
select source, message_id from kept
where (select n from woken) is not null
