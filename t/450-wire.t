#!/bin/sh
# The request: its head, fresh stamps on each attempt, headers of one's own,
# several secrets, sealed ones, big bodies; and that no secret gets out.
. "${0%/*}/lib.sh"
. "${0%/*}/wire.sh"
need_db

version=$(hook-deliver -V | cut -d ' ' -f 2)
head_of() {	# PATH: the head of the last request there, without its CRs
	tr -d '\r' <"$(last "$1").head"
}
last() {	# PATH: of the last request's files there, without .head, .body
	awk -v path="$1" -v dir="$sink_dir" '$1 == "in" && $5 == path { n = $2 }
	    END { print dir "/" n }' "$sink_dir/log"
}
field() {	# PATH NAME: its value
	head_of "$1" | sed -n "s/^$2: //p"
}
add() {		# hook-sub add ...: $sub, $new_secret
	hook-sub add "$@" >"$work/added" || exit
	sub=$(jq -r .id "$work/added")
	new_secret=$(jq -r .secret "$work/added")
}

sink <<'EOT'
/retry 1-2 status 500
/early * status 413 | early | then close
EOT

# The head.
add -e plain "$sink/plain?a=%20b&c"
event plain '{"n":1.0}'
deliver
exits 0 'a request'
is "$(head_of /plain | sed -E 's/(evt_)[0-9a-f]{44}/\1ID/;
    s/(timestamp: )[0-9]{10}$/\1T/; s/(v1,)[A-Za-z0-9+\/]{43}=$/\1S/')" \
"POST /plain?a=%20b&c HTTP/1.1
Host: 127.0.0.1:$sink_port
Content-Type: application/json
User-Agent: hookutils/$version
webhook-id: evt_ID
webhook-timestamp: T
webhook-signature: v1,S
Content-Length: $(($(wc -c <"$sink_dir/1.body")))" \
    'its head is this, and no more'

# C08: retries.
printf '%s\n' "$new_secret" >"$work/plain.secret"
add -e retry -S 1s,1s,1s "$sink/retry"
printf '%s\n' "$new_secret" >"$work/retry.secret"
sql "insert into webhook_outbox (event_type, payload, created_at)
    values ('retry', '{\"a\":1}', now() - interval '2 days')"
hook-fanout
start hook-deliver -f -i 100ms
wait_for 15 '[ "$(seen /retry)" = 3 ]' 'an endpoint that is well at the third'
stop
like "$(went retry)" '^delivered 3 200 ' '... gets it then'
awk '$1 == "in" && $5 == "/retry" { print $2, int($3 / 1000000) }' \
    "$sink_dir/log" >"$work/retries"
is "$(while read -r n at; do
	tr -d '\r' <"$sink_dir/$n.head" | grep '^webhook-id'
	cat "$sink_dir/$n.body"
	echo
done <"$work/retries" | sort | uniq -c | awk '{ print $1 }' | xargs)" '3 3' \
    'each attempt has the same id and the same body'
is "$(while read -r n at; do
	tr -d '\r' <"$sink_dir/$n.head" | sed -E 's/: .*//'
done <"$work/retries" | sort | uniq -c | awk '$1 != 3')" '' \
    '... and the same headers'
while read -r n at; do
	t=$(tr -d '\r' <"$sink_dir/$n.head" | sed -n 's/^webhook-timestamp: //p')
	echo "$t" >>"$work/stamps"
	[ $((at - t)) -ge 0 ] && [ $((at - t)) -le 2 ] || echo "$n $at $t"
	echo "$sink_dir/$n.head $sink_dir/$n.body $work/retry.secret" \
	    >>"$work/to-verify"
done <"$work/retries" >"$work/off"
is "$(cat "$work/off")" '' '... with the time of the attempt'
is "$(sort -u "$work/stamps" | wc -l)" 3 '... each its own'
run node "$top/t/npm/verify.js" - <"$work/to-verify"
is "$rc $(sort -u "$work/out")" '0 ok standardwebhooks svix' \
    '... and a signature for it'
