-- sub_set: change a subscription, and write down that it was.
-- A null leaves its column as it is; '' or 0 makes it null where it may be.
--   $1   bigint    id
--   $2   text      tenant
--   $3   text      name
--   $4   text      url
--   $5   text[]    event types
--   $6   text      filter, a jsonpath
--   $7   text      transform, a jq program
--   $8   text      api version
--   $9   text[]    headers: name, value, ...
--   $10  integer   max_concurrency
--   $11  float8    rate_per_second
--   $12  integer   timeout_ms
--   $13  bigint[]  retry_ms
--   $14  bigint    deadline_ms
--   $15  boolean   raw
--   $16  boolean   legacy
--   $17  boolean   ordered
--   $18  boolean   retry_4xx
--   $19  text      add or set
--   $20  text      who
--   $21  text      why, or null
--   $22  text      the url without its query, for the audit
-- One row: id; none if there is no such subscription.
with hit as (
	update webhook_subscriptions set
	    tenant = coalesce($2::text, tenant),
	    name = case when $3::text is null then name else nullif($3, '') end,
	    url = coalesce($4::text, url),
	    event_types = coalesce($5::text[], event_types),
	    filter = case when $6::text is null then filter
		else nullif($6, '')::jsonpath end,
	    transform = case when $7::text is null then transform
		else nullif($7, '') end,
	    api_version = case when $8::text is null then api_version
		else nullif($8, '') end,
	    headers = coalesce($9::text[], headers),
	    max_concurrency = coalesce($10::integer, max_concurrency),
	    rate_per_second = case when $11::float8 is null then rate_per_second
		else nullif($11::float8, 0) end,
	    timeout_ms = coalesce($12::integer, timeout_ms),
	    retry_ms = coalesce($13::bigint[], retry_ms),
	    deadline_ms = coalesce($14::bigint, deadline_ms),
	    raw = coalesce($15::boolean, raw),
	    legacy = coalesce($16::boolean, legacy),
	    ordered = coalesce($17::boolean, ordered),
	    retry_4xx = coalesce($18::boolean, retry_4xx)
	where id = $1
	returning id
), told as (
	insert into webhook_audit (actor, tool, action, object, reason, detail)
	select $20, 'hook-sub', $19, 'subscription ' || id, $21,
	    jsonb_strip_nulls(jsonb_build_object('tenant', $2, 'name', $3,
		'url', $22::text, 'event_types', $5, 'filter', $6,
		'transform', case when $7 is not null then 'changed' end,
		'api_version', $8,
		'headers', case when $9 is not null then 'changed' end,
		'max_concurrency', $10, 'rate_per_second', $11,
		'timeout_ms', $12, 'retry_ms', $13, 'deadline_ms', $14,
		'raw', $15, 'legacy', $16, 'ordered', $17, 'retry_4xx', $18))
	from hit
)
select id from hit
