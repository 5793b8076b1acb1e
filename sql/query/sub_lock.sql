-- sub_lock: wait for who changes a subscription, so that the next statement
-- sees what became of it.
--   $1  bigint  subscription
-- One row: id; none if there is no such subscription.
select id from webhook_subscriptions where id = $1 for no key update
