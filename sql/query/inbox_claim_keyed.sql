-- inbox_claim_keyed: inbox_claim, keeping the messages of one key in order.
--   $1 to $8 as in inbox_claim
--   $9   jsonpath  where the key is in the body
--   $10  text[]    keys whose message was finished just now
-- Rows: as inbox_claim gives; order_key is set, '' for none.
select id, fence, attempts, failures, takeovers, order_key, cursor_at,
    cursor_id, more
from webhook_inbox_claim($1::text, $2::text, $3::text, $4::timestamptz,
    $5::bigint, $6::integer, $7::text, $8::bigint * interval '1 ms',
    $9::text::jsonpath, $10::text[])
