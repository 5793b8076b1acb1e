#!/bin/sh
# hook-dlq and messages that could not be handled; messages in transactions of
# an application's own.
. "${0%/*}/lib.sh"
need_db

sql "insert into webhook_sources (name, scheme) values ('s', 'github')"
put() {		# SOURCE MESSAGE-ID [TYPE]
	sql "insert into webhook_inbox (source, message_id, event_type, body)
	    values ('$1', '$2', '${3-a.b}', '{}') returning id" | head -n 1
}
state() {
	sql "select state from webhook_inbox where id = ${1#m}"
}
dead() {	# ID...
	for i in "$@"; do
		sql "update webhook_inbox set state = 'dead',
		    finished_at = now(), failures = 3, attempts = 3
		    where id = $i"
	done
}

m=m$(put s one)
run hook-consume -s s -x 1 -- sh -c 'printf "no \033[31m\377\\ order\n" >&2
    exit 3'
is "$(state "$m")" dead 'a message is dead'
run hook-dlq list
is "$rc $(jq -c '[.id, .kind, .subscription_id, .tenant, .event_id,
    .event_type, .state, .attempts, .last_status, .last_error, .source,
    .exit_signal, .failures]' "$work/out")" "0 [\"$m\",\"message\",null,null,\
\"one\",\"a.b\",\"dead\",1,3,\"exit status 3\",\"s\",null,1]" \
    '... and listed, by an id that is no delivery'"'"'s'
is "$(hook-dlq list --inbox)" "$(cat "$work/out")" '... by --inbox, too'
run hook-dlq show "$m"
is "$rc $(jq -c '[.id, .state, .source, .message_id, .exit_status,
    .stderr, (.failed_at | length), .next]' "$work/out")" \
    "0 [\"$m\",\"dead\",\"s\",\"one\",3,\"no \\\\x1b[31m\\\\xff\\\\\\\\ order\\\\n\",1,\
\"hook-dlq retry $m\"]" 'show tells what happened, escaped'
run hook-dlq show -o table "$m"
like "$(cat "$work/out")" '^stderr +no \\x1b\[31m' '... as a table, too'
run hook-dlq show m999
is "$rc $(cat "$work/err")" '1 hook-dlq: message m999: no such message' \
    '... and what there is not'
run hook-dlq retry -n "$m"
is "$rc $(jq -r .id "$work/out") $(state "$m")" "0 $m dead" \
    'a dry run changes nothing'
run hook-dlq retry -u bob -m mended "$m"
is "$rc $(jq -c '[.id, .event_id, .state, .source]' "$work/out")" \
    "0 [\"$m\",\"one\",\"pending\",\"s\"]" 'retry puts it back'
is "$(sql "select actor, tool, action, object, reason from webhook_audit")" \
    "bob|hook-dlq|retry|message ${m#m}|mended" '... with an audit row'
is "$(sql "select failures, takeovers, last_error, cardinality(failed_at)
    from webhook_inbox")" '0|0|exit status 3|1' \
    '... counts anew, and forgets nothing'
run hook-dlq retry "$m"
is "$rc $(cat "$work/out" "$work/err")" "1 hook-dlq: message $m:\
 not in the dead-letter queue: pending" '... once'
run hook-consume -s s -- true
is "$(state "$m")" 'done' '... and it is handled'

# A message and a delivery of the same number; two kinds in one pipe.
psql -X -q -v ON_ERROR_STOP=1 <<'EOT'
insert into webhook_subscriptions (tenant, url) values ('acme', 'http://x/');
insert into webhook_outbox (event_id, event_type, payload, tenant,
    fanned_out_at, fanned_out_to)
values ('evt_1', 'a.b', '{}', 'acme', now(), 1);
insert into webhook_deliveries (id, outbox_id, outbox_created_at, event_id,
    event_type, subscription_id, state, attempts, give_up_at, finished_at,
    last_status, last_error, payload_bytes)
select 2, id, created_at, event_id, event_type, 1, 'failed', 1, now(), now(),
    400, 'status 400', 2 from webhook_outbox;
EOT
is "$(put s two)" 2 'a message has the number of a delivery'
put s three a.c >/dev/null
put s four x >/dev/null
put t five >/dev/null
dead 2 3 4 5
is "$(hook-dlq list | jq -r .id | xargs)" '2 m2 m3 m4 m5' 'both are listed'
is "$(hook-dlq count) $(hook-dlq count --inbox) $(hook-dlq count -s 1) \
$(hook-dlq count -T acme)" '5 4 1 1' '... and counted'
is "$(hook-dlq list -t a.c | jq -r .id) $(hook-dlq list -t 'a.*' --inbox |
    jq -r .id | xargs) $(hook-dlq list -T acme | jq -r .id)" \
    'm3 m2 m3 m5 2' '... by type and tenant'
is "$(hook-dlq list --inbox --since tomorrow)$(hook-dlq list --inbox \
    --until yesterday)" '' '... and time'
like "$(hook-dlq alert)" '^DLQ WARNING - 5 dead, oldest [0-9]+ s, in 1 '\
'subscriptions and 2 sources, most in source s \(3\) \| dead=5;1;;0 ' \
    'alert knows of both'
