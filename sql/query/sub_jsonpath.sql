-- sub_jsonpath: is this a jsonpath?  Fails if not.
--   $1  text
select $1::text::jsonpath
