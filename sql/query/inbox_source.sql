-- inbox_source: is there such a source, or was there?
--   $1  text  source
--   $2  text  a jsonpath that is wanted, or null: fails if it is none
-- One row: exists; the name of its consumers (see webhook_wakeup).
select (exists (select from webhook_sources where name = $1)
    or exists (select from webhook_inbox where source = $1)),
    webhook_consumers($1), $2::text::jsonpath is null
