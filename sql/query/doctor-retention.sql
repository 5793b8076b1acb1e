-- doctor-retention: do the retries of a subscription fit into the time that
-- events are kept?
--   $1  bigint  milliseconds that hook-prune keeps events; 0: for ever
-- Findings, as lib/doctor.h has them.
select case when deadline_ms > $1 and $1 > 0 then 'fail' else 'warn' end,
    'subscription ' || id,
    case when deadline_ms > $1 and $1 > 0 then 'is tried for '
	|| deadline_ms / 3600000 || ' h, but events are kept for '
	|| $1 / 3600000 || ': what gives up can''t be sent again'
    else 'gives up after ' || deadline_ms / 1000 || ' s, before the last of'
	|| ' its retries, ' || total / 1000 || ' s after the first' end,
    case when deadline_ms > $1 and $1 > 0
	then 'hook-sub set -D ' || $1 / 7200000 || 'h ' || id
    else 'hook-sub set -D ' || total * 5 / 4 / 1000 + 1 || 's ' || id end
from webhook_subscriptions
cross join lateral (select coalesce(sum(r), 0)::bigint as total
    from unnest(retry_ms) r) t
where state <> 'disabled'
    and (deadline_ms > $1 and $1 > 0 or total > deadline_ms)
order by id
