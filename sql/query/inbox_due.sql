-- inbox_due: is there such a source, and what waits in it?
--   $1  text  source
--   $2  text  only of this type, or null
--   $3  text  only of types that begin so and go on, or null
-- One row: exists, due, later, leased.
select exists (select from webhook_sources where name = $1)
	or exists (select from webhook_inbox where source = $1),
    count(*) filter (where next_attempt_at <= now()
	and (owner is null or leased_until < now())),
    count(*) filter (where next_attempt_at > now() and owner is null),
    count(*) filter (where leased_until >= now())
from webhook_inbox
where source = $1 and state = 'pending'
    and ($2::text is null or event_type = $2)
    and ($3::text is null
	or starts_with(event_type, $3) and event_type <> $3)
