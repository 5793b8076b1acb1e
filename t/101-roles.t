#!/bin/sh
# Roles: each may do its work and no more; a person who may make none can
# still migrate.
. "${0%/*}/lib.sh"
need_cluster

# One who owns a database and has no right besides.
sql "create role plain login"
sql "create database plain owner plain template template0"
export PGDATABASE=plain
PGUSER=plain run hook-migrate
exits 0 'a plain owner of a database may migrate'
like "$(cat "$work/err")" 'role webhook_worker not created' \
    '... with a notice of each role that is missing'
like "$(cat "$work/err")" 'grant .* left out' '... and of each grant'
PGUSER=plain run hook-migrate
is "$rc $(cat "$work/err")" '0 ' '... once'
is "$(PGUSER=plain sql "insert into webhook_outbox (aggregate_id, event_type,
    payload, api_version) values ('a', 't', '{}', 'v1') returning id")" 1 \
    '... and has all of the schema'
export PGDATABASE=postgres

make_db
is "$(sql "select string_agg(rolname, ' ' order by rolname)
    from pg_roles where rolname ~ '^webhook_'")" "webhook_operator\
 webhook_producer webhook_receiver webhook_viewer webhook_worker" \
    'a superuser makes the roles'
is "$(sql "select bool_or(rolcanlogin or rolsuper or rolcreaterole or
    rolcreatedb or rolbypassrls) from pg_roles where rolname ~ '^webhook_'")" \
    f '... none of which can log in or has a power of its own'
PGDATABASE=plain PGUSER=plain HOOK_SCHEMA=later run hook-migrate
is "$rc $(grep -c 'left out' "$work/err")" '0 0' \
    'where they exist, a plain owner grants to them'

hook_sub="insert into webhook_subscriptions (url, headers) values\
 ('http://127.0.0.1/', '{authorization,b34rer}') returning id"
sub=$(sql "$hook_sub")
sql "insert into webhook_secrets (subscription_id, secret)
    values ($sub, 'whsec_x')"
sql "insert into webhook_outbox (event_type, payload) values ('t', '{}')"

# Up to PostgreSQL 14 all may create there; hook-doctor says how to end that.
sql 'revoke create on schema public from public'

# may|may not ROLE STATEMENT
while read -r verdict role statement; do
	run sql "begin; set role webhook_$role; $statement; rollback"
	case $verdict in
	can)	is "$rc $(cat "$work/err")" '0 ' "$role can: $statement" ;;
	cannot)	like "$rc $(cat "$work/err")" '^[1-3] .*permission denied' \
		    "$role cannot: $statement" ;;
	esac
done <<EOT
can worker select webhook_sample('hook-deliver')
cannot viewer select webhook_sample('hook-deliver')
cannot viewer delete from webhook_samples
cannot producer select webhook_look()
cannot producer select webhook_snapshot()
can producer insert into webhook_outbox (aggregate_id, event_type, payload, api_version) values ('a', 't', '{}', null)
can producer insert into webhook_topic_outbox (topic, key, payload) values ('t', 'k', '{}')
can producer insert into webhook_outbox (event_type, payload) values ('t', '{}') returning id
can producer select webhook_enqueue('t', '{}', idempotency_key => 'k')
cannot producer select payload from webhook_outbox
cannot producer update webhook_outbox set payload = '{}'
cannot producer delete from webhook_outbox
cannot producer select * from webhook_subscriptions
cannot producer select * from webhook_secrets
cannot producer select * from webhook_deliveries
cannot producer update webhook_wakeup set asleep = false
cannot producer create table t ()
can worker select secret from webhook_secrets
can worker update webhook_lanes set owner = null, leased_until = null
can worker update webhook_subscriptions set state = 'disabled'
cannot worker update webhook_subscriptions set url = 'http://elsewhere'
cannot worker insert into webhook_subscriptions (url) values ('http://x')
cannot worker insert into webhook_secrets (subscription_id, secret) values ($sub, 'x')
cannot worker delete from webhook_deliveries
cannot worker delete from webhook_outbox
cannot worker delete from webhook_inbox
cannot worker update webhook_inbox set body = ''
cannot operator update webhook_inbox set body = ''
cannot worker update webhook_outbox set payload = '{}'
cannot worker delete from webhook_audit
can operator $hook_sub
can operator update webhook_deliveries set next_attempt_at = now()
can operator insert into webhook_audit (actor, tool, action) values ('a', 't', 'x')
cannot operator delete from webhook_audit
cannot operator update webhook_audit set actor = 'somebody else'
cannot operator delete from webhook_deliveries
cannot operator update webhook_outbox set payload = '{}'
cannot operator delete from webhook_migrations
can viewer select * from webhook_dlq
can viewer select url from webhook_subscriptions
cannot viewer select headers from webhook_subscriptions
cannot viewer select secret from webhook_secrets
cannot viewer insert into webhook_outbox (event_type, payload) values ('t', '{}')
cannot viewer update webhook_subscriptions set state = 'paused'
cannot receiver select * from webhook_outbox
cannot receiver select secret from webhook_secrets
can receiver select name, secret from webhook_sources join webhook_source_secrets k on source_id = webhook_sources.id
can receiver insert into webhook_inbox (source, message_id, body) values ('a', 'b', '') on conflict (source, message_id) do nothing returning source
cannot receiver select body from webhook_inbox
cannot receiver update webhook_inbox set state = 'discarded'
cannot receiver delete from webhook_inbox
cannot receiver insert into webhook_sources (name, scheme) values ('x', 'github')
cannot receiver update webhook_source_secrets set expires_at = null
cannot worker select secret from webhook_source_secrets
cannot producer select * from webhook_sources
can operator insert into webhook_sources (name, scheme) values ('y', 'github')
can viewer select * from webhook_sources
can viewer select id, source, message_id, event_type, state, last_error from webhook_inbox
cannot viewer select headers from webhook_inbox
cannot viewer select body from webhook_inbox
cannot viewer select * from webhook_inbox
cannot viewer select secret from webhook_source_secrets
EOT

