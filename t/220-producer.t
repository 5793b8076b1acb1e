#!/bin/sh
# Producers: by every entry an event is stored with its own transaction, byte
# for byte, once a key; and nothing of ours makes that transaction fail.
. "${0%/*}/lib.sh"
need_own_cluster max_prepared_transactions=20

count() {	# TYPE
	sql "select count(*) from webhook_outbox where event_type = '$1'"
}
session() {	# NAME FD: a psql that reads what is echoed to FD; $out, $pid
	mkfifo "$work/$1"
	start sh -c "exec psql -X -q -A -t -v ON_ERROR_STOP=1 <'$work/$1'"
	eval "exec $2>'$work/$1'"
}

# The statement that everybody's client library runs.
psql -X -q -v ON_ERROR_STOP=1 <<'EOT'
prepare p as
INSERT INTO webhook_outbox (aggregate_id, event_type, payload, api_version)
    VALUES ($1, $2, $3, $4);
execute p('order-17', 'plain', '{"a": 1.0}', 'v2');
execute p(null, 'plain', '{"b": 1.0}', null);
EOT
is "$(sql "select aggregate_id, payload, api_version, tenant, fanned_out_at
    from webhook_outbox where event_type = 'plain' order by id")" \
    'order-17|{"a": 1.0}|v2||
|{"b": 1.0}|||' 'the plain INSERT stores an event'
is "$(sql "select count(distinct event_id) from webhook_outbox
    where event_id ~ '^evt_[0-9a-f]{44}$'")" 2 '... with an id of its own'
sql "insert into webhook_topic_outbox (topic, key, payload)
    values ('topic', 'order-18', '{\"c\": 1.0}')"
is "$(sql "select event_type, aggregate_id, payload from webhook_outbox
    where event_type = 'topic'")" 'topic|order-18|{"c": 1.0}' \
    'so does one into webhook_topic_outbox'

# With the transaction, and only with it.
sql 'create table business (n integer)'
sql "begin; insert into business values (1);
    insert into webhook_outbox (event_type, payload) values ('back', '1');
    rollback"
is "$(count back)" 0 'rolled back, there is no event'
sql "begin; insert into business values (2);
    insert into webhook_outbox (event_type, payload) values ('save', '1');
    savepoint s;
    insert into webhook_outbox (event_type, payload) values ('save', '2');
    select webhook_enqueue('save', '3', idempotency_key => 's');
    rollback to s;
    select webhook_enqueue('save', '4', idempotency_key => 's');
    commit" >"$work/out"
is "$(sql "select string_agg(payload::text, ' ' order by id)
    from webhook_outbox where event_type = 'save'")" '1 4' \
    'what a savepoint takes back is not there, nor is its key'
session a 3
echo "begin; insert into business values (3);
    insert into webhook_outbox (event_type, payload) values ('killed', '1');
    select 'ready';" >&3
wait_for 5 'grep -q ready "$out"'
stop "$pid" KILL
exec 3>&-
wait_for 5 '[ "$(sql "select count(*) from pg_stat_activity
    where state = '"'idle in transaction'"'")" = 0 ]'
is "$(count killed)" 0 'a client killed before its commit has stored nothing'
sql "insert into webhook_outbox (event_type, payload) values ('crash', '1')"
pg-tmp restart "$own_cluster" -m immediate
is "$(count crash)" 1 'what was committed outlives a crash of the server'

# It takes its id first and commits last.
sql "insert into webhook_subscriptions (url, event_types)
    values ('http://127.0.0.1:9/', '{late}')"
session b 3
echo "begin; insert into webhook_outbox (event_type, payload)
    values ('late', '\"slow\"'); select 'ready';" >&3
wait_for 5 'grep -q ready "$out"'
sql "insert into webhook_outbox (event_type, payload)
    values ('late', '\"fast\"')"
hook-fanout
is "$(sql 'select count(*) from webhook_deliveries')" 1 \
    'one event is fanned out while another is not yet committed'
echo "commit; select 'done';" >&3
wait_for 5 'grep -q done "$out"'
exec 3>&-
hook-fanout
is "$(sql 'select count(*) from webhook_deliveries')" 2 \
    '... and that one, of a lower id, once it is'

# Keys.
enqueue="select webhook_enqueue('keyed', '{\"n\": 1}', 'o-1', 'v1', 'acme'"
first=$(sql "$enqueue, 'k')")
is "$(sql "$enqueue, 'k')") $(count keyed)" "$first 1" \
    'a key seen before stores nothing and gives the first id'
for other in "'{\"n\": 2}', 'o-1', 'v1'" "'{\"n\":1}', 'o-1', 'v1'" \
    "'{\"n\": 1}', 'o-2', 'v1'" "'{\"n\": 1}', 'o-1', 'v2'"; do
	run sql "select webhook_enqueue('keyed', $other, 'acme', 'k')"
	like "$rc $(cat "$work/err")" '^[13] .*was used for another event' \
	    "refused with another event: $other"
