-- source_set: change a source, and write down that it was.
-- A null leaves its column as it is.
--   $1  text     name
--   $2  integer  seconds of tolerance; -1 no check; -2 the scheme's own
--   $3  text     public url; '' none
--   $4  boolean  unpack
--   $5  text     who
--   $6  text     why, or null
-- One row: id; none if there is no such source.
with hit as (
	update webhook_sources set
	    tolerance_s = case when $2::integer is null then tolerance_s
		else nullif($2::integer, -2) end,
	    public_url = case when $3::text is null then public_url
		else nullif($3, '') end,
	    unpack = coalesce($4::boolean, unpack),
	    updated_at = now()
	where name = $1
	returning id, name
), told as (
	insert into webhook_audit (actor, tool, action, object, reason, detail)
	select $5, 'hook-source', 'set', 'source ' || name, $6,
	    jsonb_strip_nulls(jsonb_build_object('tolerance_s', $2,
		'public_url', $3, 'unpack', $4))
	from hit
)
select id from hit
