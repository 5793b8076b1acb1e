#!/bin/sh
# hook-sub: what is added is what is stored; secrets are shown once; each
# change has a row in the audit, and what is refused changes nothing.
. "${0%/*}/lib.sh"
need_db

good() {	# The same as run, for what has to succeed.
	run "$@"
	[ "$rc" = 0 ] || { cat "$work/err"; exit 1; }
}
out() {		# FILTER: of the last output, on one line
	jq -c "$1" "$work/out" | tr '\n' ' ' | sed 's/ $//'
}
audit() {	# ID: action, who and why of its last change
	sql "select action, actor, reason from webhook_audit
	    where object = 'subscription $1' order by id desc limit 1"
}
all() {		# Everything that a refusal must not change.
	sql 'select * from webhook_subscriptions order by id'
	sql 'select * from webhook_secrets order by id'
	sql 'select count(*) from webhook_audit'
}

# Usage.
while read -r args; do
	# shellcheck disable=SC2086
	run hook-sub $args </dev/null
	exits 64 "usage: hook-sub $args"
	is "$(tail -n 1 "$work/err" | grep -c '^usage: hook-sub ')" 1 \
	    '... says so'
done <<'EOT'

nosuch
-x
add
add http://example.com/ 1
add --secret http://example.com/
add -k secret --ed25519 http://example.com/
list 1
list -n
show
show -n 1
set
set 1 http://example.com/ 2
set -k secret 1
set --ed25519 1
pause
rm -x 1
rotate 1 2
rotate -
test
test 1 2
EOT
run hook-sub -h
is "$rc $(grep -c '^usage: hook-sub ' "$work/out")" '0 9' '-h helps'
run hook-sub rotate -h
is "$rc $(grep -c '^usage: hook-sub rotate ' "$work/out")" '0 1' \
    '... with one command'
run hook-sub -V
like "$rc $(cat "$work/out")" '^0 [0-9]+\.[0-9]' '-V says which version'

# Add.
good hook-sub add http://127.0.0.1:9/
is "$(out '[.id, .tenant, .name, .url, .event_types, .filter, .transform,
    .api_version, .headers]')" \
    '[1,"",null,"http://127.0.0.1:9/",["*"],null,null,null,[]]' \
    'a URL is enough: every event of the tenant without a name'
is "$(out '[.max_concurrency, .rate_per_second, .ordered, .timeout_ms,
    .deadline_ms, .body, .legacy, .retry_4xx, .state]')" \
    '[5,null,false,15000,259200000,"envelope",false,false,"active"]' \
    '... and the settings have their defaults'
is "$(out '.retry_ms | map(. / 1000)')" \
    '[5,300,1800,7200,18000,36000,50400,72000]' '... the schedule as well'
like "$(out .secret)" '^"whsec_[A-Za-z0-9+/]{43}="$' \
    'it gets a secret of 32 bytes'
is "$(sql 'select secret from webhook_secrets')" \
    "$(jq -r .secret "$work/out")" \
    '... which is the one that is stored'
is "$(audit 1)" "add|$(id -un)|" 'the audit has who'

echo '{id: .id}' >"$work/x.jq"
echo whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE= >"$work/secret"
good hook-sub add -T acme -e 'a.b,payment.*' -f '$.n ? (@ > 1)' \
    -x "$work/x.jq" -H 'X-One: 1' -H 'Authorization:Bearer b34rer ' -c 7 \
    -r 0.5 -w 2500ms -S 1s,0,2m -D 1h -b raw -k "$work/secret" -L -O -4 \
    --name 'A name' -v v2 -u me -m 'they asked' \
    'https://hooks.example.com:8443/in?token=t0psecret'
is "$(out '[.tenant, .name, .event_types, .filter, .transform]')" \
    '["acme","A name",["a.b","payment.*"],"$.\"n\"?(@ > 1)","{id: .id}\n"]' \
    'all settings: what and to whom'
is "$(out '[.max_concurrency, .rate_per_second, .timeout_ms, .retry_ms,
    .deadline_ms, .body, .legacy, .ordered, .retry_4xx, .api_version]')" \
    '[7,0.5,2500,[1000,0,120000],3600000,"raw",true,true,true,"v2"]' \
    '... and how'
