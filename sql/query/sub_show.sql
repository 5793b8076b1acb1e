-- sub_show: one subscription, with all its settings.
--   $1  bigint   id
--   $2  boolean  with the URL's query and the headers' values
-- One row: the columns below; none if there is no such subscription.
select id, tenant, name,
    case when $2::boolean then url
    else regexp_replace(regexp_replace(url, '[?#].*$', '?...'),
	'//[^/]*@', '//...@') end as url,
    event_types, filter::text, transform, api_version,
    array(select headers[i] || ': ' ||
	    case when $2 then headers[i + 1] else '...' end
	from generate_series(1, cardinality(headers), 2) i
	order by i) as headers,
    max_concurrency, rate_per_second, ordered, timeout_ms, retry_ms,
    deadline_ms, case when raw then 'raw' else 'envelope' end as body,
    legacy, retry_4xx, state, state_reason, failing_since, revision,
    created_at, updated_at
from webhook_subscriptions where id = $1
