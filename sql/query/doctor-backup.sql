-- doctor-backup: when was the last base backup?
-- One row: seconds since then, or null.  The server keeps the history file
-- that the end of a backup left, until the next one, where it archives.
select round(extract(epoch from now() - max(modification)))::bigint
from pg_ls_waldir() where name ~ '\.backup$'
