#!/bin/sh
# hook-doctor: each check is seen failing, and passing once that is mended;
# what it says to type mends it.  (Those of a whole server: 761.)
. "${0%/*}/lib.sh"
need_db
unset HOOK_ALLOW_NET HOOK_JQ

find() {	# [argument...]: a line a finding
	hook-doctor "$@" 2>"$work/err" |
	    jq -r '"\(.status) \(.object // "-"): \(.message)"'
}
mend() {	# CHECK: what it says to type is typed
	hook-doctor "$1" | jq -r .mend | head -n 1 >"$work/mend"
	run sh "$work/mend"
	exits 0 "... and $(cat "$work/mend")"
}
well() {	# CHECK
	is "$(find "$1" | sed 's/ .*//')" ok '... mends it'
}

# How it is run, and what it prints.
run hook-doctor nonsense
exits 64 'an unknown check is a usage error'
run hook-doctor -x nonsense
exits 64 '... to leave out as well'
run hook-doctor --plain-net 1.2.3.4/8
exits 64 '... and so is a network that is none'
run hook-doctor -d 'host=/nowhere' jq
exits 0 'a check of the machine needs no database'
run hook-doctor -d 'host=/nowhere'
exits 75 'without a database it can be tried again'
run hook-doctor
exits 1 'something fails in a new installation'
is "$(jq -r 'keys_unsorted | join(" ")' "$work/out" | sort -u)" \
    'check status object message mend' 'a finding has these keys'
is "$(jq -r .check "$work/out" | uniq)" \
    "$(hook-doctor -l | sed 's/ .*//')" 'every check says something, once'
is "$(jq -r 'select(.status == "ok" and (.object, .mend) != null)' \
    "$work/out")" '' 'what is ok has nothing to mend'
is "$(jq -r 'select(.status == "fail" and .mend == null)' "$work/out")" '' \
    '... what fails has'
run hook-doctor jq files
is "$rc $(jq -r .check "$work/out" | xargs)" '0 files jq' \
    'named checks are run, and no other'
run hook-doctor -x jq jq files
is "$(jq -r .check "$work/out" | xargs)" files '... and not with -x'
run hook-doctor -o table workers jq
like "$(sed -n 2p "$work/out")" '^fail    workers  hook-fanout: was never' \
    'people get a table'
like "$(sed -n 2p "$work/out")" '; mend: systemctl enable' \
    '... with what mends it in the line'

# The database.
is "$(find schema)" "ok -: the schema is this version's" 'schema: ok'
sql 'delete from webhook_migrations
    where version = (select max(version) from webhook_migrations)'
run hook-doctor
exits 1 'schema: an old one fails'
like "$(find schema)" '^fail -: the schema is version [0-9]+, older than' \
    '... by its number'
is "$(jq -r 'select(.check == "schema") | .mend' "$work/out")" \
    hook-migrate '... for hook-migrate to mend'
is "$(jq -r .check "$work/out" | xargs)" 'schema alerts files jq net' \
    '... and what needs a newer one is left out'
sql "insert into webhook_migrations select max(version) + 1, 'x'
    from webhook_migrations"
sql "insert into webhook_migrations select max(version) + 1, 'x'
    from webhook_migrations"
like "$(find caps)" '^fail -: the schema is version [0-9]+, newer than' \
    'a newer one fails, whatever was asked'
sql 'delete from webhook_migrations
    where version = (select max(version) from webhook_migrations)'
sql 'update webhook_migrations set version = -1 where version = 3'
is "$(find schema)" 'fail version 3: was never applied, and newer ones were' \
    'so does one with a gap'
sql 'update webhook_migrations set version = 3 where version = -1'
HOOK_SCHEMA=elsewhere run hook-doctor schema
is "$rc $(jq -r .message "$work/out")" \
    '1 there are no hookutils tables' '... and none at all'

is "$(find indexes)" 'ok -: every index is valid' 'indexes: ok'
sql "update pg_index set indisvalid = false
    where indexrelid = 'webhook_pending_event'::regclass"
like "$(find indexes)" '^fail webhook_pending_event: the index is not valid' \
    'indexes: one that a killed session left fails'
mend indexes
well indexes

