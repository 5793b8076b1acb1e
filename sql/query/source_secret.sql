-- source_secret: give a source one more secret.
--   $1  bigint  source
--   $2  text    purpose: signature or handshake
--   $3  text    the secret, sealed where there is a key
insert into webhook_source_secrets (source_id, purpose, secret)
values ($1, $2, $3)
