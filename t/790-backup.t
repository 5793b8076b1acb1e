#!/bin/sh
# Backups: what was restored by the drills of scripts/drill is worked off to
# the end, whatever was under way when the backup was made.
. "${0%/*}/lib.sh"
. "${0%/*}/engine.sh"
mkdir -m 777 "$work/wal"
need_own_cluster archive_mode=on max_prepared_transactions=5 \
    "archive_command=cp %p $work/wal/new && mv $work/wal/new $work/wal/%f \
	&& if test -e $work/pgbackrest.works; then pgbackrest --stanza=shop \
	--config=$work/pgbackrest.conf archive-push %p; fi"
trap 'for d in "$work"/hook-drill.*; do
	[ ! -e "$d" ] || pg-tmp remove "$d/pg"
    done
    rm -rf "$ram"
    clean_up' EXIT
# pgbackrest syncs each of a thousand files; there that costs nothing.
ram=$(mktemp -d -p /dev/shm hook-backup.XXXXXX) || exit
chmod 711 "$ram"

[ "$(tool_is pg_basebackup)" != older ] ||
    { echo '1..0 # SKIP pg_basebackup is older than the server'; exit; }
# A dump is for servers of the version of pg_dump and newer ones.
dumps=1
[ "$(tool_is pg_dump)" = same ] ||
    { dumps=; skip "pg_dump is of another version than the server"; }

drill() {	# argument...: $rc, and the kept server in $kept
	TMPDIR=$work run "$top/scripts/drill" "$@"
	kept=$(sed -n 's/.* pg-tmp remove //p; s/.*pg-tmp remove //p' \
	    "$work/err" | head -n 1)
}

# What the receiver has: path, webhook-id, checksum of the body; from request
# N on.
bodies() {
	awk -v from="$1" '$1 == "in" && $2 >= from { print $2, $5, $6 }' \
	    "$sink_dir/log" | while read -r n path id; do
		[ ! -e "$sink_dir/$n.body" ] ||
		    echo "$path $id $(cksum <"$sink_dir/$n.body")"
	done | sort
}

# Which deliveries should have come, or are to come: path, webhook-id.
owed() {	# STATE
	sql "select '/' || s.name || ' ' || event_id
	    from webhook_deliveries d
	    join webhook_subscriptions s on s.id = subscription_id
	    where d.state in ($1) order by 1" | LC_ALL=C sort
}

export ids="$work/ids" go="$work/go"
# A backup that slept: there are no partitions for today.
echo "select format('drop table %I', name) from webhook_partitions \\gexec" |
    psql -X -q -v ON_ERROR_STOP=1
sink <<'EOT'
/held * hang
/down 1-2 status 500
/down * hang
/made 1-2 status 500
/made * hang
EOT
soon="retry_ms=array_fill(500, array[99])"
sub plain "$sink/plain"
sub ordered "$sink/ordered" ordered=true
sub held "$sink/held" timeout_ms=30000 max_concurrency=3
sub down "$sink/down" "$soon" timeout_ms=30000 max_concurrency=1
sub made "$sink/made" "$soon" timeout_ms=30000 max_concurrency=1 \
    "transform='{n: .n, at: now}'"
sql "update webhook_subscriptions set event_types = '{*}'"
make_events() {	# COUNT NAME
	sql "insert into webhook_outbox (event_type, aggregate_id, payload)
	    select '$2', n % 3, json_build_object('n', n, 'name', '$2')
	    from generate_series(1, $1) n"
}

# pgbackrest as the page sets it up, but for the paths; as the server's owner.
home=$own_cluster
[ ! -f "$home/where" ] || home=$(cat "$home/where")
owner=$(sed -n "s/^owner='\(.*\)'/\1/p" "$home/env")
pgbackrest() {
	set -- pgbackrest --config="$work/pgbackrest.conf" --stanza=shop "$@"
	[ -z "$owner" ] || set -- setpriv --reuid="$owner" \
	    --regid="$(id -g "$owner")" --clear-groups env HOME=/ "$@"
	run "$@"
}
awk '/^\.\\" file pgbackrest/ { there = 1; next }
    there && /^\.Ed/ { exit }
    there && !/^\.Bd/' "$top/man/hook-backup.7" |
    sed -e "s|^repo1-path=.*|repo1-path=$ram/repo|" \
	-e "s|^pg1-path=.*|pg1-path=$home/data|" >"$work/pgbackrest.conf"
