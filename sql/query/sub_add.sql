-- sub_add: make a subscription; sub_set fills it in.
--   $1  text  url
-- One row: its id.
insert into webhook_subscriptions (url) values ($1) returning id
