-- The dead-letter queue without the outbox in its plan: the tenant of a
-- delivery whose subscription was removed is looked up by a function, which
-- is planned when it is called.  With 45 days of outbox a list took 40 ms
-- more, for what is seldom there.
-- lock: webhook_dlq, access exclusive

create function webhook_event_tenant(outbox_id bigint,
	outbox_created_at timestamptz)
returns text
language plpgsql stable set search_path from current as $$
begin
	return (select o.tenant from webhook_outbox o
	    where o.id = webhook_event_tenant.outbox_id
		and o.created_at = webhook_event_tenant.outbox_created_at);
end
$$;

create or replace view webhook_dlq as
    select d.id, 'delivery'::text as kind, d.subscription_id,
	case when s.id is not null then s.tenant
	    else webhook_event_tenant(d.outbox_id, d.outbox_created_at)
	    end as tenant,
	d.event_id, d.event_type, d.state, d.attempts, d.last_status,
	d.last_error, d.created_at, d.finished_at, null::text as source
    from webhook_deliveries d
    left join webhook_subscriptions s on s.id = d.subscription_id
    where d.state in ('failed', 'expired')
    union all
    select id, 'message', null, null, message_id, event_type, state,
	attempts, exit_status, last_error, received_at, finished_at, source
    from webhook_inbox
    where state = 'dead';
