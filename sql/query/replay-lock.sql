-- replay-lock: until this transaction ends, no other replay creates
-- deliveries from the outbox.
select pg_advisory_xact_lock(
    hashtextextended('hookutils replay ' || current_schema(), 0))