is "$(find plans | sed 's/:.*//')" 'ok -' 'plans: ok'
while read -r index statement; do
	sql "drop index $index"
	is "$(find plans | grep "statement $statement " | sed 's/:.*//')" \
	    "fail $index" "plans: $statement fails without $index"
	hook-doctor plans | jq -r .mend | head -n 1 |
	    sed "s|[^ ]*/schema/|'$top'/sql/schema/|" >"$work/mend"
	run sh "$work/mend"
	is "$(cat "$work/err")" '' '... and made as it says'
done <<'EOT'
webhook_outbox_waiting fanout
webhook_lanes_due lane_claim
webhook_pending_due lane_page
webhook_pending_order lane_page_ordered
webhook_pending_id finish
webhook_inbox_due inbox_claim
webhook_subscriptions_tenant fanout
EOT
is "$(find plans | sed 's/:.*//')" 'ok -' '... and is well with all of them'
sql 'alter table webhook_inbox drop constraint one_row_per_message'
is "$(find plans sources | grep '^fail' | sed 's/:.*//' | xargs)" \
    'fail inbox_store fail webhook_inbox' \
    'plans, sources: an inbox that takes twice fails'
mend sources
well sources

is "$(find workers | sed 's/:.*//' | xargs)" \
    'fail hook-fanout fail hook-deliver' 'workers: never seen fails'
hook-fanout
hook-deliver
well workers
sql "update webhook_counters set value = value - 660
    where name = 'seen' and label = 'hook-deliver'"
is "$(find workers)" 'fail hook-deliver: was last seen 11m ago' \
    'workers: and so does ten minutes ago'

sub=$(hook-sub add -r 50 https://example.com/ | jq .id)
for check in caps secrets rotation retention; do
	is "$(find $check | sed 's/:.*//')" 'ok -' "$check: ok"
done
sql "update webhook_subscriptions set rate_per_second = null"
like "$(find caps)" "^warn subscription $sub: has no rate" \
    'caps: no rate is a warning'
mend caps
well caps
sql 'update webhook_subscriptions set max_concurrency = 500'
like "$(find caps)" "^warn subscription $sub: has a cap of 500" \
    'caps: so is a high cap'
mend caps
well caps

sql "insert into webhook_subscriptions (url) select 'https://example.com/'
    from generate_series(1, 30)"
is "$(find secrets | wc -l) $(find secrets | tail -n 1)" \
    '21 fail -: and 10 more' 'many findings are told in short'
sql "delete from webhook_subscriptions where id <> $sub"
sql "update webhook_secrets set expires_at = now() - interval '1 s'"
like "$(find secrets)" "^fail subscription $sub: has no live secret" \
    'secrets: a subscription without a live one fails'
mend secrets
well secrets
sql "update webhook_secrets set secret = 'whsec_c2hvcnQ='"
like "$(find secrets)" "^fail subscription $sub: a secret of it can't sign: " \
    'secrets: and so does one that is short'
sql "update webhook_subscriptions set state = 'paused'"
is "$(find secrets | sed 's/:.*//')" 'ok -' \
    '... where the subscription is active'
sql "delete from webhook_secrets; update webhook_subscriptions
    set state = 'active'"
hook-sub rotate "$sub" >/dev/null

sql "insert into webhook_secrets (subscription_id, secret)
    select subscription_id, secret from webhook_secrets limit 1"
like "$(find rotation)" "^fail subscription $sub: 2 secrets are good for ever" \
    'rotation: one that was never finished fails'
mend rotation
well rotation
sql "update webhook_secrets set expires_at = now() + interval '60 days'
    where expires_at is not null"
like "$(find rotation)" "^warn subscription $sub: an old secret is good until" \
    'rotation: a long overlap is a warning'
sql "delete from webhook_secrets where expires_at is not null"
sql "update webhook_secrets set expires_at = now() + interval '3 days'"
like "$(find rotation)" "^warn subscription $sub: its last secret ends" \
    'rotation: and so is the end of the last one'
mend rotation
well rotation

like "$(find sealed)" '^warn HOOK_KEY_FILE: there is none' \
    'sealed: secrets in clear are a warning'
printf '%064d\n' 7 >"$work/key"
chmod 644 "$work/key"
HOOK_KEY_FILE=$work/key
export HOOK_KEY_FILE
like "$(find sealed | head -n 1)" '^fail HOOK_KEY_FILE: ' \
    'sealed: a key that others may read fails'
chmod 600 "$work/key"
like "$(find sealed)" "^fail subscription $sub: its secret lies in clear" \
    'sealed: and so does a secret from before there was a key'
hook-sub rotate -g 0 "$sub" >/dev/null
well sealed
is "$(find secrets | sed 's/:.*//')" 'ok -' 'secrets: sealed ones are opened'
unset HOOK_KEY_FILE
like "$(find secrets)" "^fail subscription $sub: .*HOOK_KEY_FILE" \
    'secrets: those that can not be opened fail'
is "$(find sealed | sed 's/:.*//')" 'ok -' '... and are sealed all the same'
sql "delete from webhook_secrets"
hook-sub rotate "$sub" >/dev/null

printf s3cret >"$work/secret-file"
hook-source add -s stripe -k "$work/secret-file" shop >/dev/null
is "$(find sources rotation | sed 's/:.*//' | xargs)" 'ok - ok -' \
    'sources: ok'
hook-source set -t off shop >/dev/null
like "$(find sources)" '^warn source shop: does not look at the time' \
    'sources: one that takes old messages is a warning'
mend sources
well sources
sql "update webhook_source_secrets set expires_at = now() - interval '1 s'"
like "$(find sources)" '^fail source shop: does not verify' \
    'sources: one without a live secret fails'
cd "$work" || exit
mend sources
well sources
sql "insert into webhook_source_secrets (source_id, secret)
    select source_id, 'more' from webhook_source_secrets limit 1"
like "$(find rotation)" '^warn source shop: 2 secrets are good for ever' \
    'rotation: two secrets of a source are a warning'
mend rotation
well rotation

sql "update webhook_subscriptions set deadline_ms = 2592000000"
is "$(find retention; find -k 40d retention)" \
    "$(yes 'ok -: events are kept for longer than they are tried' |
    head -n 2)" \
    'retention: the longest deadline is ok'
