-- doctor-secrets: the live secrets of active subscriptions, a page of them.
--   $1  bigint   subscriptions behind this one
--   $2  integer  at most this many
-- Rows, by subscription: its id, the secret as stored; null: it has none.
select s.id, k.secret
from (select id from webhook_subscriptions
    where state = 'active' and id > $1 order by id limit $2) s
left join webhook_secrets k on k.subscription_id = s.id
    and (k.expires_at is null or k.expires_at > now())
order by s.id, k.id
