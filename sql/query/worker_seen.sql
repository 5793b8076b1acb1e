-- worker_seen: this worker lives.
--   $1  text  name
--   $2  text  tool
insert into webhook_workers (name, tool) values ($1, $2)
on conflict (name) do update set seen_at = now()
