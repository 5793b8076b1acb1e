-- reconcile-pending: the next deliveries that wait.
--   $1  bigint   only ids above this
--   $2  integer  at most this many
-- Rows as in reconcile-events; the first has the last id looked at.
with batch as materialized (
	select id, event_id, subscription_id, outbox_id, outbox_created_at
	from webhook_deliveries_pending
	where id > $1::bigint order by id limit $2::integer
)
select null::text as kind, (select max(id) from batch) as id,
    null::text as event_id, null::bigint as subscription_id,
    null::text as why, null::text as todo
union all
select 'orphan', b.id, b.event_id, b.subscription_id,
    'is pending, and its event is not in the outbox',
    'restore the event; or wait: hook-deliver lets it fail'
from batch b
where not exists (select from webhook_outbox o
    where o.id = b.outbox_id and o.created_at = b.outbox_created_at)
union all
select 'laneless', b.id, b.event_id, b.subscription_id,
    'is pending, and its subscription has no lane: nobody will send it',
    'set state = ''discarded'', discarded = ''subscription removed'','
    ' finished_at = now() where id = ' || b.id
from batch b
where not exists (select from webhook_lanes l
    where l.subscription_id = b.subscription_id)
