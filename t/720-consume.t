#!/bin/sh
# hook-consume: what a handler is given, and what its exit status does.
. "${0%/*}/lib.sh"
need_db
none={}

# put MESSAGE-ID [BODY [TYPE [HEADERS]]]
put() {
	psql -X -q -A -t -v ON_ERROR_STOP=1 -v id="$1" -v body="${2-$none}" \
	    -v type="${3-}" -v headers="${4-$none}" <<-'EOT'
	insert into webhook_inbox (source, message_id, body, event_type,
	    headers)
	values ('s', :'id', convert_to(:'body', 'UTF8'),
	    nullif(:'type', ''), :'headers') returning id
	EOT
}
row() {		# COLUMNS of MESSAGE-ID
	sql "select $1 from webhook_inbox where message_id = '$2'"
}
now_due() {
	sql "update webhook_inbox set next_attempt_at = now()
	    where state = 'pending' and owner is null"
}

run hook-consume -s s -- true
is "$rc $(grep -c 'no such source' "$work/err")" '1 1' \
    'a source that is not there is told of'
sql "insert into webhook_sources (name, scheme) values ('s', 'github')"
run hook-consume -s s -- true
is "$rc $(cat "$work/out" "$work/err")" '0 ' 'an empty inbox is no work'

# What it is given.
printf 'a\000b\r\n\377' >"$work/body"
sql "insert into webhook_inbox (source, message_id, event_type, body,
    headers) values ('s', E'id \\x01\"x', 'order.paid',
    decode('$(od -An -v -tx1 "$work/body" | tr -d ' \n')', 'hex'),
    array['Content-Type', 'text/plain', 'X-Two', '1',
    'x-two', E'2\\n3', 'X_Two', 'sly', 'a b', 'no', 'X-Long',
    repeat('x', 9000), 'X-Utf', 'é'])"
cat >"$work/look" <<EOT
#!/bin/sh
cat >"$work/got"
env | grep -a '^HOOK_\|^PG' | sort >"$work/env"
ls /proc/self/fd | wc -l >"$work/fds"
cat /dev/stdin | wc -c >"$work/again"
[ -z "\$PWD" ] || pwd >"$work/pwd"
EOT
chmod +x "$work/look"
HOOK_SECRET=x HOOK_HEADER_STALE=1 HOOK_KEY_FILE="$work/key" PGPASSWORD=secret \
    run hook-consume -s s -- "$work/look" 5>&2 6>&2 7<"$work/look"
is "$rc $(cat "$work/out" "$work/err")" '0 ' 'a handler runs'
cmp "$work/body" "$work/got"
check '... and reads the body byte for byte'
id=$(sql "select id from webhook_inbox")
is "$(grep -a HOOK_ "$work/env" |
    grep -v 'HOOK_RECEIVED\|HOOK_ALLOW\|HOOK_TEST')" "HOOK_ATTEMPT=1
HOOK_EVENT_TYPE=order.paid
HOOK_HEADER_CONTENT_TYPE=text/plain
HOOK_HEADER_X_TWO=1, 2?3
HOOK_HEADER_X_UTF=é
HOOK_INBOX_ID=$id
HOOK_MESSAGE_ID=id ?\"x
HOOK_SOURCE=s" \
    '... with what is known of it, made harmless, and none of ours'
like "$(grep RECEIVED "$work/env")" \
    '^HOOK_RECEIVED_AT=20..-..-..T..:..:..\.......Z$' '... and when it came'
is "$(grep -ac PGPASSWORD "$work/env")" 0 '... and no password'
is "$(cat "$work/fds")" 4 '... and no descriptor but three (and that of ls)'
is "$(cat "$work/pwd")" "$(pwd)" '... where we are'
is "$(row "state, attempts, failures, owner is null, leased_until is null,
    finished_at is not null" "$(sql 'select message_id from webhook_inbox')")" \
    'done|1|0|t|t|t' 'exit 0 is the ack'

# A handler that reads nothing, of a body larger than a pipe.
put big "$(head -c 100000 /dev/zero | tr '\0' x)" >/dev/null
run hook-consume -s s -- true
is "$rc $(row state big)" '0 done' 'who does not read may exit 0, too'

# 75, failures, signals, and the third.
put later >/dev/null
run hook-consume -s s -- sh -c 'echo wait >&2; exit 75'
is "$rc $(row 'state, attempts, failures, exit_status, last_error,
    next_attempt_at > now() + interval '"'7 s'"', stderr_tail' later)" \
    '0 pending|1|0||exit status 75|t|' '75 is again later, and no failure'
is "$(cat "$work/err")" wait '... and what it said is passed on'
run hook-consume -s s -- false
is "$(row 'attempts' later)" 1 '... not before it is due'
for i in 2 3 4 5; do
	now_due
	run hook-consume -s s -- sh -c 'exit 75'
done
is "$(row 'state, attempts, failures' later)" 'pending|5|0' \
    '... however often'
