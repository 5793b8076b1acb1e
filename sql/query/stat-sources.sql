-- stat-sources: what waits of each source, at most 200 of them.
-- Rows: source, pending and oldest_s (since it came), dead.  Of all sources
-- together 20,000 messages are counted at most, of each its share of that.
with recursive waiting as (
	(select source from webhook_inbox where state = 'pending'
	order by source limit 1)
	union all
	select n.source from waiting w
	cross join lateral (select source from webhook_inbox i
	    where i.state = 'pending' and i.source > w.source
	    order by i.source limit 1) n
), name as materialized (
	select source from (select source from waiting
	    union select name from webhook_sources) s
	order by source limit 200
), died as materialized (
	select source, count(*) as n
	from (select source from webhook_inbox where state = 'dead'
	    limit 10001) d
	group by source
)
select n.source, p.n as pending,
    round(extract(epoch from now() - p.since))::bigint as oldest_s,
    coalesce(d.n, 0) as dead
from name n
cross join lateral (select count(*) as n, min(received_at) as since
    from (select received_at from webhook_inbox
	where source = n.source and state = 'pending'
	order by next_attempt_at, id
	limit (select 20000 / greatest(count(*), 1) from name)) f) p
left join died d on d.source = n.source
order by p.n desc, n.source
