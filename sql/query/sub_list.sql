-- sub_list: all subscriptions; nothing that webhook_viewer may not see.
--   $1  text  of this tenant only, or null
-- Rows, by id: the columns below.
select id, tenant, name,
    regexp_replace(regexp_replace(url, '[?#].*$', '?...'),
	'//[^/]*@', '//...@') as url,
    event_types, state, state_reason, failing_since, created_at
from webhook_subscriptions
where $1::text is null or tenant = $1
order by id