printf '%s\n' "pg1-port=$PGPORT" "pg1-socket-path=$PGHOST" '[global]' \
    "lock-path=$ram/repo/lock" log-level-file=off log-level-console=warn \
    >>"$work/pgbackrest.conf"
mkdir -m 777 "$ram/repo"
pgbackrest stanza-create
works=1
if [ -n "${PG_BIN-}" ] &&
    grep -q VersionNotSupported "$work/out" "$work/err"; then
	works=
	skip "pgbackrest doesn't know this PostgreSQL"
else
	exits 0 'pgbackrest takes the configuration of hook-backup(7)'
	: >"$work/pgbackrest.works"
fi

make_events 10 first
hook-fanout
pg_basebackup -D "$work/base" -X none -c fast 2>"$work/err"
check 'a base backup' || note "$(cat "$work/err")"

if [ -n "$works" ]; then
	pgbackrest --type=full backup
	exits 0 '... and one by pgbackrest' || note "$(cat "$work/out")"
fi

# In flight, when the time comes: requests, retries, a stored transform's
# result, events not fanned out, a claimed message, a prepared transaction.
worker -l 1s
wait_for 20 '[ "$(ids /held | wc -l)" = 3 ] &&
    [ "$(count "state = '"'delivered'"'")" = 20 ] &&
    [ "$(ids /down | wc -l)" = 3 ] && [ "$(ids /made | wc -l)" = 3 ]'
make_events 5 second
hook-fanout
sql "insert into webhook_sources (name, scheme) values ('in', 'github')"
sql "insert into webhook_inbox (source, message_id, event_type, body)
    select 'in', n, 'a', '{}' from generate_series(1, 3) n"
sql "begin;
    insert into webhook_outbox (event_id, event_type, payload)
    values ('evt_prepared', 'x', '{}');
    prepare transaction 'one'"
start hook-consume -s in -l 1s -- sleep 600
wait_for 20 '[ "$(sql "select count(*) from webhook_inbox
    where owner is not null")" = 1 ]'
make_events 5 waiting
wait_for 20 '[ "$(count "state = '"'delivered'"'")" = 30 ]'
target=$(sql 'select clock_timestamp()')
sql 'select event_id from webhook_outbox order by 1' >"$work/at-target"

if [ -n "$dumps" ]; then
	drill dump -k
	exits 0 'a dump is restored into a new server' || exit
	is "$(jq -c '[.events, .waiting, .pending, .dead, .inbox, .prepared]' \
	    "$work/out")" '[20,5,45,0,3,0]' '... with all that was committed'
	dumped=$kept
fi

# After that time: delivered, and more made, which the restore won't know.
hook-fanout
make_events 7 late
hook-fanout
sql 'select event_id from webhook_outbox where event_type = '"'late'" \
    >"$work/late"
wait_for 20 '[ "$(count "state = '"'delivered'"'")" = 54 ]'
bodies 1 >"$work/before"
wal=$(sql 'select pg_walfile_name(pg_switch_wal())')
wait_for 30 "[ \"\$(sql \"select last_archived_wal >= '$wal'
    from pg_stat_archiver\")\" = t ]"
for p in $pids; do
	[ "$p" = "$sink_pid" ] || stop "$p" KILL
done
pg-tmp stop "$own_cluster" -m immediate

drill pitr -k -r "cp $work/wal/%f %p" -t "$target" "$work/base"
exits 0 'a base backup and the archive are restored to a point in time' || exit
is "$(jq -c '[.events, .waiting, .pending, .dead, .inbox, .prepared]' \
    "$work/out")" '[20,5,45,0,3,1]' '... with all that was committed then'
[ "$(jq .leased "$work/out")" -ge 1 ]
check '... and lanes that somebody owned'
like "$(cat "$work/err")" 'settle the prepared transactions' \
    '... and a transaction that was prepared, to be settled'
restored=$kept