done
sql "$enqueue)" >/dev/null
sql "$enqueue, null)" >/dev/null
is "$(count keyed)" 3 'without a key each call is an event'
for key in "''" "repeat('k', 256)"; do
	run sql "$enqueue, $key)"
	like "$(cat "$work/err")" 'idempotency key: 1 to 255 bytes' \
	    "a key out of bounds is refused: $key"
done

session c 3
c_out=$out
session d 4
d_out=$out
for outcome in commit rollback; do
	echo "begin; $enqueue, '$outcome') as id;" >&3
	wait_for 5 "grep -q evt_ '$c_out'"
	echo "$enqueue, '$outcome') as id;" >&4
	wait_for 5 '[ "$(sql "select count(*) from pg_stat_activity
	    where wait_event_type = '"'Lock'"'")" = 1 ]'
	check "two at once, $outcome: the second waits for the first"
	echo "$outcome;" >&3
	wait_for 5 "grep -q evt_ '$d_out'"
	is "$(sql "select count(*) from webhook_outbox
	    where idempotency_key = '$outcome'")" 1 '... and one event results'
	case $outcome in
	commit)	is "$(cat "$d_out")" "$(cat "$c_out")" '... of the first' ;;
	*)	[ "$(cat "$d_out")" != "$(cat "$c_out")" ]
		check '... of the second' ;;
	esac
	: >"$c_out"
	: >"$d_out"
done
exec 3>&- 4>&-

# Two-phase commit, while a follower sleeps, which is when others notify.
sql "insert into webhook_wakeup values ('fanout', true)"
run sql "begin; insert into business values (4);
    insert into webhook_outbox (event_type, payload) values ('two', '1');
    select webhook_enqueue('two', '2', idempotency_key => 'two');
    prepare transaction 'orphan'"
is "$rc $(cat "$work/err")" '0 ' 'PREPARE TRANSACTION works'
is "$(count two)" 0 '... and has stored nothing yet'
pg-tmp restart "$own_cluster" -m immediate
sql "insert into webhook_wakeup values ('fanout', true)"
sql "commit prepared 'orphan'"
is "$(count two)" 2 '... until it is committed, over a crash'
run sql "set hook.notify = on; begin; insert into webhook_outbox (event_type,
    payload) values ('two', '3'); prepare transaction 'refused'"
like "$(cat "$work/err")" 'cannot PREPARE.*NOTIFY' \
    'with hook.notify = on it would not'
is "$(count two)" 2 '... and stores nothing'

# Waking, and what it must never cost.
heard() {	# SETTING: notifications of one INSERT
	psql -X -q -A -t -v ON_ERROR_STOP=1 <<-EOT | grep -c '^Asynchronous'
		select webhook_channel('fanout') as channel \\gset
		listen :"channel";
		$1
		insert into webhook_outbox (event_type, payload)
		values ('heard', '1'), ('heard', '2');
		select 1;
	EOT
}
is "$(heard '') $(heard 'set hook.notify = on;') \
$(heard 'set hook.notify = off;')" '0 1 0' \
    'where two-phase commit is possible, NOTIFY is only sent if asked for'
sql 'update webhook_wakeup set asleep = false'
is "$(heard 'set hook.notify = on;')" 0 '... and only while somebody sleeps'
sql 'update webhook_wakeup set asleep = true'
sql "alter database $own_db set hook.notify = on"
while read -r type payload; do
	n=$(sql 'select count(*) from business')
	run sql "begin; insert into business values (5);
	    insert into webhook_outbox (event_type, payload)
	    values ($type, to_json($payload)); commit"
	is "$rc $(cat "$work/err") $(sql 'select count(*) from business')" \
	    "0  $((n + 1))" "no length is too much for it: $type, $payload"
done <<'EOT'
'n' repeat('x',7900)
'n' repeat('x',7998)
'n' repeat('x',7999)
'n' repeat('x',8000)
'n' repeat('x',8100)
'n' repeat('x',1048576)
'n' repeat(chr(233),4000)
repeat('t',10000) 'x'::text
repeat(chr(233),10000) 'x'::text
EOT
run hook-fanout
exits 0 'and they can be fanned out'
is "$(sql 'select count(*) from webhook_outbox where fanned_out_at is null')" \
    0 '... all of them'
for schema in 'Sixty-Characters-And-Capitals-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' \
    'it'"'"'s "odd"; --'; do
	PGOPTIONS='-c client_min_messages=warning' HOOK_SCHEMA=$schema \
	    hook-migrate >/dev/null 2>&1
	quoted=$(printf %s "$schema" | sed 's/"/""/g')
	run sql "insert into \"$quoted\".webhook_wakeup values ('fanout', true);
	    insert into \"$quoted\".webhook_outbox (event_type, payload)
	    values ('n', '1'); select \"$quoted\".webhook_enqueue('n', '2');
	    select \"$quoted\".webhook_channel('fanout')"
	is "$rc $(cat "$work/err")" '0 ' "a schema may be called $schema"
	is "$(tail -n 1 "$work/out" | wc -c)" 28 '... the channel stays short'
	printf 3 | HOOK_SCHEMA=$schema hook-enqueue --sql -t n |
	    psql -X -q -A -t -v ON_ERROR_STOP=1 >/dev/null
	printf 4 | HOOK_SCHEMA=$schema hook-enqueue -t n >/dev/null
	is "$(sql "select string_agg(payload::text, ' ' order by id)
	    from \"$quoted\".webhook_outbox")" '1 2 3 4' \
	    '... and hook-enqueue finds it, also by --sql'