like "$(find -k 14d retention)" \
    "^fail subscription $sub: is tried for 720 h, but events are kept for 336" \
    'retention: it fails where hook-prune is told less'
sql "update webhook_subscriptions set deadline_ms = 3600000"
like "$(find retention)" "^warn subscription $sub: gives up after 3600 s" \
    'retention: retries that are never made are a warning'
mend retention
well retention
like "$(find -k 30d,inbox=1d retention)" '^fail hook-prune -k: inbox' \
    'retention: and what hook-prune refuses fails'

is "$(find partitions | sed 's/:.*//')" 'ok -' 'partitions: ok'
today=$(sql "select name from webhook_partitions
    where parent = 'webhook_attempts' and from_at <= now() + interval '2 days'
    and until_at > now() + interval '2 days'")
sql "alter table webhook_attempts detach partition $today; drop table $today"
like "$(find partitions)" '^fail webhook_attempts: has no partition for' \
    'partitions: a day that is missing fails'
run hook-prune
well partitions
sql "insert into webhook_attempts (delivery_id, attempt, at)
    values (1, 1, '2020-01-01')"
wait_for 20 '[ "$(sql "select pg_stat_get_live_tuples(
    '"'webhook_attempts_default'::regclass"')")" = 1 ]'
like "$(find partitions)" '^warn webhook_attempts_default: holds rows' \
    'partitions: rows that belong elsewhere are a warning'
sql 'delete from webhook_attempts'
name=$(sql "select name from webhook_partitions
    where parent = 'webhook_attempts' order by from_at desc limit 1")
sql "select webhook_partition_detach('$name')"
like "$(find partitions | tail -n 1)" "^warn $name: was taken out" \
    'partitions: and so is a prune that was killed'

is "$(find vacuum | sed 's/:.*//')" 'ok -' 'vacuum: ok'
sql 'alter table webhook_lanes set (autovacuum_enabled = off)'
is "$(find vacuum)" 'fail webhook_lanes: has autovacuum switched off' \
    'vacuum: a table that is left out fails'
mend vacuum
well vacuum
sql 'alter table webhook_inbox reset (autovacuum_vacuum_scale_factor)'
like "$(find vacuum)" '^warn webhook_inbox: changes all the time' \
    'vacuum: a busy one without settings of its own is a warning'
mend vacuum
well vacuum

is "$(find https | sed 's/:.*//')" 'ok -' 'https: ok where not asked'
is "$(find --https-only https | sed 's/:.*//')" 'ok -' \
    'https: ok where all are'
sql "update webhook_subscriptions set url = 'http://example.com/'"
is "$(find --https-only https)" "fail subscription $sub: is sent to in clear" \
    'https: http fails'

# This machine.
cat >"$work/clock.c" <<'EOT'
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int
clock_gettime(clockid_t id, struct timespec *ts)
{
	int	 rc = syscall(SYS_clock_gettime, id, ts);

	if (id == CLOCK_REALTIME)
		ts->tv_sec -= 90;
	return rc;
}
EOT
cc -shared -fPIC -o "$work/clock.so" "$work/clock.c"
is "$(find clock | sed 's/:.*//')" 'ok -' 'clock: ok'
like "$(ASAN_OPTIONS="$ASAN_OPTIONS:verify_asan_link_order=0" \
    LD_PRELOAD="$work/clock.so" hook-doctor clock |
    jq -r '.status + " " + .message')" \
    "^fail this machine's clock is (90|8[0-9]) s behind the database's" \
    'clock: a minute and a half fails'

