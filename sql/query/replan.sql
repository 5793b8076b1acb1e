-- replan: forget the plans of this session's statements.
-- Rows: none.
-- They are made once, and hold until the server has analysed a table anew,
-- which may be a minute after it has grown from nothing to 100,000 rows.
discard plans
