-- beat: a follower lives; and the minute's sample of the counters, if nobody
-- has taken it yet.
--   $1  text  tool
-- One row: nothing, integer  the schema's version.
select webhook_sample($1), (select max(version) from webhook_migrations)
