-- ids: the ids in some lines of input.
--   $1  text  lines with newlines between: a bare id, or a JSON object with
--             an "id" key; none is empty
-- One row a line, in order: its id as text, null where there is none.
select case when line ~ '^\s*\{' then line::json ->> 'id' else line end
from unnest(string_to_array($1, E'\n')) with ordinality as l (line, number)
order by number
