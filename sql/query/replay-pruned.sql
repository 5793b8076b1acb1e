-- replay-pruned: does a replay ask for what is not there any more?
--   $1  text         its event id, or null
--   $2  timestamptz  its since, or null
-- Rows: what to say, if anything.  hook-prune writes down up to when the
-- outbox has lost events (prune-detach).
select 'event ' || $1::text || ' is not in the outbox: it was pruned, with its'
    ' body, or was never there'
where $1::text is not null
    and not exists (select from webhook_outbox where event_id = $1)
union all
select 'events made before ' || to_char(until at time zone 'utc',
    'YYYY-MM-DD"T"HH24:MI:SS"Z"') || ' were pruned, with their bodies'
from (select max((detail->>'until')::timestamptz) as until
    from webhook_audit
    where object = 'table webhook_outbox' and tool = 'hook-prune'
	and action = 'detach') a
where $1::text is null and until > $2::timestamptz
