-- reconcile-inbox: messages that a dead consumer holds, or that are leased for
-- longer than hook-consume -l allows: then the server's clock was ahead.
-- Rows as in reconcile-events, and none with kind null; id is the message's.
select 'inbox_leased' as kind, id, message_id as event_id,
    null::bigint as subscription_id, 'the lease of ' || owner || ' ran out '
    || date_trunc('second', now() - leased_until) || ' ago' as why,
    'start hook-consume -s ' || source || ': it takes it over' as todo
from webhook_inbox
where state = 'pending' and owner is not null
    and greatest(leased_until, pg_postmaster_start_time())
    < now() - interval '30 s'
union all
select 'inbox_leased', id, message_id, null, 'the lease of ' || owner
    || ' runs until ' || leased_until || ', longer than any is: the server''s'
    ' clock was ahead',
    'update webhook_inbox set leased_until = now() where id = ' || id
from webhook_inbox
where state = 'pending' and leased_until > now() + interval '11 min'
order by id
