#!/bin/sh
# hook-doctor, what is of a whole server: settings, WAL and backups, roles,
# encryption, poolers, who keeps a snapshot.  Each fails, and is mended.
. "${0%/*}/lib.sh"
need_own_cluster archive_mode=on archive_timeout=0
data=$(sql 'show data_directory')

find() {	# [argument...]: a line a finding
	hook-doctor "$@" 2>"$work/err" |
	    jq -r '"\(.status) \(.object // "-"): \(.message)"'
}
brief() {	# without the words
	find "$@" | sed 's/:.*//' | paste -s -d ' ' -
}
mend() {	# CHECK: what it says to type is typed
	hook-doctor "$1" | jq -r .mend | head -n 1 >"$work/mend"
	run sh "$work/mend"
	exits 0 "... and $(cat "$work/mend")"
}
well() {	# CHECK
	mended=$1
	wait_for 20 '[ "$(find "$mended" | sed "s/ .*//")" = ok ]' \
	    '... mends it'
}

is "$(brief vacuum)" 'ok -' 'vacuum: ok'
sql 'alter system set autovacuum = off'
sql 'select pg_reload_conf()' >/dev/null
wait_for 20 '[ "$(brief vacuum)" = "fail autovacuum" ]' \
    'vacuum: switched off fails'
mend vacuum
well vacuum
sql "alter system set autovacuum_naptime = '1h'"
sql 'select pg_reload_conf()' >/dev/null
wait_for 20 '[ "$(brief vacuum)" = "warn autovacuum_naptime" ]' \
    'vacuum: an hour between looks is a warning'
mend vacuum
well vacuum

# WAL, and a base backup.
wal=$(mktemp -d /tmp/hookutils-wal.XXXXXX)
trap 'clean_up; rm -rf "$wal"' EXIT
chmod 755 "$wal"
mkdir "$wal/kept"
chown --reference="$data" "$wal/kept"
is "$(brief archive)" 'fail archive_command warn archive_timeout' \
    'archive: without a command it fails'
hook-doctor archive | jq -r .mend | tail -n 1 >"$work/mend"
run sh "$work/mend"
exits 0 "... and $(cat "$work/mend")"
sql "alter system set archive_command =
    'test -e $wal/works && cp %p $wal/kept/%f'"
sql 'select pg_reload_conf()' >/dev/null
wait_for 20 '[ "$(brief archive)" = "warn archive_command" ]' \
    'archive: nothing archived yet is a warning'
mend archive
wait_for 30 '[ "$(brief archive)" = "fail archive_command" ]' \
    'archive: a command that fails does'
like "$(find archive)" 'has failed since .*, at 0000' '... with where'
: >"$wal/works"
well archive

like "$(find backup)" '^fail -: the server knows of no base backup' \
    'backup: none fails'
if [ "$(tool_is pg_basebackup)" = older ]; then
	skip 'pg_basebackup is older than the server'
else
	run pg_basebackup -D "$work/base" -c fast -X none
	exits 0 '... pg_basebackup'
	well backup
	wait_for 20 '[ "$(brief --backup-age 1s backup)" = "fail -" ]' \
	    'backup: an old one fails'
fi

# Who keeps a snapshot.  Ten minutes are made of none.
is "$(brief snapshot)" 'ok -' 'snapshot: ok'
PGAPPNAME=report psql -X -q >/dev/null 2>&1 <<-EOT &
	begin isolation level repeatable read;
	select 1;
	\! touch "$work/held"
	select pg_sleep(600);
EOT
holder=$!
pids="$pids $holder"
wait_for 20 '[ -e "$work/held" ]'
is "$(brief snapshot)" 'ok -' 'snapshot: a young one is ok'
sql "alter function webhook_snapshot() rename to webhook_snapshot_now;
    create function webhook_snapshot(out kind text, out pid integer,
	out who text, out application text, out since timestamptz,
	out transactions integer, out blind boolean) returns setof record
    language sql as 'select kind, pid, who, application,
	since - interval ''10 min'', transactions, blind
	from webhook_snapshot_now()'"