is "$(sql 'select headers from webhook_subscriptions where id = 2')" \
    '{X-One,1,Authorization,"Bearer b34rer"}' \
    'headers are stored as names and values'
is "$(audit 2)" 'add|me|they asked' 'the audit has who and why'
cat "$work/out" >"$work/said"

# Who may see what.
good hook-sub list
cat "$work/out" >>"$work/said"
is "$(out '.id, .url')" \
    '1 "http://127.0.0.1:9/" 2 "https://hooks.example.com:8443/in?..."' \
    'list has them all, without a query'
good hook-sub list -T acme
is "$(out .id)" 2 'list -T has those of a tenant'
good hook-sub list -o table
is "$(awk '{ print $1, $2, $3 }' "$work/out" | head -n 1)" 'id tenant name' \
    '-o table is one'
good hook-sub show 2
cat "$work/out" >>"$work/said"
is "$(out .headers)" '["X-One: ...","Authorization: ..."]' \
    'show hides the values of headers'
is "$(out '.secrets | map(keys)')" '[["created_at","expires_at","id"]]' \
    '... and secrets'
sql "select * from webhook_audit" >>"$work/said"
is "$(grep -cE 't0psecret|b34rer' "$work/said")" 0 \
    'no query and no header is anywhere in that'
is "$(grep -c MDEyMzQ1 "$work/said")" 1 'the secret only in the answer of add'
good hook-sub show --secret 2
is "$(out '.url, .headers[], .secrets[0].secret' | tr -d '"')" \
    "https://hooks.example.com:8443/in?token=t0psecret X-One: 1 Authorization:\
 Bearer b34rer $(cat "$work/secret")" \
    'show --secret has it all'
run hook-sub show 1 99
is "$rc $(out .id) $(cat "$work/err")" \
    '1 1 hook-sub: subscription 99: not found' 'show names what is not there'
PGOPTIONS='-c role=webhook_viewer' run hook-sub list
is "$rc $(wc -l <"$work/out")" '0 2' 'a viewer may list'
PGOPTIONS='-c role=webhook_viewer' run hook-sub show --secret 1
is "$rc $(cat "$work/out")" '69 ' '... but not see secrets'

# Set: one thing at a time, and back.
hook-sub show --secret 1 >"$work/before"
while IFS='|' read -r key value args; do
	eval "good hook-sub set $args 1"
	hook-sub show --secret 1 >"$work/after"
	is "$(jq -c ".$key" "$work/after")" "$value" "set $args"
	is "$(jq -cs --arg k "$key" '.[0].revision += 1 |
	    map(del(.[$k], .updated_at)) | .[0] == .[1]' \
	    "$work/before" "$work/after")" true \
	    '... changes nothing else but the revision'
	mv "$work/after" "$work/before"
done <<'EOT'
tenant|"t"|-T t
tenant|""|-T ''
name|"n"|--name n
name|null|--name ''
event_types|["x","y.*"]|-e 'x,y.*'
event_types|["*"]|-e '*'
filter|"$.\"a\""|-f '$.a'
filter|null|-f ''
transform|"{id: .id}\n"|-x "$work/x.jq"
transform|null|-x ''
api_version|"v1"|-v v1
api_version|null|-v ''
headers|["A: b","C: d"]|-H A:b -H C:d
headers|["E: f"]|-H E:f
headers|[]|-H ''
max_concurrency|1000|-c 1000
rate_per_second|50|-r 50
rate_per_second|null|-r 0
timeout_ms|30000|-w 30
retry_ms|[1]|-S 1ms
deadline_ms|2592000000|-D 30d
body|"raw"|-b raw
body|"envelope"|-b envelope
legacy|true|-L
legacy|false|--no-legacy
ordered|true|-O
ordered|false|--no-ordered
retry_4xx|true|-4
retry_4xx|false|--no-retry-4xx
EOT
good hook-sub set -m moved 1 http://127.0.0.1:9/new
is "$(out .url)" '"http://127.0.0.1:9/new"' 'set takes a new URL'
is "$(audit 1)" "set|$(id -un)|moved" '... and the audit knows'
run hook-sub set -c 2 99
is "$rc $(cat "$work/err")" '1 hook-sub: subscription 99: not found' \
    'set of an unknown id'

