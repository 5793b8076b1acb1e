-- replay-apply: put dead deliveries back into the queue, the same rows; with
-- force send finished ones again, as new rows under the same event id.
--   $1  bigint[]  delivery ids
--   $2  boolean   force
--   $3  text      actor
--   $4  text      reason, or null
--   $5  text      tool
--   $6  bigint    job, or null: then each delivery gets an audit row
--   $7  bigint    the job's cursor; where it isn't, nothing is done
--   $8  bigint    its new cursor
-- Rows: what waits now.  Others may not be replayed: replay-judge says why.
--
-- Lanes are locked before rows and in id order, like everywhere, and whether
-- one is free is told by its locked row (see lane_earliest.sql).  Of two at
-- once one waits.  It then fails with SQLSTATE 40001, since the rows
-- went to another partition: run again, it does not find them any more.
-- next_due_at is changed by the rule in lane_earliest.sql.
-- "offset 0" holds the planner to one look by index for each delivery.
with job as materialized (
	select id from webhook_jobs
	where id = $6::bigint and cursor_id = $7::bigint and state = 'running'
	for update
), asked as materialized (
	select d.*, s.deadline_ms, s.state as sub_state,
	    hashtextextended(coalesce(o.aggregate_id, d.event_id), 0) as key
	from webhook_deliveries d
	join webhook_subscriptions s on s.id = d.subscription_id
	    and s.state <> 'disabled'
	cross join lateral (
		select aggregate_id from webhook_outbox
		where id = d.outbox_id and created_at = d.outbox_created_at
		offset 0) o
	where d.id = any ($1::bigint[])
	    and (d.state in ('failed', 'expired')
		or $2::boolean and d.state in ('delivered', 'discarded'))
	    and ($6::bigint is null or exists (select from job))
), locked as materialized (
	select l.subscription_id, l.ordered, l.hold_until,
	    l.owner is null and (l.next_due_at is null
		or l.next_due_at > now() - interval '5 s') as free
	from webhook_lanes l
	where l.subscription_id in (select subscription_id from asked)
	order by l.subscription_id
	for no key update of l
), moved as (
	update webhook_deliveries d
	set state = 'pending', finished_at = null, next_attempt_at = now(),
	    round_start = d.attempts,
	    order_key = case when k.ordered then a.key end,
	    give_up_at = now() + a.deadline_ms * interval '1 ms'
	from asked a join locked k on k.subscription_id = a.subscription_id
	where d.id = a.id and d.state in ('failed', 'expired')
	returning d.id, d.event_id, d.subscription_id, d.state,
	    null::bigint as replay_of, a.state as was
), made as (
	insert into webhook_deliveries (outbox_id, outbox_created_at,
	    event_id, event_type, subscription_id, give_up_at, replay_of,
	    order_key, payload_bytes, body)
	select a.outbox_id, a.outbox_created_at, a.event_id, a.event_type,
	    a.subscription_id, now() + a.deadline_ms * interval '1 ms', a.id,
	    case when k.ordered then a.key end, a.payload_bytes, a.body
	from asked a join locked k on k.subscription_id = a.subscription_id
	where a.state in ('delivered', 'discarded')
	order by a.id
	returning id, event_id, subscription_id, state, replay_of, event_type
), waiting as materialized (
	select id, event_id, subscription_id, state, replay_of from moved
	union all
	select id, event_id, subscription_id, state, replay_of from made
), lowered as (
	update webhook_lanes l
	set next_due_at = least(l.next_due_at - interval '1 us', due.at)
	from (select distinct k.subscription_id, greatest(k.hold_until,
		case a.sub_state when 'active' then now()
		else now() + a.deadline_ms * interval '1 ms' end) as at
	    from locked k join asked a using (subscription_id)
	    where k.free and k.subscription_id in
		(select subscription_id from waiting)) due
	where l.subscription_id = due.subscription_id
), counted as (
	insert into webhook_counters (name, label, outcome, shard, value)
	select c.* from (
		select 'deliveries_created'::text, left(event_type, 200),
		    ''::text, (pg_backend_pid() % 16)::smallint, count(*)
		from made group by 2
		union all
		select 'deliveries_reopened', '', was, pg_backend_pid() % 16,
		    count(*)
		from moved group by 3
		order by 1, 2, 3) c
	on conflict (name, label, outcome, shard)
	do update set value = webhook_counters.value + excluded.value
), told as (
	insert into webhook_audit (actor, tool, action, object, reason, detail)
	select $3, $5, case $5 when 'hook-dlq' then 'retry' else 'replay' end,
	    'delivery ' || coalesce(replay_of, id), $4,
	    case when replay_of is not null
		then jsonb_build_object('new_delivery', id) end
	from waiting where $6::bigint is null
), advanced as (
	update webhook_jobs j
	set cursor_id = $8::bigint, done = done + cardinality($1::bigint[]),
	    made = made + (select count(*) from waiting), updated_at = now()
	from job where j.id = job.id
), woken as materialized (
	select pg_notify(webhook_channel('deliver'), '')
	from (select from waiting limit 1) w
)
select * from waiting
where (select count(*) from woken) >= 0
order by id