done

# 16 odd bodies by every entry.
kept() {	# TYPE: are its payloads, in order, what was given?
	sql "select payload from webhook_outbox where event_type = '$1'
	    order by id" | cmp -s - "$top/t/payloads/odd.json"
	check "16 odd bodies byte for byte: $1"
}
is "$(wc -l <"$top/t/payloads/odd.json")" 16 'there are 16 odd bodies'
while IFS= read -r body; do
	printf '%s' "$body" >"$work/one"
	key=$(md5sum <"$work/one" | cut -c 1-32)
	psql -X -q -v ON_ERROR_STOP=1 -v body="$body" <<-'EOT' >/dev/null
		insert into webhook_outbox (event_type, payload)
		values ('insert', :'body');
		insert into webhook_topic_outbox (topic, payload)
		values ('view', :'body');
		select webhook_enqueue('function', :'body');
		select webhook_enqueue('function with a key', :'body',
		    idempotency_key => 'odd ' || md5(:'body'));
	EOT
	hook-enqueue -t single <"$work/one" >/dev/null
	hook-enqueue -t 'single with a key' -k "one $key" <"$work/one" \
	    >/dev/null
	hook-enqueue --sql -t "it's \\ :a sql" <"$work/one" >>"$work/script"
	printf '{"event_type":"lines","payload":%s}\n' "$body" >>"$work/lines"
	printf '{"payload":  %s , "event_type":"lines with keys", ' "$body" \
	    >>"$work/lines"
	printf '"idempotency_key":"%s"}\n' "$key" >>"$work/lines"
done <"$top/t/payloads/odd.json"
hook-enqueue -l <"$work/lines" >/dev/null
for way in insert view function 'function with a key' single \
    'single with a key' lines 'lines with keys'; do
	kept "$way"
done
is "$(LC_ALL=C grep -c '[^ -~]' "$work/script")" 0 '--sql prints plain ASCII'
while read -r encoding strings; do
	sql "delete from webhook_outbox where event_type like '%sql'"
	PGCLIENTENCODING=$encoding PGOPTIONS="-c\
	 standard_conforming_strings=$strings -c search_path=pg_catalog" \
	    psql -X -q -A -t -v ON_ERROR_STOP=1 -v a=gone >"$work/out" <<-EOT
		begin;
		$(cat "$work/script")
		commit;
	EOT
	is "$(sort -u "$work/out" | grep -c '^evt_')" 16 \
	    "--sql prints the ids in psql ($encoding, $strings)"
	kept "it''s \\ :a sql"
done <<'EOT'
UTF8 on
UTF8 off
LATIN1 on
SJIS off
EOT
is "$(grep -c "'" "$work/script")" 16 'a statement is a line'

for body in '{ "a" : 1 }\n' '{"a":\r\n1}\r\n' '\t[ ]' '\n\n1\n\n'; do
	printf %b "$body" >"$work/in"
	run hook-enqueue -t space <"$work/in"
	id=$(cat "$work/out")
	printf %b "$body" | hook-enqueue --sql -t space |
	    psql -X -q -A -t >"$work/out"
	sql "select encode(convert_to(payload::text, 'UTF8'), 'hex')
	    from webhook_outbox where event_id in ('$id',
	    '$(cat "$work/out")')" >"$work/got"
	is "$(sort -u "$work/got") $(wc -l <"$work/got")" \
	    "$(od -An -v -tx1 "$work/in" | tr -d ' \n') 2" \
	    "spaces around and line ends within: $body"
done

# With the rights of a producer, and no others.
export PGOPTIONS='-c role=webhook_producer'
printf '{"event_type":"role","payload":1,"idempotency_key":"role"}\n' \
    >"$work/lines"
for way in '-t role' '-t role -k role1' -l; do
	# shellcheck disable=SC2086
	run hook-enqueue $way <"$work/lines"
	exits 0 "a producer may: hook-enqueue $way"
done
hook-enqueue --sql -t role <"$work/lines" |
    psql -X -q -A -t -v ON_ERROR_STOP=1 >"$work/out"
like "$(cat "$work/out")" '^evt_' '... and run what --sql prints'
run hook-enqueue -t role -w 100ms <"$work/lines"
like "$rc $(cat "$work/err")" '^69 .*stored, but permission denied' \
    '... but not look what became of it; that it is stored is said'
run hook-sub list
is "$rc $(cat "$work/out")" '69 ' '... nor see subscriptions'

done_testing
