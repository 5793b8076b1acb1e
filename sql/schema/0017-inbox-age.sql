-- Ids of messages rise with the time that they came, so hook-prune finds the
-- old ones by id; an index by time cost every message a tenth of what storing
-- it costs the server.
-- lock: webhook_inbox, access exclusive

drop index webhook_inbox_age;