# States.
hook-sub add http://127.0.0.1:9/ >/dev/null
for step in pause:paused resume:active; do
	good hook-sub "${step%:*}" -u me -m why 1 3
	is "$(out '[.id, .state]')" "[1,\"${step#*:}\"] [3,\"${step#*:}\"]" \
	    "$step: says so"
	is "$(sql "select string_agg(state, ' ' order by id)
	    from webhook_subscriptions")" "${step#*:} active ${step#*:}" \
	    '... and is so'
	is "$(audit 3)" "${step%:*}|me|why" '... and the audit knows'
	n=$(sql 'select count(*) from webhook_audit')
	good hook-sub "${step%:*}" 1 3 3
	is "$(sql 'select count(*) from webhook_audit')" "$n" \
	    '... again is no change'
done
hook-sub pause -m maintenance 2 >/dev/null
is "$(hook-sub list -T acme | jq -r .state_reason)" maintenance \
    'a reason to pause is listed'
hook-sub list | jq -c 'select(.state == "paused")' | run hook-sub resume -
hook-sub list | jq -c 'select(.state == "paused")' >"$work/ids"
run hook-sub resume - <"$work/ids"
is "$rc $(hook-sub list | jq -r .state | sort -u)" '0 active' \
    'a list can be piped into a change'
run hook-sub pause - </dev/null
is "$rc $(cat "$work/out")" '0 ' 'an empty one changes nothing'

# Rotate.
good hook-sub rotate 1
like "$(out .secret)" '^"whsec_' 'rotate prints a new secret'
new=$(jq -r .secret "$work/out")
good hook-sub show --secret 1
is "$(out '.secrets | map(.secret)[0], (map(.expires_at == null))')" \
    "\"$new\" [true,false]" '... which is first; the old one will end'
is "$(sql 'select round(extract(epoch from expires_at - now()) / 3600)
    from webhook_secrets where expires_at is not null')" 24 '... in 24 hours'
good hook-sub rotate -g 1h 1
good hook-sub rotate -g 2h 1
is "$(sql "select string_agg(round(extract(epoch from expires_at - now()) / 60)
    ::text, ' ' order by id) from webhook_secrets where subscription_id = 1")" \
    '60 60 120' 'an end is never moved back'
good hook-sub rotate -g 0 -k "$work/secret" -m leaked 1
is "$(sql 'select count(*) from webhook_secrets where subscription_id = 1
    and (expires_at is null or expires_at > now())')" 1 '-g 0 ends them all'
is "$(out .secret)" '"whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="' \
    '-k brings the new one'
is "$(audit 1)" "rotate|$(id -un)|leaked" 'the audit knows'
for n in 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
	hook-sub rotate 1 >"$work/out" || exit
done
run hook-sub rotate 1
is "$rc $(sed 's/ends [^:]*:[0-9]*:[0-9]*Z/ends TIME/' "$work/err") $(sql \
    'select count(*) from webhook_secrets where subscription_id = 1
    and (expires_at is null or expires_at > now())')" \
    '65 hook-sub: subscription 1: 16 secrets sign already, the first ends'\
' TIME: wait, or end them now with -g 0 16' \
    'as many as can sign: one more is refused, or nothing would be sent'
good hook-sub rotate -g 0 1

# Two at once
mkfifo "$work/rotates"
start sh -c 'exec psql -X -q <"$1"' sh "$work/rotates"
other=$pid
exec 9>"$work/rotates"
echo "begin; update webhook_subscriptions set updated_at = now() where id = 1;
    insert into webhook_secrets (subscription_id, secret)
    select 1, secret from webhook_secrets where subscription_id = 1
    and expires_at is null;" >&9
wait_for 10 '[ "$(sql "select count(*) from pg_stat_activity
    where datname = current_database()
    and state = '"'idle in transaction'"'")" = 1 ]'
start hook-sub rotate 1
wait_for 10 '[ "$(sql "select count(*) from pg_stat_activity
    where datname = current_database() and wait_event_type = '"'Lock'"'")" = 1 ]'
echo 'commit;' >&9
exec 9>&-
wait "$pid" "$other"
is "$(sql 'select count(*) from webhook_secrets where subscription_id = 1
    and expires_at is null')" 1 'of two at once, the second ends what the first made'
