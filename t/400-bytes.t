#!/bin/sh
# The bytes are the producer's: odd bodies and real ones arrive as they were
# stored, enveloped and raw, on the first attempt, on a retry, after "hook-dlq
# retry" and after "hook-replay --force", announced by their length; and each
# of these requests verifies with libraries that are not ours.  (Neither of the
# npm packages knows ed25519: those are checked by node's own crypto.)
. "${0%/*}/lib.sh"
. "${0%/*}/wire.sh"
need_db

# Bodies: $work/in/TYPE, and the events of these types.  hook-enqueue and a
# plain INSERT take the odd ones, hook-enqueue -l the real ones.
mkdir "$work/in"
n=0
while IFS= read -r line; do
	n=$((n + 1))
	printf %b "$line" >"$work/in/odd.$n"
	cp "$work/in/odd.$n" "$work/in/sql.$n"
done <<'EOT'
{"b":1,"a":2}
{"a":1,"a":2,"a":{"a":3,"a":4}}
{"n":1E2}
{"n":1e400,"m":-1E-400}
{"n":1e131072}
{"n":12345678901234567890,"m":0.10000000000000000000000000001}
{"n":-0,"m":-0.0,"k":1.0,"j":1e+2}
{"a":"x\\u0000y"}
{"a":"x\\\\u0000y"}
{"s":"\\ud800","t":"\\udc00\\ud800"}
{ "a" : 1 }\n
 \t\r\n{\r\n  "a":\t[ 1 ,2 ] }\r\n\t 
