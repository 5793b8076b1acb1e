#!/bin/sh
# hook-migrate: brings any database's schema up to date, whole or not at all.
. "${0%/*}/lib.sh"
HOOK_TEST_TEMPLATE=
need_db

newest=$(ls "$top/sql/schema" | tail -n 1 | cut -c1-4 | sed 's/^0*//')
all=$(ls "$top/sql/schema" | sed 's/\.sql$//; s/^/applied /')
versions="select string_agg(version::text, ',' order by version)
    from webhook_migrations"

# Each case below has a schema of its own in this script's database.
use_schema() {	# NAME
	HOOK_SCHEMA=$1
	PGOPTIONS=$(printf %s "$1" | sed 's/"/""/g; s/[ \\]/\\&/g')
	PGOPTIONS="-c search_path=\"$PGOPTIONS\""
	export HOOK_SCHEMA PGOPTIONS
}

like "$(cat "$work/migrate.log")" "^applied $(printf %04d "$newest")-" \
    'an empty database is brought up to date'
run hook-migrate
exits 0 'again, there is nothing to do'
is "$(cat "$work/out")" '' '... and nothing is said'
is "$(sql "$versions")" "$(seq -s , "$newest")" \
    'every version is in the list once'
is "$(sql "select count(*) from webhook_outbox")" 0 'the tables are there'
is "$(sql "select count(*) > 14 from pg_inherits
    where inhparent = 'webhook_outbox'::regclass")" t \
    'partitions of the coming days are there'

run hook-migrate -x
exits 64 'an unknown option is a usage error'
like "$(cat "$work/err")" '^usage: hook-migrate ' '... with one usage line'
is "$(wc -l <"$work/err")" 1 '... and nothing else'
run hook-migrate extra
exits 64 'an argument is a usage error'
run hook-migrate -h
exits 0 'help is no error'
run hook-migrate -V
like "$(cat "$work/out")" '^[0-9.]+$' 'it says its version'
HOOK_SCHEMA=$(printf '%064d' 0) run hook-migrate
exits 64 'a schema name that PostgreSQL would cut is refused'

use_schema dry
run hook-migrate -n
exits 0 'a dry run'
is "$(cat "$work/out")" "$(echo "$all" | sed 's/^/would /; s/applied/apply/')" \
    '... names what would be applied'
is "$(sql "select to_regnamespace('dry') is null")" t '... and does nothing'

use_schema 'Häns "q" Sch\x'"'e"
run hook-migrate
exits 0 'a schema with capitals, quotes and spaces'
sql "insert into webhook_outbox (aggregate_id, event_type, payload,
    api_version) values ('a', 't', '{}', 'v1')"
is "$(sql "select webhook_enqueue('t', '{}') ~ '^evt_'")" t \
    '... has working functions'
is "$(sql "select nspname from pg_class c
    join pg_namespace n on n.oid = relnamespace
    where c.oid = 'webhook_outbox'::regclass")" "$HOOK_SCHEMA" \
    '... is called just that'

use_schema twice
for n in 1 2 3 4; do
	(
		hook-migrate >"$work/twice.$n" 2>&1
		echo "exit $?" >>"$work/twice.$n"
	) &
done
wait
is "$(cat "$work"/twice.* | sort | uniq -c | sed 's/^ *//')" \
    "$(echo "$all" | sed 's/^/1 /'; echo '4 exit 0')" \
    'four at once: each version is applied by one, and all succeed'

