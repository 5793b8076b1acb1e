-- inbox_sql: run a handler's SQL in the transaction that is open.
--   $1  text  statements
select webhook_inbox_sql($1)