run hook-dlq alert --inbox -c 4
exits 2 '... or of messages alone'
is "$(hook-dlq list -o table | grep -c '^ *id ')" 2 'a table of each'
hook-dlq list | jq -c 'select(.event_type == "a.b")' >"$work/some"
run hook-dlq retry - <"$work/some"
is "$rc $(jq -r .id "$work/out" | xargs) $(state 2) $(sql "select state
    from webhook_deliveries where id = 2")" '0 2 m2 m5 pending pending' \
    'what is listed is retried, each kind as its own'
run hook-dlq drop -m 'not ours' m3 2 m2 m4
is "$rc $(jq -r .id "$work/out" | xargs) $(state 3) $(state 4)" \
    '1 m3 m4 discarded discarded' 'drop takes what is dead'
is "$(sort "$work/err")" 'hook-dlq: delivery 2: not in the dead-letter queue: pending
hook-dlq: message m2: not in the dead-letter queue: pending' \
    '... and names the others'
is "$(sql "select count(*) from webhook_audit where action = 'drop'")" 2 \
    '... with audit rows'
while IFS='|' read -r want args; do
	# shellcheck disable=SC2086
	run hook-dlq $args </dev/null
	exits "$want" "hook-dlq $args"
done <<'EOT'
64|retry m
64|retry m0
64|retry mm2
64|retry M2
64|retry m-2
64|show m2 m3
1|retry m99999
EOT
for i in 'm0' '{"id":"m"}' '{"id":"mx"}'; do
	rc=0
	echo "$i" | hook-dlq retry - >"$work/out" 2>"$work/err" || rc=$?
	exits 65 "refused: $i"
done
run hook-replay m2
exits 64 'hook-replay is for deliveries'
sql "insert into webhook_inbox (source, message_id, body, state, finished_at)
    select 's', 'many' || n, '{}', 'dead', now() from generate_series(1, 2100) n"
is "$(hook-dlq list --inbox | jq -r .id | sort -u | wc -l)" 2100 \
    'a long list leaves none out and none twice'
hook-dlq list --inbox | hook-dlq drop - >"$work/out"
is "$(wc -l <"$work/out") $(hook-dlq count)" '2100 0' '... and is dropped'

# A sleeping consumer is told.
put s sleeper >/dev/null
run hook-consume -s s -x 1 -- false
start hook-consume -s s -f -i 60s -- true
wait_for 10 '[ "$(sql "select count(*) from webhook_wakeup
    where follower like '"'consume%'"' and asleep")" = 1 ]'
hook-dlq list --inbox | hook-dlq retry - >/dev/null
wait_for 10 '[ "$(sql "select state from webhook_inbox
    where message_id = '"'sleeper'"'")" = done ]' \
    'a retry wakes a consumer that sleeps'
stop

# An application that receives, or handles, in its own transaction.
# shellcheck disable=SC2016
sed -n '/^\.Ss webhook_inbox/,/^\.Ss webhook_dlq/p' "$top/man/hook-schema.5" |
    awk '/^\.Bd/ { n++; next } /^\.Ed/ { in_it = 0 } { in_it = n }
    n { print > ("'"$work"'/statement." n) }'
for f in "$work"/statement.*; do
	sed '/^\.Ed/,$d' "$f" >"$f.sql"
done
is "$(ls "$work"/statement.*.sql | wc -l)" 2 'hook-schema(5) has the statements'
keep=$(sed "s/\$1/'app'/; s/\$2/:'id'/; s/\$3/'{}'/" "$work/statement.1.sql")
mine() {	# MESSAGE-ID commit|rollback: ids that were new
	psql -X -q -A -t -v id="$1" <<-EOT
	begin;
	$keep;
	$2;
	EOT
}
like "$(mine x rollback)" '^[0-9]+$' 'a message is kept with an own row'
like "$(mine x commit)" '^[0-9]+$' '... or not, if that is rolled back'
is "$(mine x commit)" '' '... and once'
take=$(sed -n "1,/;/{s/\$1/'s'/;p;}" "$work/statement.2.sql")
ack=$(sed '1,/;/d' "$work/statement.2.sql")
sql "delete from webhook_inbox"
put s p1 >/dev/null
put s p2 >/dev/null
mkfifo "$work/hold"
psql -X -q -A -t <"$work/hold" >"$work/held" &
holder=$!
exec 9>"$work/hold"
printf 'begin;\n%s\n' "$take" >&9
wait_for 10 '[ -s "$work/held" ]'
like "$(cat "$work/held")" '\|p1\|' 'an application takes a message'
run timeout 20 hook-consume -s s -- sh -c 'echo $HOOK_MESSAGE_ID'
is "$rc $(cat "$work/out")" '0 p2' '... which no consumer takes then'
id=$(cut -d '|' -f 1 "$work/held")
printf '%s;\ncommit;\n' "$(echo "$ack" | sed "s/\$1/$id/")" >&9
exec 9>&-
wait $holder
is "$(state "$id")" 'done' '... and acks it in its own transaction'

done_testing