is "$(find files | sed 's/:.*//')" 'ok -' 'files: ok'
# shellcheck disable=SC3045 # dash has it
is "$( (ulimit -n 2000; find files) | sed 's/:.*//')" 'warn -' \
    'files: 2,000 are a warning'
# shellcheck disable=SC3045
is "$( (ulimit -n 200; find files) | sed 's/:.*//')" 'fail -' \
    '... and 200 fail'

is "$(find jq)" 'ok -: jq runs' 'jq: ok'
is "$(HOOK_JQ=/nowhere/jq find jq | sed 's/:.*//')" 'fail -' \
    'jq: none fails'

while read -r status nets; do
	is "$(HOOK_ALLOW_NET=$nets find net | sed 's/ .*//')" "$status" \
	    "net: $status with \"$nets\""
done <<'EOT'
ok
ok 10.20.30.0/24,fd12::/48
fail 0.0.0.0/0
fail ::/0
fail 10.0.0.0/8,0.0.0.0/1
fail 169.254.0.0/16
fail fd00::/8
fail nonsense
warn 127.0.0.1
warn ::1
EOT

# Alerts: the rules, the timer, or cron.
mkdir "$work/bin" "$work/rules" "$work/rules/sub"
printf '#!/bin/sh\n[ "$*" = "is-active --quiet hook-alert.timer" ] &&
[ -e %s/active ]\n' "$work" >"$work/bin/systemctl"
chmod +x "$work/bin/systemctl"
PATH=$work/bin:$PATH
alerts() {
	find --rules "$work/rules" alerts | sed 's/ .*//'
}
is "$(alerts)" fail 'alerts: nobody would be told'
: >"$work/active"
is "$(alerts)" ok '... but by the timer'
rm "$work/active"
cp "$top/scripts/etc/prometheus/hook-rules.yml" "$work/rules/sub"
is "$(alerts)" ok '... or by Prometheus'
rm "$work/rules/sub/hook-rules.yml"
grep 'dlq alert' "$top/scripts/etc/crontab" | sed 's/^/#/' >"$work/rules/cron"
is "$(alerts)" fail '... not by a comment'
cp "$top/scripts/etc/crontab" "$work/rules/cron"
is "$(alerts)" ok '... or by cron'

# nginx, with what we ship.
nginx() {
	find --nginx "$work/nginx.conf" "$@" nginx | sed 's/ .*//'
}
cp "$top/scripts/etc/nginx/hook.conf" "$work/nginx.conf"
is "$(nginx)" ok 'nginx: ok as it is shipped'
is "$(nginx --max-body 1000000)" fail \
    'nginx: a limit above that of hook-receive fails'
sed -i 's/client_max_body_size 1m/client_max_body_size 8M/' "$work/nginx.conf"
is "$(nginx) $(nginx --max-body 8388608)" 'fail ok' \
    '... whichever of them was changed'
sed -i 's/client_max_body_size 8M/client_max_body_size 0/' "$work/nginx.conf"
is "$(nginx)" fail 'nginx: none at all fails'
sed -i 's/client_max_body_size/#&/' "$work/nginx.conf"
is "$(nginx)" ok "nginx: its own default is hook-receive's"
echo >"$work/nginx.conf"
is "$(nginx)" warn 'nginx: one that is not before hook-receive is a warning'
rm "$work/nginx.conf"
is "$(nginx)" fail '... and one that is not there fails'
sql 'delete from webhook_sources'
is "$(find nginx | sed 's/:.*//')" 'ok -' \
    'nginx: none is needed where nothing is received'

done_testing
