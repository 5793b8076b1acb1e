-- source_show: a source, with what may be told of its secrets.
--   $1  text  name
-- One row: the columns below; none if there is no such source.
select s.id, s.name, s.scheme, s.tolerance_s, s.public_url, s.unpack,
    s.created_at, s.updated_at,
    coalesce((select json_agg(json_build_object('id', k.id,
	'purpose', k.purpose, 'created_at', to_char(k.created_at,
	    'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
	'expires_at', to_char(k.expires_at, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))
	order by k.created_at desc, k.id desc)
	from webhook_source_secrets k where k.source_id = s.id), '[]')
    as secrets
from webhook_sources s
where s.name = $1
