-- dlq-time: a point in time as somebody typed it, UTC where it has no zone.
--   $1  timestamptz
-- One row: the same, in full.
select $1::timestamptz::text
