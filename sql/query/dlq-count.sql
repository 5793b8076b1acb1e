-- dlq-count: how many wait in the dead-letter queue.
--   $1  bigint       only this subscription, or null
--   $2  text         only this tenant, or null
--   $3  text         only this event type, or null
--   $4  text         only types that begin so and go on, or null
--   $5  timestamptz  finished then or later, or null
--   $6  timestamptz  finished before, or null
--   $7  text         delivery or message: only this kind, or null
--   $8  timestamptz  no delivery finished before that,
--   $9  timestamptz  or from then on (see dlq-days)
-- One row: count; age of the oldest in seconds, or null; how many
-- subscriptions, and sources; the one with most, in words, and its count.
with per as (
	select subscription_id, source, count(*) as n,
	    min(finished_at) as oldest
	from webhook_dlq
	where ($1::bigint is null or subscription_id = $1)
	    and ($2::text is null or tenant = $2)
	    and ($3::text is null or event_type = $3)
	    and ($4::text is null
		or starts_with(event_type, $4) and event_type <> $4)
	    and ($5::timestamptz is null or finished_at >= $5)
	    and ($6::timestamptz is null or finished_at < $6)
	    and ($7::text is null or kind = $7)
	    and (kind = 'message' or finished_at >= $8::timestamptz
		and finished_at < $9::timestamptz)
	group by subscription_id, source
), worst as (
	select case when source is null then 'subscription ' || subscription_id
	    else 'source ' || regexp_replace(left(source, 64), '[^ -{}~]', '?',
		'g') end as name, n
	from per order by n desc, subscription_id, source limit 1
)
select coalesce(sum(n), 0)::bigint as count,
    greatest(extract(epoch from now() - min(oldest)), 0)::bigint as oldest_s,
    count(subscription_id) as subscriptions, count(source) as sources,
    (select name from worst) as worst, (select n from worst) as worst_count
from per