n=$(head -n 1 "$work/retries" | cut -d ' ' -f 1)
like "$(cat "$sink_dir/$n.body")" '^{"type":"retry","timestamp":"'"$(date \
    -u -d '2 days ago' +%Y-%m)" 'the body has the time of the event'

# Headers of one's own, and the other signature.
add -e own -H 'X-Tenant: acme; a=b' -H 'authorization: Bearer b34rer' \
    -H 'Accept: application/json' -L "$sink/own"
event own
deliver
is "$(head_of /own | sed -n '/^webhook-signature/,$p' | sed '1d;
    s/ID: evt_.*/ID: E/; s/: t=.*/: S/; /^Content-Length/d')" \
"X-Webhook-ID: E
X-Webhook-Signature: S
X-Tenant: acme; a=b
authorization: Bearer b34rer
Accept: application/json" "-L, and the operator's headers as they were given"
is "$(field /own X-Webhook-ID)" "$(field /own webhook-id)" '... the same id'
field /own X-Webhook-Signature >"$work/legacy"
t=$(sed 's/t=\([0-9]*\),.*/\1/' "$work/legacy")
is "$t" "$(field /own webhook-timestamp)" '... the same time'
is "$(cat "$work/legacy")" "t=$t,v1=$({
	printf '%s.' "$t"
	cat "$(last /own).body"
    } | openssl dgst -sha256 -hmac "$new_secret" |
    sed 's/.*= //')" '... HMAC-SHA256 of time and body, in hex'

# C33: what hook-sub refuses, written by SQL.
n=0
while IFS='|' read -r name value; do
	sub bad-header "$sink/bad" \
	    "headers=array['X-Good', 'x', E'$name', E'$value']"
	n=$((n + 1))
done <<'EOT'
X|x\r\nX-Evil: 1
X|x\nX-Evil: 1
X|x\rX-Evil: 1
X|\x1b[31m
X|a\tb
X|\x1f
X|é
X|
X|\x20
X\r\nX-Evil: 1\r\nY|x
X-Evil: 1\r\nX|x
X Y|x
X:Y|x
X-Evil:|x
|x
é|x
X\x1fY|x
webhook-id|evt_other
Webhook-Signature|v1,AAAA
WEBHOOK-TIMESTAMP|1
x-webhook-id|evt_other
Host|evil.example
Content-Length|7
content-type|text/plain
Transfer-Encoding|chunked
Expect|100-continue
User-Agent|other
Connection|close
Proxy-Authorization|x
Accept-Encoding|gzip
EOT
event bad-header
deliver
is "$(went bad-header | cut -d : -f 1 | sort | uniq -c | xargs)" \
    "$n failed 1 - header" 'headers that may not be sent fail, with the reason'
is "$(seen /bad) $(grep -l -i evil "$sink_dir"/*.head)" '0 ' \
    '... and nothing is sent'

# Secrets: two, then one.
add -e rotate "$sink/rotate"
printf '%s\n' "$new_secret" >"$work/old.secret"
hook-sub rotate -g 1h "$sub" | jq -r .secret >"$work/new.secret"
event rotate
deliver
check_with() {	# SECRET-FILE: verify the last request there
	node "$top/t/npm/verify.js" "$(last /rotate).head" \
	    "$(last /rotate).body" "$1" 2>&1
}
sign_with() {	# SECRET-FILE: what its signature would be
	hook-sign -s standard -k "$1" -i "$(field /rotate webhook-id)" \
	    -N "$(field /rotate webhook-timestamp)" <"$(last /rotate).body" |
	    sed -n 's/^webhook-signature: //p'
}
is "$(check_with "$work/old.secret") $(check_with "$work/new.secret")" \
    'ok standardwebhooks svix ok standardwebhooks svix' \
    'during the grace, both the old secret and the new one verify'
is "$(field /rotate webhook-signature)" \
    "$(sign_with "$work/new.secret") $(sign_with "$work/old.secret")" \
    '... newest first'
sql "update webhook_secrets set expires_at = now() + interval '1 s'
    where expires_at is not null"
wait_for 5 '[ "$(sql "select count(*) from webhook_secrets
    where expires_at > now()")" = 0 ]'
