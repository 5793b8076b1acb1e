-- One row per (event, subscription), in one of three places by state:
--	pending		one small hot partition
--	dead		failed and expired: the dead-letter queue
--	done		delivered and discarded: history
-- A row moves by UPDATE ... SET state.  The last two are split by day of
-- finished_at, so that history goes by DROP.

create sequence webhook_deliveries_id_seq as bigint;

create table webhook_deliveries (
	id		bigint not null
	    default nextval('webhook_deliveries_id_seq'),
	outbox_id	bigint not null,
	outbox_created_at timestamptz not null,
	event_id	text not null,
	event_type	text not null,
	subscription_id	bigint not null,
	state		text not null default 'pending',
	attempts	integer not null default 0,
	round_start	integer not null default 0,
	next_attempt_at	timestamptz not null default now(),
	give_up_at	timestamptz not null,
	created_at	timestamptz not null default now(),
	finished_at	timestamptz,
	last_status	integer,
	last_error	text,
	discarded	text,
	replay_of	bigint,
	order_key	bigint,
	payload_bytes	integer not null,
	body		text,
	constraint state_known check (state in ('pending', 'delivered',
	    'failed', 'expired', 'discarded')),
	constraint finished_when_final check
	    ((state = 'pending') = (finished_at is null)),
	constraint discarded_why check
	    ((state = 'discarded') = (discarded is not null)),
	constraint attempts_counted check
	    (0 <= round_start and round_start <= attempts)
) partition by list (state);
alter sequence webhook_deliveries_id_seq owned by webhook_deliveries.id;

create table webhook_deliveries_pending partition of webhook_deliveries
    for values in ('pending')
    with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02,
	autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
create unique index webhook_pending_id on webhook_deliveries_pending (id);
create index webhook_pending_due on webhook_deliveries_pending
    (subscription_id, next_attempt_at, id);
create index webhook_pending_event on webhook_deliveries_pending
    (outbox_id);
create index webhook_pending_order on webhook_deliveries_pending
    (subscription_id, order_key, outbox_id, id) where order_key is not null;

create table webhook_deliveries_dead partition of webhook_deliveries
    for values in ('failed', 'expired') partition by range (finished_at);
create table webhook_deliveries_dead_default
    partition of webhook_deliveries_dead default;
create index webhook_dead_id on webhook_deliveries_dead (id);
create index webhook_dead_of on webhook_deliveries_dead
    (subscription_id, finished_at, id);
create index webhook_dead_age on webhook_deliveries_dead (finished_at, id);
create index webhook_dead_event on webhook_deliveries_dead (outbox_id);

create table webhook_deliveries_done partition of webhook_deliveries
    for values in ('delivered', 'discarded') partition by range (finished_at);
create table webhook_deliveries_done_default
    partition of webhook_deliveries_done default;
create index webhook_done_id on webhook_deliveries_done (id);
create index webhook_done_event on webhook_deliveries_done (outbox_id);

comment on column webhook_deliveries.outbox_created_at is
    'with outbox_id, finds the body in one partition of the outbox';
comment on column webhook_deliveries.attempts is
    'all attempts ever; the number of the last one';
comment on column webhook_deliveries.round_start is
    'attempts when the retry schedule last started anew (hook-dlq retry)';
comment on column webhook_deliveries.give_up_at is
    'when the last attempt is due';
comment on column webhook_deliveries.discarded is
    'why it will never be sent';
comment on column webhook_deliveries.order_key is
    'hash of aggregate_id (else of event_id) where the subscription is ordered, else null';
comment on column webhook_deliveries.payload_bytes is
    'length of the outbox row''s payload, so that a worker can budget';
comment on column webhook_deliveries.body is
    'what the transform made; null: the outbox row''s payload is sent';

create table webhook_attempts (
	delivery_id	bigint not null,
	attempt		integer not null,
	at		timestamptz not null,
	url		text,
	status		integer,
	duration_ms	integer,
	error		text,
	response_head	bytea,
	worker		text
) partition by range (at);
create table webhook_attempts_default partition of webhook_attempts default;
create index webhook_attempts_of on webhook_attempts (delivery_id);

comment on column webhook_attempts.url is
    'where it went; a query string is not kept';
comment on column webhook_attempts.response_head is
    'the first bytes of the answer''s body, as they came';
