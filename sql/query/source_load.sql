-- source_load: all that hook-receive must know of the sources.
-- A row for each secret, newest first within its source, and for a source
-- without one: id, name, scheme, tolerance_s, public_url, unpack, secret as
-- stored, its purpose, unix seconds it is good for (null: for ever).
select s.id, s.name, s.scheme, s.tolerance_s, s.public_url, s.unpack,
    k.secret, k.purpose, extract(epoch from k.expires_at)::bigint
from webhook_sources s
left join webhook_source_secrets k on k.source_id = s.id
    and (k.expires_at is null or k.expires_at > now())
order by s.name, k.created_at desc, k.id desc
