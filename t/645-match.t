#!/bin/sh
# Who gets what; and rows that can't be worked on cost only themselves.
. "${0%/*}/lib.sh"
. "${0%/*}/engine.sh"
need_db
export HOOK_ALLOW_NET=127.0.0.1
sink </dev/null

# Eight lists, twelve types: the table of hook-fanout(1).
lists='{user.create,user.update} {user.*} {*} {user} {User.Create} {user.%}
{user_create} {user.*,user.create,*}'
sql "insert into webhook_subscriptions (name, url, event_types, tenant)
    select l, '$sink/types', l::text[], 'types'
    from regexp_split_to_table('$lists', '\s+') l;
    insert into webhook_outbox (tenant, event_type, payload)
    select 'types', t, '{}' from unnest(array['user.create', 'user.update',
	'user.created', 'userx.create', 'user', 'user.create.v2',
	'USER.CREATE', 'user_create', 'userXcreate', '', 'a b',
	repeat('x', 300)]) t"
run hook-fanout
exits 0 'twelve types of events are fanned out'
is "$(sql "select s.event_types::text || ': ' || coalesce(string_agg(
    left(d.event_type, 20), ' ' order by d.outbox_id), '')
    from webhook_subscriptions s
    left join webhook_deliveries d on d.subscription_id = s.id
    where s.tenant = 'types' group by s.id order by s.id")" \
    "{user.create,user.update}: user.create user.update
{user.*}: user.create user.update user.created user.create.v2
{*}: user.create user.update user.created userx.create user user.create.v2\
 USER.CREATE user_create userXcreate  a b xxxxxxxxxxxxxxxxxxxx
{user}: user
{User.Create}: 
{user.%}: 
{user_create}: user_create
{user.*,user.create,*}: user.create user.update user.created userx.create\
 user user.create.v2 USER.CREATE user_create userXcreate  a b\
 xxxxxxxxxxxxxxxxxxxx" 'exact, * and user.* match as the manual says'
is "$(sql "select count(*) from (select from webhook_deliveries
    group by outbox_id, subscription_id having count(*) > 1) d")" 0 \
    'matched by three patterns, it is one delivery'
run sql "insert into webhook_subscriptions (url, event_types)
    values ('http://127.0.0.1/', '{}')"
like "$rc $(cat "$work/err")" '^1 .*event_types_some' 'an empty list is refused'

# Tenant and version; two subscriptions with one URL.
sql "insert into webhook_subscriptions (name, url, event_types, tenant,
	api_version) values
    ('v1', '$sink/v', '{v}', 'a', 'v1'), ('any', '$sink/v', '{v}', 'a', null),
    ('other', '$sink/v', '{v}', 'b', null), ('none', '$sink/v', '{v}', '', null);
    insert into webhook_outbox (tenant, event_type, api_version, payload)
    values ('a', 'v', 'v1', '{}'), ('a', 'v', 'v2', '{}'),
	('a', 'v', null, '{}'), ('', 'v', 'v1', '{}'), ('c', 'v', 'v1', '{}')"
run hook-fanout
is "$(sql "select s.name, count(d.id) from webhook_subscriptions s
    left join webhook_deliveries d on d.subscription_id = s.id
    where s.name in ('v1', 'any', 'other', 'none') group by 1 order by 1")" \
    'any|3
none|1
other|0
v1|1' 'an event reaches only its tenant, and its version where one is asked for'
is "$(sql "select fanned_out_to from webhook_outbox where event_type = 'v'
    order by id" | tr '\n' ' ')" '2 1 1 1 0 ' '... of one URL, each subscription'

# Filters: the first result decides; what jsonb can't hold is told.
sql "insert into webhook_subscriptions (name, url, event_types, tenant, filter)
    select f, '$sink/f', '{f}', 'f', f::jsonpath
    from unnest(array['\$.n > 100', '\$ ? (@.n > 100)', '\$.ok',
	'\$.list[*] ? (@ == 3)', 'strict \$.no.such', '\$.s like_regex \"^a\"'])
	f;
    insert into webhook_outbox (tenant, event_type, payload)
    select 'f', 'f', p::json from unnest(array['{\"n\":101}', '{\"n\":100}',
	'{\"ok\":true}', '{\"ok\":false}', '{\"ok\":null}', '{\"ok\":\"\"}',
	'{\"list\":[1,3]}', '{\"s\":\"abc\"}', 'null', '\"x\"',
	'{\"n\":1e131073}', '{\"s\":\"\\u0000\",\"n\":101}',
	'{\"s\":\"\\ud800\"}']) p"
run hook-fanout
exits 0 'filters, and payloads that jsonb can not hold'
is "$(sql "select s.filter || ' ' || string_agg(d.state || ' ' || o.payload,
    ', ' order by o.id) from webhook_deliveries d
    join webhook_outbox o on o.id = d.outbox_id
    join webhook_subscriptions s on s.id = d.subscription_id
    where o.tenant = 'f' and d.state = 'pending' group by s.id order by s.id" |
    sed 's/\$\.//; s/"//g')" '(n > 100) pending {n:101}
$?(@.n > 100) pending {n:101}
ok pending {ok:true}, pending {ok:}
list[*]?(@ == 3) pending {list:[1,3]}
(s like_regex ^a) pending {s:abc}' 'the first result of a filter decides'
is "$(sql "select count(*), count(distinct last_error), min(left(last_error, 8)),
    count(*) filter (where attempts = 0 and finished_at is not null)
    from webhook_deliveries where event_type = 'f' and state = 'failed'")" \
    '18|3|filter: |18' \
    'what can not be told fails for each subscription, with the reason'
is "$(sql "select count(*) from webhook_outbox where fanned_out_at is null")" 0 \
    '... and the fan-out goes on'

# Types longer than an index takes, and a damaged row.
sql "insert into webhook_outbox (event_type, payload)
    select 'bad', to_json((select string_agg(md5(n::text || k), '')
	from generate_series(1, 4000) n)) from generate_series(1, 2) k;
    insert into webhook_outbox (event_type, payload)
    select string_agg(md5(n::text), ''), '{}' from generate_series(1, 400) n"
sub long "$sink/long" "tenant='long'"
sub all "$sink/all"
sql "update webhook_subscriptions set event_types = '{*}' where id = $sub"
bad=$(sql "select min(id) from webhook_outbox where event_type = 'bad'")
damage
events good 20
run hook-fanout
exits 0 'a damaged row does not stop the fan-out'
is "$(grep -c '^error event can.t be fanned out' "$work/err")" 1 \
    '... it is told of, once'
is "$(sql "select id from webhook_outbox where fanned_out_at is null")" "$bad" \
    '... and left waiting, it alone'
is "$(count "event_type = 'good'") $(count "length(event_type) = 12800")" '20 1' \
    '... the others have gone on, and one with a type of 12,800 characters'
fanout -i 100ms
wait_for 5 'grep -q "left waiting" "$log"'
events good 5
wait_for 5 '[ "$(count "event_type = '\''good'\''")" = 25 ]' \
    'a follower goes on behind it'
stop
is "$rc" 0 '... and lives'
sql "alter table webhook_outbox disable trigger user;
    delete from webhook_outbox where id = $bad"
is "$(sql "select id from webhook_outbox where id = $bad")" '' 'an operator removes it'
run hook-deliver
exits 0 'deliver'
is "$(count "subscription_id = $sub and state <> 'delivered'")" 0 \
    '... delivers the rest'

done_testing
