-- doctor-rotation: whose secrets overlap for too long, or end with no other?
-- Findings, as lib/doctor.h has them.
with live as materialized (
	select subscription_id as id, null::text as source, expires_at
	from webhook_secrets where expires_at is null or expires_at > now()
	union all
	select source_id, s.name, k.expires_at
	from webhook_source_secrets k join webhook_sources s
	on s.id = k.source_id
	where purpose = 'signature'
	    and (k.expires_at is null or k.expires_at > now())
), owner as materialized (
	select id, source, count(*) as n,
	    count(*) filter (where expires_at is null) as endless,
	    max(expires_at) as last
	from live group by id, source
)
select case when source is null and endless > 1 then 'fail' else 'warn' end,
    case when source is null then 'subscription ' || id
    else 'source ' || source end,
    case when endless > 1 then endless || ' secrets are good for ever: an'
	|| ' old one was never ended'
    when endless = 0 then 'its last secret ends '
	|| to_char(last, 'YYYY-MM-DD')
    else 'an old secret is good until ' || to_char(last, 'YYYY-MM-DD') end,
    case when source is null then 'hook-sub rotate -g 24h ' || id
    else 'hook-source rotate -g 24h -k secret-file ' || source end
from owner
where endless > 1
    or endless = 1 and n > 1 and last > now() + interval '30 days'
    or endless = 0 and last < now() + interval '7 days'
order by source is not null, id
