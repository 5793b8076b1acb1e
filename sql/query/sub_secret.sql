-- sub_secret: give a subscription one more secret.
--   $1  bigint  subscription
--   $2  text    the secret, sealed where there is a key
insert into webhook_secrets (subscription_id, secret) values ($1, $2)