# Frozen by a lock in the middle, then killed with its psql.
use_schema killed
for n in 2 5 "$newest"; do
	psql -X -q >"$work/locker.out" 2>&1 <<-EOT &
		begin;
		create schema if not exists killed;
		create table if not exists killed.webhook_migrations
		    (version int primary key, name text not null,
		    applied_at timestamptz not null default now());
		commit;
		begin;
		insert into killed.webhook_migrations values ($n, 'locker');
		select 'locked';
		select pg_sleep(60);
	EOT
	locker=$!
	wait_for 5 'grep -q locked "$work/locker.out"'
	start hook-migrate
	wait_for 5 '[ "$(sql "select count(*) from pg_stat_activity
	    where datname = current_database()
	    and application_name = '\''hook-migrate'\''
	    and wait_event_type = '\''Lock'\''")" = 1 ]'
	kill -9 "$pid" $(pgrep -P "$pid")
	kill -9 "$locker"
	wait "$pid" "$locker" 2>/dev/null
	sql "select pg_terminate_backend(pid) from pg_stat_activity
	    where datname = current_database() and pid <> pg_backend_pid()" \
	    >/dev/null
done
run hook-migrate
exits 0 'killed in the middle of a version, it goes on from there'
is "$(sql "$versions")" "$(seq -s , "$newest")" '... to the newest'
is "$(sql "select webhook_enqueue('t', '{}') ~ '^evt_'")" t '... and it works'

use_schema broken
mkdir -p "$work/sql/schema"
cp "$top"/sql/schema/*.sql "$work/sql/schema"
cp "$top/sql/partitions.sql" "$work/sql"
cat >"$work/sql/schema/0099-broken.sql" <<-'EOT'
	create table half ();
	select 1 / 0;
EOT
HOOK_SQL=$work/sql run hook-migrate
exits 70 'a migration that fails'
is "$(cat "$work/err")" \
    'hook-migrate: 0099-broken.sql:2: division by zero' '... is named'
is "$(sql "select to_regclass('half') is null")" t '... leaves nothing'
is "$(sql "$versions")" "$(seq -s , "$newest")" \
    '... and those before it stand'
echo 'create table half (); select pg_sleep(1.2);' \
    >"$work/sql/schema/0099-broken.sql"
limits=$(sql "select string_agg('-c ' || name || '=1000', ' ')
    from pg_settings
    where name in ('statement_timeout', 'transaction_timeout')")
HOOK_SQL=$work/sql PGOPTIONS="$PGOPTIONS $limits" run hook-migrate
exits 0 "mended, it goes on, for as long as that takes ($limits)"

run hook-migrate
exits 69 'an older tool leaves a newer schema alone'
is "$(cat "$work/err")" "hook-migrate: schema broken is of version 99,\
 newer than this tool's $newest: upgrade hookutils" '... with one clear line'
run hook-deliver
exits 69 'and so does a program'
is "$(wc -l <"$work/err")" 1 '... with one line'
like "$(cat "$work/err")" 'version 99' '... that says why'

use_schema nothing
run hook-fanout
exits 69 'a program refuses a schema that was never made'
is "$(wc -l <"$work/err")" 1 '... with one line'
like "$(cat "$work/err")" 'hook-migrate' '... that says what to do'

use_schema public
run hook-migrate -d 'host=/nowhere'
exits 75 'no server is a temporary failure'
is "$(wc -l <"$work/err")" 1 '... told in one line'
HOOK_SQL=/nowhere run hook-migrate
exits 69 'no schema files'
mkdir "$work/bin"
for c in dirname grep ls mktemp readlink rm sort wc; do
	ln -s "$(command -v $c)" "$work/bin"
done
sh=$(command -v sh)
PATH=$work/bin run "$sh" "$top/scripts/hook-migrate"
exits 69 'no psql'
like "$(cat "$work/err")" '^hook-migrate: psql: not found' '... is named'

sql "create database ${PGDATABASE}_latin encoding latin1 template template0"
run hook-migrate -d "dbname=${PGDATABASE}_latin"
exits 65 'a database that is not UTF-8 is refused'
like "$(cat "$work/err")" 'LATIN1' '... by the name of its encoding'
sql "drop database ${PGDATABASE}_latin"

PGOPTIONS='-c default_transaction_read_only=on' HOOK_SCHEMA=ro \
    run hook-migrate
exits 75 'a read-only server is a temporary failure'

done_testing
