-- reconcile-detached: what a hook-prune that was killed has left.
-- Rows as in reconcile-events, and none with kind null.
select 'unfinished_prune' as kind, null::bigint as id,
    null::text as event_id, null::bigint as subscription_id,
    name || ' was taken out and not dropped' as why,
    'hook-prune' as todo
from webhook_detached order by name
