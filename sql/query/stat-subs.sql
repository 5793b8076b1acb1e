-- stat-subs: the subscriptions that are worst off, the worst first.
--   $1  integer  at most this many
-- Rows: id, name, tenant, state, breaker, failing_since, failing_s, pending,
-- due, due_oldest_s, last_error, next (what to type).  Nobody is worst off who is
-- active, does not fail, and has nothing due for over a minute.  last_error is
-- that of what waits; what gave up is hook-dlq's business.  pending and due
-- are those of 128 pages (see stat-facts), or estimated.
with share as materialized (
	select greatest(1, pages / 128.0) as times,
	    least(100, 128 * 100.0 / greatest(pages, 1))::real as percent
	from (select pg_relation_size('webhook_deliveries_pending')
	    / current_setting('block_size')::bigint as pages) s
), scan as materialized (
	select p.id, round(p.n * times)::bigint as pending,
	    round(p.due * times)::bigint as due, p.due_since
	from (select subscription_id as id, count(*) as n,
		count(*) filter (where next_attempt_at <= now()) as due,
		min(next_attempt_at) filter (where next_attempt_at <= now())
		    as due_since
	    from webhook_deliveries_pending
		tablesample system ((select percent from share))
	    group by subscription_id) p, share
), candidate as materialized (
	(select id from webhook_subscriptions
	where state <> 'active' or failing_since is not null
	order by failing_since limit 1000)
	union
	(select id from scan where due_since < now() - interval '1 minute'
	order by due_since limit 100)
), worst as materialized (
	select s.id, s.name, s.tenant, s.state, s.state_reason,
	    s.failing_since, l.breaker, coalesce(c.pending, 0) as pending,
	    coalesce(c.due, 0) as due, c.due_since
	from candidate d
	join webhook_subscriptions s on s.id = d.id
	join webhook_lanes l on l.subscription_id = s.id
	left join scan c on c.id = s.id
	order by s.state = 'active' and s.failing_since is not null desc,
	    s.state = 'active' desc, s.state = 'disabled' desc,
	    s.failing_since, c.due_since, s.id
	limit $1::integer
)
select w.id, w.name, w.tenant, w.state, w.breaker, w.failing_since,
    round(extract(epoch from now() - w.failing_since))::bigint as failing_s,
    w.pending, w.due,
    round(extract(epoch from now() - w.due_since))::bigint as due_oldest_s,
    coalesce(case w.state when 'active' then null else w.state_reason end,
	p.last_error) as last_error,
    case when w.state = 'disabled' and w.failing_since is not null
	then 'hook sub test ' || w.id
    when w.state <> 'active' then 'hook sub resume ' || w.id
    when w.failing_since is not null and w.pending = 0
	then 'hook dlq list -s ' || w.id
    when w.failing_since is not null then 'hook sub test ' || w.id
    else 'hook sub show ' || w.id end as next
from worst w
left join lateral (select last_error from (
	select last_error from webhook_deliveries_pending
	where subscription_id = w.id
	order by next_attempt_at, id limit 50) f
    where last_error is not null limit 1) p on true
