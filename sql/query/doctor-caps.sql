-- doctor-caps: which active subscriptions may be sent to too hard?
-- Findings, as lib/doctor.h has them.
select 'warn', 'subscription ' || id,
    case when rate_per_second is null then 'has no rate: a backlog goes out'
	|| ' as fast as it answers'
    else 'has a cap of ' || max_concurrency || ' requests at once' end,
    case when rate_per_second is null then 'hook-sub set -r 50 '
    else 'hook-sub set -c 5 ' end || id
from webhook_subscriptions
where state = 'active'
    and (rate_per_second is null or max_concurrency > 100)
order by id
