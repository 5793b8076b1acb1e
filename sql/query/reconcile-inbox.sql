-- reconcile-inbox: messages that a dead consumer holds.
-- Rows as in reconcile-events, and none with kind null; id is the message's.
select 'inbox_leased' as kind, id, message_id as event_id,
    null::bigint as subscription_id, 'the lease of ' || owner || ' ran out '
    || date_trunc('second', now() - leased_until) || ' ago' as why,
    'start hook-consume -s ' || source || ': it takes it over' as todo
from webhook_inbox
where state = 'pending' and owner is not null
    and greatest(leased_until, pg_postmaster_start_time())
    < now() - interval '30 s'
order by id