is "$(find snapshot)" \
    'fail session report: has kept a snapshot for 10m: nothing is vacuumed' \
    'snapshot: an old one fails'
mend snapshot
well snapshot
wait "$holder"
sql 'drop function webhook_snapshot();
    alter function webhook_snapshot_now() rename to webhook_snapshot'

# Roles.  Up to PostgreSQL 14 everybody may make objects in public.
sql 'revoke create on schema public from public'
is "$(brief roles)" 'ok -' 'roles: ok'
while IFS='|' read -r finding how; do
	sql "$how"
	is "$(brief roles)" "$finding" "roles: $how"
	mend roles
	well roles
done <<'EOT'
warn o'neil|create role "o'neil" login in role webhook_worker, webhook_operator
fail webhook_viewer|alter role webhook_viewer login
fail webhook_worker|alter role webhook_worker createrole
fail webhook_producer|grant webhook_operator to webhook_producer
fail schema public|grant create on schema public to public
warn app|create role app login in role webhook_producer, webhook_operator
EOT
start hook-fanout -f
wait_for 20 'find roles | grep -q "runs as postgres, who is a superuser"' \
    'roles: a follower that is a superuser is a warning'
stop
sql 'create role wide login in role webhook_worker, webhook_operator'
PGUSER=wide start hook-fanout -f
wait_for 20 'find roles | grep -q "^warn hook-fanout: .* webhook_operator as"' \
    'roles: and so is one that is an operator besides'
mend roles
well roles
sql 'alter table webhook_outbox owner to wide'
is "$(find roles)" \
    'warn hook-fanout: runs as wide, who owns the tables' \
    'roles: or who owns the tables'
sql 'alter table webhook_outbox owner to postgres'
is "$(brief roles)" 'ok -' 'roles: a worker that is no more is ok'
stop
sql 'grant webhook_receiver to wide'
PGUSER=wide start hook-receive -l 127.0.0.1:0
wait_for 20 'find roles | grep -q "^warn hook-receive: .* webhook_worker as"' \
    'roles: a receiver that is a worker as well is a warning'
stop

