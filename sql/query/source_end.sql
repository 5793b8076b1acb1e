-- source_end: let a source's secrets end, before it gets a new one; those
-- that have ended already are deleted.
--   $1  text    name of the source
--   $2  bigint  milliseconds from now; what ends sooner still does
--   $3  text    purpose: signature or handshake
--   $4  text    who
--   $5  text    why, or null
-- One row: id, how many are taken still, when the first of these ends; none if
-- there is no such source.
with hit as (
	update webhook_sources set updated_at = now() where name = $1
	returning id, name
), ended as (
	update webhook_source_secrets s
	set expires_at = least(s.expires_at, now() + $2 * interval '1 ms')
	from hit
	where s.source_id = hit.id and s.purpose = $3
	    and (s.expires_at is null or s.expires_at > now())
), gone as (
	delete from webhook_source_secrets s using hit
	where s.source_id = hit.id and s.expires_at <= now()
), told as (
	insert into webhook_audit (actor, tool, action, object, reason, detail)
	select $4, 'hook-source', 'rotate', 'source ' || name, $5,
	    jsonb_build_object('grace_ms', $2, 'purpose', $3)
	from hit
)
select id, case when $2 > 0 then (select count(*) from webhook_source_secrets s
	where s.source_id = hit.id and s.purpose = $3
	    and (s.expires_at is null or s.expires_at > now())) else 0 end,
    (select to_char(min(least(s.expires_at, now() + $2 * interval '1 ms')),
	    'YYYY-MM-DD"T"HH24:MI:SS"Z"') from webhook_source_secrets s
	where s.source_id = hit.id and s.purpose = $3
	    and (s.expires_at is null or s.expires_at > now()))
from hit
