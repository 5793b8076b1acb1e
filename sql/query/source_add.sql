-- source_add: make a source, and write down that it was made.
--   $1  text     name
--   $2  text     scheme
--   $3  integer  seconds of tolerance; -1 no check; null the scheme's own
--   $4  text     public url, or null
--   $5  boolean  unpack
--   $6  text     who
--   $7  text     why, or null
-- One row: id; none if there is one of that name.
with made as (
	insert into webhook_sources (name, scheme, tolerance_s, public_url,
	    unpack)
	values ($1, $2, $3, $4, $5)
	on conflict (name) do nothing
	returning id, name
), told as (
	insert into webhook_audit (actor, tool, action, object, reason, detail)
	select $6, 'hook-source', 'add', 'source ' || name, $7,
	    jsonb_strip_nulls(jsonb_build_object('scheme', $2::text,
		'tolerance_s', $3::integer, 'public_url', $4::text,
		'unpack', $5::boolean))
	from made
)
select id from made
