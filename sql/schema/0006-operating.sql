-- What operators look at: the dead-letter queue, the audit trail, jobs, and
-- counters that the programs keep as they go.

-- The outbox is looked at only for deliveries whose subscription was removed.
create view webhook_dlq as
    select d.id, 'delivery'::text as kind, d.subscription_id,
	coalesce(s.tenant, (select o.tenant from webhook_outbox o
	    where o.id = d.outbox_id
	    and o.created_at = d.outbox_created_at)) as tenant,
	d.event_id, d.event_type, d.state, d.attempts, d.last_status,
	d.last_error, d.created_at, d.finished_at
    from webhook_deliveries d
    left join webhook_subscriptions s on s.id = d.subscription_id
    where d.state in ('failed', 'expired');

comment on view webhook_dlq is
    'what gave up, until somebody retries or drops it (hook-dlq)';

create table webhook_audit (
	id		bigint generated always as identity primary key,
	at		timestamptz not null default now(),
	actor		text not null,
	tool		text not null,
	action		text not null,
	object		text,
	reason		text,
	detail		jsonb
);
create index webhook_audit_object on webhook_audit (object, at);

comment on table webhook_audit is
    'who did what to which object, and why; written with the change itself';
comment on column webhook_audit.object is
    'kind and id: subscription 7, delivery 42, job 3';

create table webhook_jobs (
	id		bigint generated always as identity primary key,
	kind		text not null,
	query		jsonb not null,
	rate_per_second	double precision,
	cursor_id	bigint not null default 0,
	done		bigint not null default 0,
	total		bigint,
	made		bigint not null default 0,
	state		text not null default 'running',
	actor		text not null,
	reason		text,
	created_at	timestamptz not null default now(),
	updated_at	timestamptz not null default now(),
	constraint state_known check (state in
	    ('running', 'finished', 'cancelled'))
);

comment on table webhook_jobs is
    'long replays; cursor_id is moved with the rows, so a job resumes';
comment on column webhook_jobs.cursor_id is
    'outbox or delivery id up to which the job is done';
comment on column webhook_jobs.done is
    'deliveries looked at, of total (with --fanout: events)';
comment on column webhook_jobs.made is
    'deliveries put back or created';

create table webhook_counters (
	name		text not null,
	label		text not null default '',
	outcome		text not null default '',
	shard		smallint not null default 0,
	value		bigint not null,
	primary key (name, label, outcome, shard)
) with (fillfactor = 50);

comment on table webhook_counters is
    'only ever rise; kept in the transactions that they count';
comment on column webhook_counters.label is
    'event type, source or the like';
comment on column webhook_counters.shard is
    'spreads writers; readers sum over it';
