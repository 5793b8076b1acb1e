-- prune-told: what was done, as a list.
--   $1  text[]    make, drop, keep, delete or vacuum
--   $2  text[]    of which table
--   $3  bigint[]  how many rows, or null
--   $4  text[]    why, or null
-- Rows: the same.
select * from unnest($1::text[], $2::text[], $3::bigint[], $4::text[])
    as t (action, object, rows, why)
