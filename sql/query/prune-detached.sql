-- prune-detached: what was taken out and not dropped.
-- Rows: name.
select name from webhook_detached order by name
