-- doctor-plan: does a statement find what it needs by its indexes?
--   $1  json    its plan, made without sequential scans where there is any
--		 other way, so that it does not depend on sizes
--   $2  text    its name
--   $3  text[]  the indexes that it was written for
--   $4  text    where the schema's files are
-- Findings, as lib/doctor.h has them.  A partition's index stands for its
-- parent's.  webhook_wakeup has a row a follower, and needs no index.
with recursive used as (
	select to_regclass(quote_ident(n #>> '{}'))::oid as index
	from (select jsonb_path_query($1::jsonb, 'strict $.**."Index Name"')
	    union all
	    select jsonb_path_query($1::jsonb,
		'strict $.**."Conflict Arbiter Indexes"[*]')) as p (n)
	union
	select h.inhparent from used u join pg_inherits h
	on h.inhrelid = u.index
), scanned as (
	select distinct n #>> '{}' as name
	from jsonb_path_query($1::jsonb,
	    'strict $.** ? (@."Node Type" == "Seq Scan")."Relation Name"') n
), unused as (
	select w.name from unnest($3::text[]) w (name)
	where to_regclass(quote_ident(w.name))::oid
	    in (select index from used) is not true
)
select 'fail', name, 'statement ' || $2 || ' does not use this index'
    || case when to_regclass(quote_ident(name)) is null
	then ': there is none' else '' end,
    case when to_regclass(quote_ident(name)) is not null
	then 'psql -c ''\d ' || name || ''''
    when name !~ '_pkey$'
	then 'awk ''/create.* index ' || name || ' /,/;/'' ' || $4
	    || '/schema/*.sql | psql' end
from unused
union all
select 'fail', name, 'statement ' || $2 || ' reads the whole table',
    'psql -c ''\d ' || name || ''''
from scanned
where starts_with(name, 'webhook_') and name <> 'webhook_wakeup'
    and not exists (select from unused)
