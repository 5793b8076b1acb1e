-- doctor-sealed: how many secrets that are still good lie there sealed, and
-- how many in clear?
-- One row: sealed, clear, the first subscription and the first source that
-- has one in clear, or null.
select count(*) filter (where sealed), count(*) filter (where not sealed),
    min(id) filter (where not sealed and source is null),
    min(source) filter (where not sealed)
from (select subscription_id as id, null::text as source,
	starts_with(secret, 'sealed:') as sealed, expires_at
    from webhook_secrets
    union all
    select k.source_id, s.name, starts_with(k.secret, 'sealed:'),
	k.expires_at
    from webhook_source_secrets k join webhook_sources s
    on s.id = k.source_id) k
where expires_at is null or expires_at > now()
