-- inbox_tick: this consumer lives; forget those that were killed.
--   $1  text  name
--   $2  text  tool
-- Rows: none.
with beat as (
	insert into webhook_workers (name, tool) values ($1, $2)
	on conflict (name) do update set seen_at = now()
)
delete from webhook_wakeup w
where follower like 'consume%'
    and split_part(follower, ' ', 2) <> $1
    and not exists (select from webhook_workers
	where name = split_part(w.follower, ' ', 2)
	    and seen_at > now() - interval '1 minute')
