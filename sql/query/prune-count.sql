-- prune-count: what would be deleted.
-- Each $n keeps rows for so many milliseconds; null: for ever.
--   $1  bigint  idempotency keys
--   $2  bigint  messages
--   $3  bigint  replays
--   $4  bigint  audit
--   $5  bigint  workers
-- Rows: table, how many.
select t, n from (values
    (1, 'webhook_idempotency', (select count(*) from webhook_idempotency
	where created_at < now() - $1::bigint * interval '1 ms')),
    (2, 'webhook_inbox', (select count(*) from webhook_inbox
	where received_at < now() - $2::bigint * interval '1 ms'
	    and state <> 'pending'
	    and finished_at < now() - $2::bigint * interval '1 ms')),
    (3, 'webhook_jobs', (select count(*) from webhook_jobs
	where state <> 'running'
	    and updated_at < now() - $3::bigint * interval '1 ms')),
    (4, 'webhook_audit', (select count(*) from webhook_audit
	where at < now() - $4::bigint * interval '1 ms')),
    (5, 'webhook_workers', (select count(*) from webhook_workers
	where seen_at < now() - $5::bigint * interval '1 ms'))) v (i, t, n)
where n > 0 order by i