use() {		# DIR
	env=$(pg-tmp env "$1")
	eval "$env"
	export PGDATABASE="$db"
}
# All followers, on a server that was restored.
resume() {
	owed "'delivered'" >"$work/had"
	owed "'pending'" >"$work/owed"
	from=$(($(grep -c '^in ' "$sink_dir/log") + 1))
	fanout
	worker -l 1s
	start hook-consume -f -s in -l 1s -- true
}
worked_off() {
	wait_for 60 '[ "$(sql "select (select count(*) from webhook_outbox
	    where fanned_out_at is null) + (select count(*)
	    from webhook_deliveries_pending) + (select count(*)
	    from webhook_inbox where state = '"'pending'"')")" = 0 ]' "$1"
}
post() {	# PATH < body
	curl -s --data-binary @- "$sink$1"
}
post /_rules <<'EOT'
EOT

use "$restored"
sql "commit prepared 'one'"
run hook-migrate
exits 0 '(partitions are made for the days since)'
echo evt_prepared >>"$work/at-target"
sort -o "$work/at-target" "$work/at-target"
resume
# Until the restored leases may be taken over there is time for more: the dump
# is still as it was.
if [ -n "$dumps" ]; then
	use "$dumped"
	drill deliveries
	exits 0 'deliveries are made anew, in a copy'
	is "$(jq -c 'select(.made) | [.state, .made]' "$work/out")" \
	    "[\"finished\",$(count)]" '... as many as there are'
	sql "update webhook_subscriptions set event_types = '{z}'
	    where name = 'held';
	    insert into webhook_deliveries (outbox_id, outbox_created_at,
		event_id, event_type, subscription_id, give_up_at,
		payload_bytes)
	    values (999, now(), 'evt_none', 'x', 1,
		now() + interval '1 day', 2)"
	drill deliveries
	exits 1 'where something is wrong'
	is "$(jq -r 'select(.kind) | .kind' "$work/out" | sort | uniq -c |
	    xargs)" "1 counter $(count "subscription_id = (select id
	    from webhook_subscriptions where name = 'held')") not made\
 1 orphan 1 outbox" \
	    '... it is named, as is what a subscription would not get again'
	sql "update webhook_subscriptions set event_types = '{*}'
	    where name = 'held';
	    delete from webhook_deliveries where event_id = 'evt_none'"
fi
drill pitr -r "cp $work/wal/%f %p" -t '2100-01-01' "$work/base"
exits 75 'a time that the archive does not reach'
like "$(cat "$work/err")" 'not restored: .*recovery target' '... is an error'
if [ -n "$works" ]; then
	mkdir "$ram/brought"
	[ -z "$owner" ] || chown "$owner" "$ram/brought"
	pgbackrest --pg1-path="$ram/brought" restore
	exits 0 'pgbackrest brings its backup back' || note "$(cat "$work/out")"
	drill pitr -t "$target" -r "pgbackrest --stanza=shop --pg1-path=\$PWD \
	    --config=$work/pgbackrest.conf archive-get %f %p" "$ram/brought"
	is "$rc $(jq -c '[.events, .waiting, .pending, .dead, .inbox,
	    .prepared]' "$work/out")" '0 [20,5,45,0,3,1]' \
	    '... which is restored to that time, too'
fi
use "$restored"

worked_off 'restored to a point in time, all is worked off'
is "$(sql "select count(*) from webhook_partitions p, webhook_outbox o
    where parent = 'webhook_outbox' and now() >= from_at and now() < until_at
    and o.tableoid::regclass::text = p.name")" 21 \
    '... the events are in a partition of their day'
is "$(count "state <> 'delivered'")" 0 '... delivered, every one'
bodies "$from" >"$work/after"
awk '{ print $1, $2 }' "$work/after" | sort -u >"$work/came"
is "$(comm -23 "$work/owed" "$work/came")" '' \
    '... what was in flight came under the webhook-id that it had'
is "$(comm -12 "$work/had" "$work/came")" '' \
    '... what had been delivered by then did not come again'
sort -u "$work/before" "$work/after" >"$work/all"
is "$(awk '{ print $1, $2 }' "$work/all" | sort | uniq -d)" '' \
    '... and what came twice, before and after, came with the same bytes'
is "$(awk '{ print $1, $2 }' "$work/before" | sort -u |
    comm -12 - "$work/came" | grep -c /plain)" 5 \
    '(what was delivered after that time did)'
