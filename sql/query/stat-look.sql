-- stat-look: what takes long to look at: as the last sample has it, or looked
-- at anew, where that is old or an operator has done something since.
-- One row: at (now), looked_at, near_from and near_to (what lies outside of
-- them is in the sample), waiting, waiting_since, dead, dead_since,
-- gave_up (how many had then; null: looked at now), partitions_until, tables.
with last as materialized (
	select * from webhook_samples order by at desc limit 1
), fresh as materialized (
	select * from last s
	where at > now() - interval '150 s' and not exists
	    (select from webhook_audit a where a.id > s.audit_id)
)
select now() as at, coalesce(f.at, now()) as looked_at,
    now() - interval '1 day' as near_from,
    now() + interval '1 day' as near_to,
    coalesce(f.waiting, l.waiting) as waiting,
    nullif(nullif(coalesce(f.waiting_since, l.waiting_since), 'infinity'),
	'-infinity') as waiting_since,
    coalesce(f.dead, l.dead) as dead,
    coalesce(f.dead_since, l.dead_since) as dead_since,
    case when f.at is not null then
	coalesce((f.counts ->> 'deliveries_finished failed')::bigint, 0)
	+ coalesce((f.counts ->> 'deliveries_finished expired')::bigint, 0)
	end as gave_up,
    coalesce(f.partitions_until, l.partitions_until) as partitions_until,
    coalesce(f.tables, l.tables) as tables
from (select) one
left join fresh f on true
left join (select * from webhook_look()
    where not exists (select from fresh)) l on true
