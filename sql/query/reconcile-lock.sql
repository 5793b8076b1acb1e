-- reconcile-lock: keep hook-prune from starting, while connected.
-- One row: whether none is at work.
select pg_try_advisory_lock_shared(hashtextextended(
    'hookutils prune ' || current_schema(), 0))