is "$(sql 'select event_id from webhook_outbox order by 1' |
    comm -3 - "$work/at-target")" '' \
    'what was committed after that time is gone, and nothing else'
is "$(for p in plain ordered held down made; do
	awk -v p="/$p" '$1 == p { print $2 }' "$work/all" | sort -u |
	    comm -13 - "$work/at-target"
    done)" '' 'every event that is there has come to every subscription'
is "$(sql "select count(*) from webhook_inbox
    where state <> 'done' or attempts < 1")" 0 'so have the messages'
event fresh
worked_off 'what is new is delivered, too'
run hook-reconcile
is "$rc $(cat "$work/out" "$work/err")" '0 ' \
    'hook-reconcile finds nothing missing, doubled or stuck'
for p in $pids; do
	[ "$p" = "$sink_pid" ] || stop "$p"
done

if [ -n "$dumps" ]; then
	use "$dumped"
	resume
	is "$(cat "$work/owed" | wc -l)" 45 '(what the dump held is untouched)'
	worked_off 'restored from a dump, all is worked off'
	is "$(count "state <> 'delivered'")" 0 '... delivered, every one'
	bodies "$from" >"$work/after"
	is "$(awk '{ print $1, $2 }' "$work/after" | sort -u |
	    comm -13 - "$work/owed")" '' \
	    '... under the webhook-ids that they had'
	sort -u "$work/before" "$work/after" >"$work/all"
	is "$(awk '{ print $1, $2 }' "$work/all" | sort | uniq -d)" '' \
	    '... with the same bytes'
	run hook-reconcile
	is "$rc $(cat "$work/out" "$work/err")" '0 ' \
	    '... and hook-reconcile finds nothing'
fi

# A worker that lived through a restore, or a fail-over to a standby that was
# behind, knows a delivery by a number that is another one's now.
for p in $pids; do
	[ "$p" = "$sink_pid" ] || stop "$p"
done
listener 'my ($n, $id) = (0, "");
    while (my $line = <$c>) {
	$n = $1 if $line =~ /^content-length: (\d+)/i;
	$id = $1 if $line =~ /^webhook-id: (\w+)/i;
	last if $line eq "\r\n";
    }
    open(my $f, ">>", $ENV{ids}) or die;
    print $f "$id\n";
    close $f;
    read($c, my $body, $n);
    select(undef, undef, undef, 0.02) until -e $ENV{go};
    print $c "HTTP/1.1 200 OK\r\nConnection: close\r\n",
	"Content-Length: 0\r\n\r\n";'
sub again "http://127.0.0.1:$port/"
sql "insert into webhook_outbox (event_id, event_type, payload)
    values ('evt_gone', 'again', '{}')"
hook-fanout
worker
wait_for 20 'grep -qs evt_gone "$ids"'
sql "with o as (insert into webhook_outbox (event_id, event_type, payload,
	fanned_out_at, fanned_out_to)
    values ('evt_other', 'again', '{}', now(), 1) returning *)
    update webhook_deliveries d set outbox_id = o.id, event_id = o.event_id,
	outbox_created_at = o.created_at
    from o where d.event_id = 'evt_gone' and subscription_id = $sub"
: >"$go"
wait_for 20 '[ "$(count "event_id = '"'evt_other'"'
    and state = '"'delivered'"'")" = 1 ]' \
    'a delivery whose number was that of another is delivered'
is "$(tail -n 1 "$ids")" evt_other '... since it was sent, not the other one'

# What a drill can't do.
drill pitr "$work"
exits 65 'a folder that is no backup'
mkdir -p "$work/old/pg_tblspc"
echo 9.6 >"$work/old/PG_VERSION"
drill pitr "$work/old"
exits 69 'a backup of another PostgreSQL'
like "$(cat "$work/err")" 'of PostgreSQL 9.6, not 1[0-9]+: .*PG_BIN' \
    '... says how to name its server'
for args in '' nonsense 'dump -t x' 'pitr' 'dump x'; do
	# shellcheck disable=SC2086 # several words
	drill $args
	exits 64 "usage: drill $args"
done
is "$(ls -d "$work"/hook-drill.* | wc -l)" $((1 + ${dumps:-0})) \
    'a drill leaves nothing, unless it is told to keep it'

done_testing