null
"x"
[1]
{"s":"\\u00e9\\/"}
{"s":"é"}
true
-0
""
{}
{"":"","__proto__":1,"constructor":2}
"\\b\\f\\n\\r\\t\\"\\\\\\/"
{"s":"\\ud83d\\ude00 😀 \\u2028 \0342\0200\0250 \0177 \0357\0277\0277"}
{"s":"</script>&amp;%00%0d%0a+\\\\\\\\\0047"}
EOT
{
	printf '"'
	head -c 200000 /dev/zero | tr '\0' z
	printf '"'
} >"$work/in/odd.long"
{
	head -c 1500 /dev/zero | tr '\0' '['
	head -c 1500 /dev/zero | tr '\0' ']'
} >"$work/in/odd.deep"
n=0
while IFS= read -r line; do
	n=$((n + 1))
	payload=${line#*\"payload\":}
	printf %s "${payload%\}}" >"$work/in/github.$n"
done <"$top/t/payloads/github.ndjson"
is "$n $(ls "$work/in" | wc -l)" '58 110' 'there are so many bodies'

for f in "$work"/in/odd.*; do
	hook-enqueue -t "${f##*/}" -v v7 <"$f" || echo "$f" >&2
done >"$work/ids"
for f in "$work"/in/github.*; do
	printf '{"event_type":"%s","payload":' "${f##*/}"
	cat "$f"
	echo '}'
done | hook-enqueue -l >>"$work/ids"
for f in "$work"/in/sql.*; do
	printf "\\\\set p \`cat '%s'; echo .\`\n" "$f"
	cat <<-EOT
	insert into webhook_outbox (aggregate_id, event_type, payload)
	values ('a', '${f##*/}', left(:'p', -1)::json);
	EOT
done | psql -X -q -v ON_ERROR_STOP=1
is "$(sql 'select count(*) from webhook_outbox')" 110 'they are stored'

# Four subscriptions a body, each in a lane of its own.  The first attempt
# gets a 500, the second a 404.
sink <<'EOT'
/ id1 status 500
/ id2 status 404
EOT
for kind in envelope raw; do
	hook-sub add -e none -b $kind -S 1ms,1ms --name "$kind.v1" \
	    "$sink/$kind.v1" || exit
	hook-sub add -e none -b $kind -S 1ms,1ms --name "$kind.v1a" --ed25519 \
	    "$sink/$kind.v1a" || exit
done >"$work/subs"
jq -r '[.name, .public_key // .secret] | @tsv' "$work/subs" |
    while read -r name key; do
	echo "$key" >"$work/$name.key"
done
psql -X -q -v ON_ERROR_STOP=1 <<'EOT'
create temp table made as
select s.id as of, nextval(pg_get_serial_sequence('webhook_subscriptions',
    'id')) as id, o.event_type
from webhook_subscriptions s, webhook_outbox o;
insert into webhook_subscriptions (id, url, event_types, raw, retry_ms)
select m.id, s.url || '/' || m.event_type, array[m.event_type], s.raw,
    s.retry_ms
from made m join webhook_subscriptions s on s.id = m.of;
insert into webhook_secrets (subscription_id, secret)
select m.id, k.secret
from made m join webhook_secrets k on k.subscription_id = m.of;
EOT

# The bytes that must come, by path: $work/want/KIND/TYPE.
mkdir -p "$work/want/envelope.v1"
psql -X -q -A -t -F ' ' >"$work/events" <<'EOT'
select event_type, event_id, to_char(created_at at time zone 'UTC',
    'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
    coalesce('"' || api_version || '"', 'null')
from webhook_outbox
EOT
while read -r type id at version; do
	{
		printf '{"type":"%s","timestamp":"%s","api_version":%s,' \
		    "$type" "$at" "$version"
		printf '"id":"%s","data":' "$id"
		cat "$work/in/$type"
		printf '}'
	} >"$work/want/envelope.v1/$type"
done <"$work/events"
ln -s envelope.v1 "$work/want/envelope.v1a"
ln -s ../in "$work/want/raw.v1"
ln -s ../in "$work/want/raw.v1a"

# Every request so far: N PATH; and those whose body is not what it must be.
requests() {
	awk '$1 == "in" { print $2, substr($5, 2) }' "$sink_dir/log"
}
wrong() {
	(cd "$work/want" && sha256sum */*) >"$work/sums"
	requests >"$work/requests"
	(cd "$sink_dir" && sha256sum [0-9]*.body) | awk '
	FILENAME == ARGV[1] { want[$2] = $1; next }
	FILENAME == ARGV[2] { path[$1] = $2; next }
	{
		sub(/\.body$/, "", $2)
		if (want[path[$2]] != $1)
			print path[$2]
	}' "$work/sums" "$work/requests" -
}

hook-fanout
run hook-deliver
exits 0 'first attempt and retry'
is "$(sql 'select min(state), max(state), min(attempts), max(attempts),
    count(*) from webhook_deliveries')" 'failed|failed|2|2|440' \
    '... of 110 bodies to four subscriptions'
sql 'select id from webhook_deliveries' | hook-dlq retry -m test - >"$work/out"
run hook-deliver
exits 0 'again, by "hook-dlq retry"'
is "$(sql 'select min(state), max(state), max(attempts), count(*)
    from webhook_deliveries')" 'delivered|delivered|3|440' '... all arrive'
sql 'select id from webhook_deliveries' |
    hook-replay --force -m test - >"$work/out"
run hook-deliver
exits 0 'again, by "hook-replay --force"'
is "$(sql 'select min(state), max(state), count(*), count(replay_of)
    from webhook_deliveries')" 'delivered|delivered|880|440' '... all arrive'
is "$(requests | wc -l)" 1760 'four requests each'
is "$(wrong | sort | uniq -c)" '' \
    'every one has the bytes of its body, in the envelope and raw'
is "$(sql "select count(distinct event_id) from webhook_outbox") $(awk \
    '$1 == "in" { print $5, $6 }' "$sink_dir/log" | sort | uniq -c |
    awk '{ print $1 }' | sort | uniq -c | xargs)" '110 440 4' \
    '... under one id'
is "$(cd "$sink_dir" && wc -c [0-9]*.body | awk '
	FILENAME == "-" {
		sub(/\.body$/, ".head", $2); size[$2] = $1 + 0; next
	}
	{ sub(/\r$/, "") }
	/^Content-Length: / { n[FILENAME]++; if ($2 != size[FILENAME]) print }
	tolower($0) ~ /^(transfer-encoding|expect|content-encoding):/
	END { for (f in n) if (n[f] == 1) all++; print all }' - [0-9]*.head)" \
    1760 \
    '... announced by its length, not chunked, nothing asked first'

requests | while read -r n path; do
	echo "$sink_dir/$n.head $sink_dir/$n.body $work/${path%%/*}.key"
done >"$work/verify"
run node "$top/t/npm/verify.js" - <"$work/verify"
exits 0 'every one is signed'
is "$(sort "$work/out" | uniq -c | xargs -L 1 echo)" \
'880 ok node:crypto
880 ok standardwebhooks svix' \
    '... by HMAC for standardwebhooks and svix, by ed25519 for node:crypto'
is "$(tail -n 1 "$work/verify" | (read -r head body key
	sed -i 's/^./x/' "$body"
	node "$top/t/npm/verify.js" "$head" "$body" "$key" | cut -c 1-4))" \
    'bad ' '... which would notice one byte'
done_testing