now_due
run hook-consume -s s -- true
put bad >/dev/null
put good >/dev/null
cat >"$work/some" <<EOT
#!/bin/sh
[ "\$HOOK_MESSAGE_ID" = bad ] || exit 0
echo "\$HOOK_MESSAGE_ID" >>"$work/tried"
{ head -c 5000 /dev/zero | tr '\\0' x; printf 'the \\377\\000 end\\n'; } >&2
exit 3
EOT
chmod +x "$work/some"
run hook-consume -s s -- "$work/some"
is "$rc $(row "state, failures, exit_status, exit_signal is null, last_error,
    octet_length(stderr_tail), cardinality(failed_at),
    next_attempt_at > now() + interval '7 s'" bad)" \
    '0 pending|1|3|t|exit status 3|2048|1|t' \
    'another status is a failure, tried again later'
is "$(row "encode(substr(stderr_tail, 2048 - 10), 'escape')" bad)" \
    'the \377\000 end' '... with the end of its standard error, any bytes'
is "$(row state good)" 'done' '... and others are not held up'
now_due
run hook-consume -s s -- sh -c 'kill -9 $$'
is "$(row "state, failures, exit_status is null, exit_signal, last_error,
    cardinality(failed_at)" bad)" 'pending|2|t|9|killed by signal 9|2' \
    'so is a signal'
now_due
run hook-consume -s s -w 300ms -- sh -c 'trap "" TERM; sleep 30 & wait'
is "$(row "state, failures, exit_signal, last_error, finished_at is not null,
    cardinality(failed_at)" bad)" 'dead|3|9|timed out|t|3' \
    'so is a timeout, and the third is the last'
like "$(cat "$work/err")" '^error message outcome=dead id=m[0-9]+ source=s ' \
    '... which is said'
is "$(sql "select kind, event_id, state, attempts, source from webhook_dlq")" \
    'message|bad|dead|3|s' '... and it is in the dead-letter queue'
is "$(sql "select outcome, sum(value) from webhook_counters
    where name = 'consumed' and label = 's' group by 1 order by 1" | xargs)" \
    'dead|1 done|4 failed|2 retry|5' 'all of it was counted'
put once >/dev/null
run hook-consume -s s -x 1 -S 1h -- false
is "$(row state once)" dead '-x 1: the first failure is the last'
put slow >/dev/null
run hook-consume -s s -S 1h,2h -- false
is "$(row "next_attempt_at between now() + interval '47 min'
    and now() + interval '73 min'" slow)" t '-S: pauses of one'"'s own"

# The whole process group goes with a handler.
put group >/dev/null
cat >"$work/group" <<EOT
#!/bin/sh
sleep 300 &
echo \$! >"$work/left"
exit \$1
EOT
chmod +x "$work/group"
run timeout 20 hook-consume -s s -- "$work/group" 0
is "$rc $(row state group)" '0 done' 'what a handler leaves behind'
wait_for 5 '! kill -0 "$(cat "$work/left")" 2>/dev/null' '... is ended with it'

# A command that can't be started says nothing about a message.
put start >/dev/null
cat >"$work/gone" <<EOT
#!/bin/sh
exit 0
EOT
chmod +x "$work/gone"
run hook-consume -s s -- "$work/nothing"
is "$rc $(grep -c nothing "$work/err")" '69 1' 'a missing command is seen'
run hook-consume -s s -- hook-no-such
is "$rc" 69 '... on the PATH, too'
run hook-consume -s s -- "$work"
is "$rc" 69 '... and a folder is none'
printf '#!/nonexistent\n' >"$work/gone"
run hook-consume -s s -- "$work/gone"
is "$rc $(row 'state, attempts, failures, last_error' start)" \
    '69 pending|0|0|' 'where it can'"'"'t be started messages wait'
like "$(cat "$work/err")" 'gone: No such file or directory' '... and it says so'

# Types.
for t in a.x a.y a b; do
	put "type-$t" '{}' "$t" >/dev/null
done
put type-none >/dev/null
types() {
	sql "select string_agg(message_id, ' ' order by id) from webhook_inbox
	    where message_id like 'type-%' and state = 'done'"
}
run hook-consume -s s -t 'a.*' -- true
is "$(types)" 'type-a.x type-a.y' '-t with a pattern'
run hook-consume -s s -t b -- true
is "$(types)" 'type-a.x type-a.y type-b' '-t with a name'
run hook-consume -s s -- true
is "$(types)" 'type-a.x type-a.y type-a type-b type-none' '... and all'

# Dry run, usage.
sql "update webhook_inbox set next_attempt_at = '2100-01-01'
    where state = 'pending'"
put dry >/dev/null
run hook-consume -n -s s
is "$rc $(cat "$work/out")" '0 {"due":1,"later":1,"leased":0}' '-n counts'
is "$(row attempts dry)" 0 '... and does nothing'
while IFS='|' read -r want args; do
	# shellcheck disable=SC2086
	run hook-consume $args </dev/null
	exits "$want" "hook-consume $args"
done <<'EOT'
64|
64|-s s
64|-- true
64|-n -s s -- true
64|-s s -e --sql -- true
64|-s s -j 0 -- true
64|-s s -j x -- true
64|-s s -w x -- true
64|-s s -x 0 -- true
64|-s s -S x -- true
64|-s s --batch 0 -- true
64|-s s -l 10ms -- true
64|-s s -k $.a[ -- true
64|-s s -d nonsense= -- true
75|-s s -d host=/nowhere -- true
EOT
HOOK_MAX_PAYLOAD=x run hook-consume -s s -- true
exits 64 'HOOK_MAX_PAYLOAD is checked'

done_testing