# With its role and no other right each tool does its work.
sql "truncate webhook_outbox; delete from webhook_subscriptions"
for r in producer worker receiver operator viewer; do
	sql "create role a_$r login in role webhook_$r"
done
sink <<-'EOT'
	/refuse * status 400
EOT
as() {	# ROLE command...
	role=$1
	shift
	PGUSER=a_$role run "$@"
	is "$rc $(cat "$work/err")" '0 ' "$role may run: $*"
}
as operator hook-sub add -e 'a.*' -H 'x-own: 1' -f '$.n ? (@ > 0)' "$sink/take"
as operator hook-sub add -e 'a.*' "$sink/refuse"
sub=$(jq -r .id "$work/out")
printf '{"n":1}' >"$work/payload"
as producer hook-enqueue -t a.b -k once <"$work/payload"
as worker hook-fanout
as worker hook-deliver
is "$(sql "select string_agg(state, ' ' order by state)
    from webhook_deliveries")" 'delivered failed' '... and it was sent'
as viewer hook-dlq list
dead=$(jq -r .id "$work/out")
as viewer hook-dlq show "$dead"
as viewer hook-dlq count
as viewer hook-sub list
as viewer hook-stat
as operator hook-stat -o prom
as operator hook-sub show "$sub"
as operator hook-sub set -c 3 "$sub"
as operator hook-sub rotate "$sub"
as operator hook-sub pause "$sub"
as operator hook-sub resume "$sub"
as operator hook-dlq retry "$dead"
as worker hook-deliver
as operator hook-replay "$dead"
as worker hook-deliver
as operator hook-dlq drop "$dead"
as operator hook-replay --force -s "$((sub - 1))"
as operator hook-replay --fanout --force -t a.b
PGUSER=a_worker start hook-deliver -f
as operator hook-sub test "$((sub - 1))"
stop
is "$rc" 0 '... while hook-deliver follows as a worker'
as operator hook-sub rm "$sub"
sql "delete from webhook_inbox; insert into webhook_inbox (id, source,
    message_id, body) select n, 's', n, '{}' from generate_series(101, 102) n"
as worker hook-consume -s s -k '$.n' -e -- echo \
    '{"event_type":"a.c","payload":1,"idempotency_key":"again"}'
sql "update webhook_inbox set state = 'dead', finished_at = now()"
as viewer hook-dlq list --inbox
as viewer hook-dlq show m101
as operator hook-dlq retry m101
as operator hook-dlq drop m102
as worker hook-consume -s s -- true

