-- source_list: the sources; nothing that webhook_viewer may not see.
-- Rows, by name: the columns below; how many secrets are good now, and when
-- the next of them ends (null: none will).
select s.id, s.name, s.scheme, s.tolerance_s, s.public_url, s.unpack,
    k.secrets, k.next_ends_at, s.created_at
from webhook_sources s
cross join lateral (
    select count(*) as secrets, min(expires_at) as next_ends_at
    from webhook_source_secrets
    where source_id = s.id and purpose = 'signature'
	and (expires_at is null or expires_at > now())) k
order by s.name