event rotate
deliver
is "$(field /rotate webhook-signature)" "$(sign_with "$work/new.secret")" \
    'after it, the new one signs alone'
like "$(check_with "$work/old.secret")" '^bad ' '... and the old is no good'

# A worker that has the keys in memory: one ends while it runs.
sql "update webhook_secrets set expires_at = now() + interval '2 s'
    where expires_at is not null"
start hook-deliver -f -i 100ms
event rotate
hook-fanout
wait_for 5 '[ "$(seen /rotate)" = 3 ]'
is "$(field /rotate webhook-signature | wc -w)" 2 'two that are live'
wait_for 5 '[ "$(sql "select count(*) from webhook_secrets
    where expires_at > now()")" = 0 ]'
event rotate
hook-fanout
wait_for 5 '[ "$(seen /rotate)" = 4 ]'
is "$(field /rotate webhook-signature | wc -w)" 1 '... one, when its time is up'
stop

# Sealed at rest.
od -An -N32 -tx1 /dev/urandom | tr -d ' \n' >"$work/key"
chmod 600 "$work/key"
export HOOK_KEY_FILE="$work/key"
add -e sealed -S 1h "$sink/sealed"
printf '%s\n' "$new_secret" >"$work/sealed.secret"
is "$(sql "select secret like 'sealed:v1:%' and
    strpos(secret, '${new_secret#whsec_}') = 0
    from webhook_secrets where subscription_id = $sub")" t \
    'with HOOK_KEY_FILE a secret is sealed in the table'
event sealed
hook-fanout
unset HOOK_KEY_FILE
run hook-deliver
like "$(went sealed)" '^pending 1 - secret: ' \
    '... without it nothing is sent, and the reason says so'
again
export HOOK_KEY_FILE="$work/key"
run hook-deliver
is "$(went sealed)" 'delivered 2 200 -' '... with it, it is'
is "$(node "$top/t/npm/verify.js" "$(last /sealed).head" \
    "$(last /sealed).body" "$work/sealed.secret")" \
    'ok standardwebhooks svix' '... signed by it'

# C34: big bodies.
n=0
for size in 1024 1025 16384 16385 65536 65537 1048576 1048577 10485760; do
	n=$((n + 1))
	sub "size-$size" "$sink/size-$size" raw=true
	sql "insert into webhook_outbox (event_type, payload)
	    values ('size-$size', to_json(repeat('x', $size - 2)))"
done
sub early "$sink/early" raw=true retry_4xx=true "retry_ms='{900000}'"
sql "insert into webhook_outbox (event_type, payload)
    values ('early', to_json(repeat('x', 8 << 20)))"
deliver
exits 0 'bodies of up to 10 MiB'
for size in 1024 1025 16384 16385 65536 65537 1048576 1048577 10485760; do
	f=$(last "/size-$size")
	{
		printf '"'
		head -c $((size - 2)) /dev/zero | tr '\0' x
		printf '"'
	} | cmp -s - "$f.body"
	check "$size bytes arrive as they were"
	is "$(tr -d '\r' <"$f.head" | grep -i -e '^content-length' -e '^expect' \
	    -e '^transfer')" "Content-Length: $size" \
	    '... announced, not chunked, not asked for first'
done
is "$(went early)" 'pending 1 413 status 413' \
    'an answer that comes before the body was taken is the answer'
is "$(awk '$1 == "in" && $5 ~ /^.(plain|own|rotate|sealed|size)/ {
    print $6 }' "$sink_dir/log" | sort | uniq -d)" '' 'nothing was sent twice'

# Connections are used again.
sub again "$sink/again"
sql "insert into webhook_outbox (event_type, payload)
    select 'again', '{}' from generate_series(1, 100)"