# Receiving
printf topsecret >"$work/secret"
as operator hook-source add -s github -k "$work/secret" gh
as operator hook-source rotate -k "$work/secret" gh
as operator hook-source set -t off gh
as viewer hook-source list
PGUSER=a_receiver start hook-receive -l 127.0.0.1:0
wait_for 10 'grep -q address= "$log"'
at=$(sed -n 's/.*address=//p' "$log")
wait_for 20 'curl -s -f -o /dev/null "http://$at/readyz"'
is "$(curl -s -H "X-Hub-Signature-256: sha256=$(printf x |
    openssl dgst -sha256 -mac HMAC -macopt key:topsecret |
    sed 's/.*= //')" -d x "http://$at/webhooks/gh")" stored \
    'receiver may run: hook-receive'
stop
is "$rc $(sql "select value from webhook_counters
    where name = 'received' and label = 'gh'")" '0 1' '... and count'
as operator hook-source rm gh
is "$(sql 'select count(*) > 5 from webhook_attempts')" t \
    '... and all of it was really done'

# What nobody was granted, nobody has.
sql 'create role nobody_special login'
is "$(sql "select string_agg(c.relname, ' ') from pg_class c
    where c.relnamespace = 'public'::regnamespace
    and c.relkind in ('r', 'p', 'v', 'S')
    and has_table_privilege('nobody_special', c.oid,
	'select, insert, update, delete, truncate')")" '' \
    'everybody else has no right to any table'
is "$(sql "select has_function_privilege('nobody_special',
    'webhook_enqueue(text,json,text,text,text,text,text)', 'execute')")" f \
    '... nor to webhook_enqueue'
PGUSER=nobody_special run hook-sub list
is "$rc $(cat "$work/err")" "69 hook-sub: schema public: role\
 nobody_special may not use it: grant it the webhook_ role of its work" \
    '... which a tool says in one line'

# A producer's own operators, functions and tables, first on his path, stay
# out of what runs with the owner's rights, and out of defaults and checks.
sql "create role evil login in role webhook_producer;
    create schema authorization evil;
    grant temporary on database $db to evil;
    insert into webhook_wakeup values ('fanout', true)
	on conflict (follower) do update set asleep = true"
{
	n=0
	while read -r kind name args result; do
		n=$((n + 1))
		[ "$kind" = op ] && f=op$n || f=$name
		[ "$args" != - ] || args=
		echo "create function evil.$f($args) returns $result
		    language plpgsql as \$\$ begin
		    raise exception 'reached: $name as %', current_user;
		    end \$\$;"
		[ "$kind" = fn ] || echo "create operator evil.$name (leftarg =
		    ${args%,*}, rightarg = ${args#*,}, function = evil.$f);"
	done <<-'EOT'
	op = text,text boolean
	op = boolean,boolean boolean
	op <> bytea,bytea boolean
	op || text,text text
	op ~ text,text boolean
	op <= integer,integer boolean
	op * numeric,integer numeric
	fn current_setting text,boolean text
	fn pg_notify text,text void
	fn webhook_notify text void
	fn webhook_channel text text
	fn webhook_enqueue text,json text
	fn now - timestamptz
	fn clock_timestamp - timestamptz
	fn gen_random_uuid - uuid
	fn length text integer
	fn lpad text,integer,text text
	fn replace text,text,text text
	fn to_hex bigint text
	fn md5 text text
	fn sha256 bytea bytea
	fn octet_length text integer
	EOT
	for t in wakeup outbox idempotency; do
		echo "create table evil.webhook_$t ();
		    create temporary table webhook_$t ();"
	done
	cat <<-'EOT'
	set search_path = evil, pg_temp, pg_catalog, public;
	insert into public.webhook_outbox
	    (aggregate_id, event_type, payload, api_version)
	    values ('a', 'evil', '{}', 'v1');
	insert into public.webhook_topic_outbox (topic, key, payload)
	    values ('evil', 'k', '{}');
	select public.webhook_enqueue('evil', '{}', idempotency_key => 'e');
	select public.webhook_enqueue('evil', '{}', idempotency_key => 'e');
	EOT
} >"$work/evil.sql"
PGUSER=evil run psql -X -q -A -t -v ON_ERROR_STOP=1 -f "$work/evil.sql"
is "$rc $(cat "$work/err")" '0 ' "a producer's own objects are not reached"
is "$(sql "select count(*) from webhook_outbox where event_type = 'evil'")" 3 \
    '... and his events are stored, that with a key once'

done_testing
