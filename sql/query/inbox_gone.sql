-- inbox_gone: this consumer stops.
--   $1  text  name
with gone as (
	delete from webhook_workers where name = $1
)
delete from webhook_wakeup
where follower like 'consume%' and split_part(follower, ' ', 2) = $1
