-- sub_secrets: the secrets of a subscription, newest first.
--   $1  bigint   id
--   $2  boolean  with the secrets themselves
-- Rows: id, created_at and expires_at as RFC 3339, secret (as stored) or null.
select id, to_char(created_at, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
    to_char(expires_at, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
    case when $2 then secret end
from webhook_secrets
where subscription_id = $1
order by created_at desc, id desc
