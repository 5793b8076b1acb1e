-- worker_gone: this worker stops; forget it and those silent for a day.
--   $1  text  name
delete from webhook_workers
where name = $1 or seen_at < now() - interval '1 day'
