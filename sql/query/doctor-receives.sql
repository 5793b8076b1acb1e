-- doctor-receives: does this installation receive?
-- One row: whether there is a source.
select exists (select from webhook_sources)
