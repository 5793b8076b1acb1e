-- inbox_ack: what became of messages.
--   $1   text      owner: only what is still this consumer's
--   $2   text      source
--   $3   bigint[]  ids
--   $4   bigint[]  fences
--   $5   text[]    done; retry, failed: again after the pause; dead; back:
--                  as before, its handler was stopped; unused: it never ran
--   $6   bigint[]  pauses, milliseconds
--   $7   int4[]    exit statuses, or null
--   $8   int4[]    signals, or null
--   $9   text[]    what was wrong, or null
--   $10  bytea[]   the end of standard error, or null
--   $11  text[]    message ids: after a restore, or a fail-over to a standby that
--                  was behind, the number may be another message's
-- A row for each that was ours: id.
--
-- "= any (array[...])" can be nothing but a look-up by the primary key, for
-- each: where the table was tiny when this was planned, "=" became a walk
-- through all of it.  For the same reason no condition here matches another
-- index; who is an owner of it has a pending one (leased_while_pending).
with told as materialized (
	select * from unnest($3::bigint[], $4::bigint[], $5::text[],
	    $6::bigint[], $7::int4[], $8::int4[], $9::text[], $10::bytea[],
	    $11::text[]) as t (id, fence, outcome, pause_ms, status,
	    signal, error, tail, message_id)
), acked as (
	update webhook_inbox i
	set state = case when outcome in ('done', 'dead') then outcome
		else 'pending' end,
	    finished_at = case when outcome in ('done', 'dead')
		then clock_timestamp() end,
	    next_attempt_at = case when outcome in ('retry', 'failed')
		then clock_timestamp() + pause_ms * interval '1 ms'
		else i.next_attempt_at end,
	    attempts = i.attempts - (outcome = 'unused')::integer,
	    failures = i.failures + (outcome in ('failed', 'dead'))::integer,
	    owner = null, leased_until = null,
	    exit_status = case when outcome in ('failed', 'dead')
		then t.status else i.exit_status end,
	    exit_signal = case when outcome in ('failed', 'dead')
		then t.signal else i.exit_signal end,
	    last_error = case when outcome in ('failed', 'dead', 'retry')
		then t.error else i.last_error end,
	    stderr_tail = case when outcome in ('failed', 'dead')
		then t.tail else i.stderr_tail end,
	    failed_at = case when outcome in ('failed', 'dead')
		then i.failed_at[greatest(cardinality(i.failed_at) - 98, 1):]
		    || clock_timestamp() else i.failed_at end
	from told t
	where i.id = any (array[t.id]) and i.fence = t.fence and i.owner = $1
	    and i.message_id is not distinct from t.message_id
	returning i.id, outcome
), counted as (
	insert into webhook_counters (name, label, outcome, shard, value)
	select 'consumed', left($2::text, 200), outcome, pg_backend_pid() % 16,
	    count(*)
	from acked where outcome not in ('back', 'unused')
	group by outcome order by outcome
	on conflict (name, label, outcome, shard)
	do update set value = webhook_counters.value + excluded.value
)
select id from acked