run hook-sub rotate 99
exits 1 'rotate of an unknown id'
good hook-sub rotate --ed25519 1
like "$(out '[.secret, .public_key]')" '^\["whsk_[^"]{88}","whpk_[^"]{44}"\]$' \
    'an ed25519 pair is shown with its public half'
run hook-sub add -L --ed25519 http://127.0.0.1:9/
exits 65 '... and refused where only the other kind works'
good hook-sub add -k - http://127.0.0.1:9/ <"$work/secret"
is "$(out .secret)" "\"$(cat "$work/secret")\"" \
    'a secret can come from standard input'

# Sealed.
printf '%064d\n' 7 >"$work/key"
printf '%064d\n' 8 >"$work/other"
chmod 600 "$work/key" "$work/other"
export HOOK_KEY_FILE="$work/key"
good hook-sub add http://127.0.0.1:9/
sealed=$(out .id)
secret=$(jq -r .secret "$work/out")
good hook-sub rotate "$sealed"
is "$(sql "select bool_and(secret like 'sealed:v1:%')
    from webhook_secrets where subscription_id = $sealed")" t \
    'with a key, secrets are sealed in the table'
good hook-sub show --secret "$sealed"
is "$(out '.secrets[1].secret')" "\"$secret\"" '... and opened by show --secret'
HOOK_KEY_FILE=$work/other run hook-sub show --secret "$sealed"
is "$rc $(cat "$work/out")" '69 ' '... not with another key'
sql "update webhook_secrets set subscription_id = 3
    where subscription_id = $sealed"
run hook-sub show --secret 3
is "$rc $(cat "$work/out")" '69 ' '... nor in the row of another'
HOOK_KEY_FILE=$work/nosuch run hook-sub add http://127.0.0.1:9/
exits 69 'no key where one is named'
unset HOOK_KEY_FILE
sql "delete from webhook_secrets where secret like 'sealed%'"

# Remove.
sql "insert into webhook_outbox (event_type, payload) values ('x', '1')"
hook-fanout
n=$(sql "select count(*) from webhook_deliveries where state = 'pending'")
good hook-sub rm -m gone 3 "$sealed"
is "$(out '[.id, .state]')" "[3,\"removed\"] [$sealed,\"removed\"]" \
    'rm says what it removed'
is "$(sql "select count(*) from webhook_deliveries where state = 'discarded'
    and discarded = 'subscription removed'") \
$(sql "select count(*) from webhook_deliveries where state = 'pending'")" \
    "2 $((n - 2))" '... what waited for them is discarded, the rest waits'
is "$(audit 3)" "rm|$(id -un)|gone" '... the audit knows'

# All or nothing.
all >"$work/before"
for command in pause rm; do
	run hook-sub $command 1 2 99
	is "$rc $(cat "$work/out" "$work/err")" \
	    '1 hook-sub: subscription 99: not found' \
	    "$command with an unknown id names it"
done
for args in 'pause 1' 'rm 1 2' 'rotate 1' 'set -c 9 1' 'test 1' \
    'add http://127.0.0.1:9/'; do
	# shellcheck disable=SC2086
	run hook-sub ${args%% *} -n ${args#* }
	is "$rc $(grep -c 'dry run: nothing was changed' "$work/err")" '0 1' \
	    "dry run: $args"
	is "$(grep -c whsec_ "$work/out")" 0 '... without a secret'
done
all >"$work/after"
cmp -s "$work/before" "$work/after"
check 'none of these changed anything'
n=$(sql 'select count(*) from webhook_outbox')
is "$n" 1 '... nor made an event'

# As an operator, in a schema of another name.
HOOK_SCHEMA='Odd "Name"' hook-migrate >/dev/null 2>&1
export HOOK_SCHEMA='Odd "Name"' PGOPTIONS='-c role=webhook_operator'
good hook-sub add http://127.0.0.1:9/
id=$(out .id)
for args in list "show --secret $id" "set -O $id" "pause $id" "resume $id" \
    "rotate $id" "rm $id"; do
	# shellcheck disable=SC2086
	run hook-sub $args
	exits 0 "an operator may: ${args% *}"
done

done_testing
