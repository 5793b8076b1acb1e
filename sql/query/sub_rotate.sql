-- sub_rotate: let a subscription's secrets end, before it gets a new one.
--   $1  bigint  subscription
--   $2  bigint  milliseconds from now; what ends sooner still does
--   $3  text    who
--   $4  text    why, or null
-- One row: id, how many go on signing, when the first of these ends; none if
-- there is no such subscription.  Touching its row raises the revision, so
-- that workers read the secrets again.
with hit as (
	update webhook_subscriptions set updated_at = clock_timestamp()
	where id = $1
	returning id
), ended as (
	update webhook_secrets s
	set expires_at = least(s.expires_at, now() + $2 * interval '1 ms')
	from hit
	where s.subscription_id = hit.id
), told as (
	insert into webhook_audit (actor, tool, action, object, reason, detail)
	select $3, 'hook-sub', 'rotate', 'subscription ' || id, $4,
	    jsonb_build_object('grace_ms', $2)
	from hit
)
select id, case when $2 > 0 then (select count(*) from webhook_secrets s
	where s.subscription_id = hit.id
	    and (s.expires_at is null or s.expires_at > now())) else 0 end,
    (select to_char(min(least(s.expires_at, now() + $2 * interval '1 ms')),
	    'YYYY-MM-DD"T"HH24:MI:SS"Z"') from webhook_secrets s
	where s.subscription_id = hit.id
	    and (s.expires_at is null or s.expires_at > now()))
from hit
