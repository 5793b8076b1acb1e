-- lane_load: what is needed to send to these subscriptions.
--   $1  bigint[]  subscription ids
-- One row each: the columns below; times as unix seconds.  Headers are
-- name, value, ... with U+001F between (null where one holds a control
-- character); secrets are text U+001E expiry (0: none) with U+001F between,
-- newest first, live ones only.
select s.id, s.revision, s.state, s.tenant, s.url, s.transform,
    case when array_to_string(s.headers, '')
	!~ '[\x01-\x08\x0a-\x1f\x7f]'
    then array_to_string(s.headers, E'\x1f') end,
    s.max_concurrency, coalesce(s.rate_per_second, 0), s.ordered,
    s.timeout_ms, array_to_string(s.retry_ms, ','), s.raw, s.legacy,
    s.retry_4xx, coalesce(extract(epoch from s.failing_since)::bigint, 0),
    k.secrets, s.deadline_ms
from webhook_subscriptions s
cross join lateral (
	select string_agg(secret || E'\x1e' || coalesce(
	    extract(epoch from expires_at)::bigint, 0), E'\x1f'
	    order by created_at desc, id desc) as secrets
	from webhook_secrets
	where subscription_id = s.id
	    and (expires_at is null or expires_at > now())) k
where s.id = any ($1::bigint[])
