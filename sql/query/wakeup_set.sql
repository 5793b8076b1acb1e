-- wakeup_set: a follower says whether it sleeps.
--   $1  text     fanout
--   $2  boolean  asleep
insert into webhook_wakeup (follower, asleep) values ($1, $2)
on conflict (follower) do update set asleep = excluded.asleep
where webhook_wakeup.asleep is distinct from excluded.asleep