deliver
is "$(seen /again)" 100 'a hundred requests'
[ "$(awk '$1 == "in" && $5 == "/again" { print $4 }' "$sink_dir/log" |
    sort -u | wc -l)" -le 10 ]
check '... over a few connections'

# C36: every failure there is, and no secret in what is written about it.
sink <<'EOT'
/500 * status 500 | body oops
/moved * status 302 | header Location: /login?token=t0psecret
/hang * hang
/410 * status 410
EOT
export PGPASSWORD=pa55w0rd
conn="dbname=$PGDATABASE host=$PGHOST port=$PGPORT user=$PGUSER"
conn="$conn password=pa55w0rd"
echo whsec_UzNjcjN0UzNjcjN0UzNjcjN0UzNjcjN0UzNjcjN0 >"$work/told.secret"
say() {		# run, and keep all that it says
	"$@" >>"$work/said" 2>&1
}
for url in "$sink/200" "$sink/500" "$sink/moved" "$sink/hang" "$sink/410" \
    http://127.0.0.1:1/ "https://127.0.0.1:$sink_port/"; do
	say hook-sub add -d "$conn" -e told -w 500ms -S 1h -k "$work/told.secret" \
	    -H 'Authorization: Bearer b34rer' -L "$url?token=t0psecret"
done
# It is shown once, to who made it, and where it is asked for.
sed -i 's/whsec_UzNjcjN0UzNjcjN0UzNjcjN0UzNjcjN0UzNjcjN0/SHOWN/' "$work/said"
is "$(grep -c SHOWN "$work/said")" 7 'a secret is shown to who made it'
sub told "http://127.0.0.1:1/?token=t0psecret" raw=true "transform='.x.y'"
sub told "http://10.0.0.1/?token=t0psecret" \
    "headers=array['Authorization', 'Bearer b34rer']"
sub told "$sink/bad?token=t0psecret" \
    "headers=array['Authorization', E'Bearer b34rer\\n']"
sub told "http://user:pa55w0rd@127.0.0.1:1/?token=t0psecret"
sub told "ftp://user:pa55w0rd@127.0.0.1:1/?token=t0psecret"
event told '[1]'
say hook-fanout -d "$conn"
start hook-deliver -d "$conn" -f -v -i 100ms
told_log=$log
wait_for 10 '[ "$(grep -c "^info" "$told_log")" = 12 ]' 'twelve attempts'
tr '\0' ' ' <"/proc/$pid/cmdline" >>"$work/said"
ps -o args -p "$pid" --ppid "$pid" >>"$work/said"
hook-fanout	# what was disabled is an event of its own
for id in $(sql "select id from webhook_deliveries
    where event_type = 'told'"); do
	say hook-dlq show -d "$conn" "$id"
done
say hook-dlq list -d "$conn"
say hook-dlq list -d "$conn" -o table
say hook-sub list -d "$conn"
say hook-sub list -d "$conn" -o table
sql 'select id from webhook_subscriptions' >"$work/ids"
say hook-sub show -d "$conn" - <"$work/ids"
say hook-sub set -d "$conn" -m why -w 1s "$sub"
say hook-sub rotate -d "$conn" -k "$work/told.secret" "$sub"
say hook-sub pause -d "$conn" "$sub"
sed -i 's/whsec_UzNjcjN0UzNjcjN0UzNjcjN0UzNjcjN0UzNjcjN0/SHOWN/' "$work/said"
kill -ABRT "$pid"
wait "$pid" 2>/dev/null
cat "$told_log" >>"$work/said"
for t in deliveries attempts audit outbox lanes workers counters jobs; do
	say psql -X -A -t -c "select * from webhook_$t"
done
say psql -X -A -t -c 'select id, name, state_reason from webhook_subscriptions'
[ "$(wc -l <"$work/said")" -gt 100 ]
check 'all of this is written down'
for what in t0psecret b34rer pa55w0rd UzNjcjN0 S3cr3t "$secret"; do
	is "$(grep -F -e "$what" "$work/said" | head -n 2)" '' "... without $what"
done
done_testing
