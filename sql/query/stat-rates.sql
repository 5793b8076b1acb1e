-- stat-rates: what happened in the last minute, hour and day, by the samples.
-- Rows: span; over how many seconds it really is (between the two samples
-- that stand for it, or since the first one; null: no sample); deliveries
-- that were delivered, failed, expired; attempts; messages that were stored,
-- consumed; and the times below which half, 95 % and 99 % of the attempts
-- were, in milliseconds, by interpolation between the bounds of attempt_ms.
with span (i, span, length) as (values
	(1, 'minute', interval '1 minute'), (2, 'hour', interval '1 hour'),
	(3, 'day', interval '1 day')
), since as materialized (
	select i, span, coalesce(before.at, after.at) as at,
	    coalesce(before.counts, after.counts) as counts
	from span
	left join lateral (select at, counts from webhook_samples
	    where at <= now() - length and at > now() - length * 1.2
		- interval '1 minute'
	    order by at desc limit 1) before on true
	left join lateral (select at, counts from webhook_samples
	    where at > now() - length order by at limit 1) after on true
), total as materialized (
	select name || ' ' || outcome as key, sum(value) as n
	from webhook_counters where name <> 'seen' group by 1
), delta as materialized (
	select i, key, greatest(n - coalesce((counts ->> key)::numeric, 0), 0)
	    as n
	from since, total where at is not null
), bucket as materialized (
	select d.i, b.low, b.high, d.n,
	    sum(d.n) over (partition by d.i order by b.high) as so_far,
	    sum(d.n) over (partition by d.i) as all_of_it
	from (select lag(high, 1, 0) over (order by high) as low, high,
		case high when 60000 then 'more' else high::text end as bound
	    from unnest(array[5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000,
		10000, 30000, 60000]) high) b
	join delta d on d.key = 'attempt_ms ' || b.bound
), quantile as materialized (
	select distinct on (b.i, q) b.i, q, round(case when b.high = 60000
	    then b.low else b.low + (b.high - b.low)
	    * (q * b.all_of_it - (b.so_far - b.n)) / b.n end)::integer as ms
	from bucket b, unnest(array[0.5, 0.95, 0.99]) q
	where b.n > 0 and b.so_far >= q * b.all_of_it
	order by b.i, q, b.high
)
select s.span, round(extract(epoch from now() - s.at))::integer as seconds,
    t.delivered, t.failed, t.expired, t.attempts, t.received, t.consumed,
    (select ms from quantile q where q.i = s.i and q.q = 0.5) as p50_ms,
    (select ms from quantile q where q.i = s.i and q.q = 0.95) as p95_ms,
    (select ms from quantile q where q.i = s.i and q.q = 0.99) as p99_ms
from since s
left join lateral (select
	coalesce(sum(n) filter (where key = 'deliveries_finished delivered'),
	    0)::bigint as delivered,
	coalesce(sum(n) filter (where key = 'deliveries_finished failed'),
	    0)::bigint as failed,
	coalesce(sum(n) filter (where key = 'deliveries_finished expired'),
	    0)::bigint as expired,
	coalesce(sum(n) filter (where starts_with(key, 'attempts ')), 0)
	    ::bigint as attempts,
	coalesce(sum(n) filter (where key = 'received stored'), 0)
	    ::bigint as received,
	coalesce(sum(n) filter (where key = 'consumed done'), 0)
	    ::bigint as consumed
    from delta d where d.i = s.i) t on s.at is not null
order by s.i
