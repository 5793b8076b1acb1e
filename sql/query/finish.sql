-- finish: write the outcomes of attempts, each with its attempt row.
-- Arrays, one element an attempt:
--   $1  bigint[]   delivery ids
--   $2  bigint[]   subscription ids
--   $3  bigint[]   fences: a worker that lost its lane writes nothing
--   $4  text[]     outcome: delivered, later, failed, discarded
--   $5  integer[]  status, or null
--   $6  bigint[]   later: pause in milliseconds; null: at the deadline
--   $7  text[]     error, or null
--   $8  bytea[]    first bytes of the answer, or null
--   $9  integer[]  duration, milliseconds; null: nothing was sent
--   $10 bigint[]   milliseconds since the attempt began
--   $11 text[]     URL, or null
--   $12 integer[]  attempts before this one: written twice counts once
--   $13 text[]     event ids: after a restore, or a fail-over to a standby that
--                  was behind, the number may be another delivery's
--   $14 text       worker
-- Durations are counted by the first of the bounds that they are below.
-- Looked up by "= any (array[...])", which is planned by index whatever the
-- table held then, but on PostgreSQL 18: such a plan may stay for a minute.
-- One row: how many were written.  A delivery that is no longer pending (its
-- subscription was removed, or it was sent by a later owner) is left alone.
with r as materialized (
	select r.* from unnest($1::bigint[], $2::bigint[], $3::bigint[],
	    $4::text[], $5::integer[], $6::bigint[], $7::text[],
	    $8::bytea[], $9::integer[], $10::bigint[], $11::text[],
	    $12::integer[], $13::text[])
	    as r (id, subscription_id, fence, outcome, status, pause_ms,
	    error, head, duration_ms, ago_ms, url, attempts, event_id)
	join webhook_lanes l on l.subscription_id
	    = any (array[r.subscription_id]) and l.fence = r.fence
), done as (
	update webhook_deliveries d
	set attempts = d.attempts + 1,
	    state = case when r.outcome <> 'later' then r.outcome
		when now() >= d.give_up_at then 'expired'
		else 'pending' end,
	    finished_at = case when r.outcome <> 'later'
		or now() >= d.give_up_at then now() end,
	    next_attempt_at = case when r.outcome <> 'later'
		then d.next_attempt_at
		else least(d.give_up_at,
		    now() + r.pause_ms * interval '1 ms') end,
	    discarded = case when r.outcome = 'discarded' then r.error end,
	    last_status = r.status,
	    last_error = r.error
	from r
	where d.id = any (array[r.id]) and d.state = 'pending'
	    and d.attempts = r.attempts
	    and d.event_id = r.event_id
	returning d.id, d.attempts, d.state, d.event_type, r.status, r.error,
	    r.head, r.duration_ms, r.ago_ms, r.url
), told as (
	insert into webhook_attempts (delivery_id, attempt, at, url, status,
	    duration_ms, error, response_head, worker)
	select id, attempts, now() - ago_ms * interval '1 ms', url, status,
	    duration_ms, error, head, $14
	from done
), tally as materialized (
	select left(event_type, 200) as type, state, width_bucket(duration_ms,
	    array[5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000,
	    30000]) as bucket, count(*) as n, sum(duration_ms) as ms
	from done group by 1, 2, 3
), counted as (
	insert into webhook_counters (name, label, outcome, shard, value)
	select c.* from (
		select 'deliveries_finished'::text, type, state,
		    (pg_backend_pid() % 16)::smallint, sum(n)::bigint
		from tally where state <> 'pending' group by 2, 3
		union all
		select 'attempts', type,
		    case state when 'pending' then 'later' else state end,
		    pg_backend_pid() % 16, sum(n)::bigint
		from tally group by 2, 3
		union all
		select 'attempt_ms', '', (array['5', '10', '25', '50', '100',
		    '250', '500', '1000', '2500', '5000', '10000', '30000',
		    'more'])[1 + bucket],
		    pg_backend_pid() % 16, sum(n)::bigint
		from tally where bucket is not null group by 3
		union all
		select 'attempt_ms_sum', '', '', pg_backend_pid() % 16,
		    sum(ms)::bigint
		from tally having count(ms) > 0
		order by 1, 2, 3) c
	on conflict (name, label, outcome, shard)
	do update set value = webhook_counters.value + excluded.value
)
select count(*) from done