# Rights.
is "$(brief grants)" 'ok -' 'grants: those of the schema are ok'
sql 'create role reporter'
day=$(sql "select min(name) from webhook_partitions
    where parent = 'webhook_outbox'")
while read -r status who how; do
	sql "$how"
	is "$(brief grants)" "$status $who" "grants: $how"
	mend grants
	well grants
done <<EOT
fail public grant select on webhook_outbox to public
fail public grant select (url) on webhook_subscriptions to public
fail public grant execute on function webhook_sample to public
fail public grant execute on function webhook_partition_drop to public
fail webhook_viewer grant select (secret) on webhook_secrets to webhook_viewer
fail webhook_viewer grant select on webhook_subscriptions to webhook_viewer
fail webhook_viewer grant usage on sequence webhook_deliveries_id_seq to webhook_viewer
fail webhook_viewer grant select on $day to webhook_viewer
fail webhook_worker grant delete on webhook_outbox to webhook_worker
fail webhook_worker grant update (body) on webhook_inbox to webhook_worker
fail webhook_receiver grant execute on function webhook_look to webhook_receiver
warn reporter grant select on webhook_outbox to reporter
EOT
sql 'grant insert on webhook_outbox to reporter'
is "$(brief grants)" 'ok -' 'grants: who produces may'
sql 'grant insert on webhook_outbox to webhook_producer with grant option'
like "$(find grants)" '^fail webhook_producer: .*and let others' \
    'grants: passing them on fails'
sql 'revoke grant option for insert on webhook_outbox from webhook_producer'

# Who may not look is told so.
sql 'create role viewer login in role webhook_viewer'
like "$(find -d user=viewer secrets)" "^warn -: can't tell: permission denied" \
    'what may not be seen is a warning'
is "$(find -d user=viewer backup | sed 's/:.*//') $(PGUSER=viewer hook-doctor \
    plans | jq -r .status)" 'warn - warn' '... whichever it is'

# Encryption.
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
    -days 2 -subj /CN=localhost -addext 'subjectAltName=IP:127.0.0.1' \
    -keyout "$data/server.key" -out "$data/server.crt" 2>"$work/err"
chmod 600 "$data/server.key"
chown --reference="$data" "$data/server.key" "$data/server.crt"
cp "$data/server.crt" "$work/ca.pem"
tcp="host=127.0.0.1 dbname=$PGDATABASE"
is "$(brief tls)" 'ok -' 'tls: a socket is ok'
is "$(brief -d "$tcp sslmode=disable" tls)" 'ok -' 'tls: and so is loopback'
is "$(find --plain-net 10.0.0.0/8 -d "$tcp sslmode=disable" tls)" \
    'fail hook-doctor from 127.0.0.1: is not encrypted' \
    'tls: from elsewhere, in clear, fails'
sql 'alter system set ssl = on'
sql 'select pg_reload_conf()' >/dev/null
wait_for 20 'psql -X -q -d "$tcp sslmode=require" -c "" 2>"$work/err"'
like "$(find --plain-net 10.0.0.0/8 -d "$tcp sslmode=require" tls)" \
    '^warn hook-doctor from 127.0.0.1: is encrypted, but sslmode=require' \
    'tls: an unknown server is a warning'
is "$(find --plain-net 10.0.0.0/8,192.168.0.0/16 \
    -d "$tcp sslmode=verify-full sslrootcert=$work/ca.pem" tls |
    sed 's/:.*//')" 'ok -' 'tls: a known one is ok'
start hook-fanout -f -d "$tcp sslmode=disable"
wait_for 20 'find --plain-net ::1 tls |
    grep -q "^fail hook-fanout from 127.0.0.1: "' \
    'tls: a follower that is not encrypted is seen'
stop
like "$(find -d user=viewer tls)" "^warn -: can't tell of other sessions" \
    'tls: others are seen by few'

# A pooler between.
PATH=$PATH:/usr/sbin
mkdir "$work/pool"
pooler() {	# setting...
	pool_port=$(port)
	printf '%s\n' '[databases]' "* = host=$PGHOST port=$PGPORT user=postgres" \
	    '[pgbouncer]' 'listen_addr = 127.0.0.1' "listen_port = $pool_port" \
	    'unix_socket_dir =' 'auth_type = any' "$@" >"$work/pool/ini"
	[ "$(id -u)" != 0 ] || echo "user = $(stat -c %U "$data")" \
	    >>"$work/pool/ini"
	start pgbouncer "$work/pool/ini"
	pool="host=127.0.0.1 port=$pool_port sslmode=disable"
	wait_for 20 'psql -X -q -d "$pool" -c "" 2>"$work/err"'
}
is "$(brief pooler)" 'ok -' 'pooler: none is ok'
pooler 'pool_mode = transaction'
like "$(find -d "$pool" pooler)" '^fail -: a pooler lends our session' \
    'pooler: one that lends transactions fails'
is "$(brief -d "$pool" pooler)" 'fail -' '... again'
is "$(hook-doctor -d "$pool" | jq -r .check | sort -u | wc -l)" \
    "$(hook-doctor -l | wc -l)" '... and all else is looked at all the same'
stop
pooler 'pool_mode = transaction' 'default_pool_size = 1'
is "$(brief -d "$pool" pooler)" 'fail -' '... and so does one with no room'
stop
pooler 'pool_mode = session'
like "$(find -d "$pool" pooler)" '^ok -: a pooler stands between, and' \
    'pooler: one that keeps sessions is ok'
stop

done_testing
