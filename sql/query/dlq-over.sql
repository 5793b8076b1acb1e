-- dlq-over: which subscriptions and sources have more in the dead-letter
-- queue, or for longer, than one may.
--   $1  bigint       only this subscription, or null
--   $2  text         only this tenant, or null
--   $3  text         only this event type, or null
--   $4  text         only types that begin so and go on, or null
--   $5  timestamptz  finished then or later, or null
--   $6  timestamptz  finished before, or null
--   $7  text         delivery or message: only this kind, or null
--   $8  bigint       warn from so many on, or null
--   $9  bigint       critical from so many on, or null
--   $10 bigint       warn when the oldest waits for so many seconds, or null
--   $11 timestamptz  no delivery finished before that,
--   $12 timestamptz  or from then on (see dlq-days)
-- Rows, the worst first, 20 at most: 1 warning or 2 critical; which, in words;
-- count; age of the oldest in seconds; how to list them; how many there are.
with per as (
	select subscription_id, source, count(*) as n,
	    greatest(extract(epoch from now() - min(finished_at)), 0)::bigint
		as oldest_s
	from webhook_dlq
	where ($1::bigint is null or subscription_id = $1)
	    and ($2::text is null or tenant = $2)
	    and ($3::text is null or event_type = $3)
	    and ($4::text is null
		or starts_with(event_type, $4) and event_type <> $4)
	    and ($5::timestamptz is null or finished_at >= $5)
	    and ($6::timestamptz is null or finished_at < $6)
	    and ($7::text is null or kind = $7)
	    and (kind = 'message' or finished_at >= $11::timestamptz
		and finished_at < $12::timestamptz)
	group by subscription_id, source
), judged as (
	select p.*, case when n >= $9::bigint then 2
	    when n >= $8::bigint or oldest_s >= $10::bigint then 1 end as level
	from per p
)
select j.level, regexp_replace(case
	when j.source is not null then 'source ' || left(j.source, 64)
	when s.id is null then 'subscription ' || j.subscription_id
	    || ' (removed)'
	else 'subscription ' || s.id || coalesce(' (' || left(s.name, 64)
	    || ')', '') end, '[^ -{}~]', '?', 'g') as who, j.n, j.oldest_s,
    'hook-dlq list ' || coalesce('-s ' || j.subscription_id, '--inbox') as todo,
    count(*) over () as of_all
from judged j left join webhook_subscriptions s on s.id = j.subscription_id
where j.level is not null
order by 1 desc, 3 desc, j.subscription_id, j.source limit 20
