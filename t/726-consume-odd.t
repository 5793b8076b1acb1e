#!/bin/sh
# hook-consume: what is no message's fault, and whose outcome it is.
. "${0%/*}/lib.sh"
durable=1
need_own_cluster
sql "insert into webhook_sources (name, scheme) values ('s', 'github')"

put() {		# MESSAGE-ID...
	for m; do
		sql "insert into webhook_inbox (source, message_id, body)
		    values ('s', '$m', '\"$m\"')"
	done
}
row() {		# COLUMNS of MESSAGE-ID
	sql "select $1 from webhook_inbox where message_id = '$2'"
}
state_is() {	# MESSAGE-ID STATE
	[ "$(row state "$1")" = "$2" ]
}
handler() {	# its text on standard input: $work/handler
	{ echo '#!/bin/sh'; cat; } >"$work/handler.new"
	chmod +x "$work/handler.new"
	mv "$work/handler.new" "$work/handler"
}
events() {
	sql "select string_agg(payload #>> '{}', ' ' order by id)
	    from webhook_outbox"
}

# No message is the worse for a command that can't be started.
put a1 a2
handler </dev/null
printf '#!/nonexistent\n' >"$work/handler"
start hook-consume -s s -f -- "$work/handler"
broken=$pid
broken_log=$log
wait_for 10 'grep -q "can.t be started" "$broken_log"' \
    'a command that can'"'"'t be started is told of'
wait_for 10 '[ "$(sql "select count(*) from webhook_inbox where owner
    is null and attempts = 0 and next_attempt_at <= now()")" = 2 ]' \
    '... its messages are as they were'
run timeout 20 hook-consume -s s -- true
is "$rc $(row state a1) $(row state a2)" '0 done done' \
    '... and others take them'
put a3
wait_for 20 '[ "$(sql "select fence from webhook_inbox
    where message_id = '"'a3'"'")" -gt 0 ]'
echo 'exit 0' | handler
wait_for 20 'state_is a3 done' '... and so does this one, once it is mended'
is "$(row 'attempts, failures' a3)" '1|0' '... of which no attempt is counted'
stop "$broken"
is "$rc $(grep -c error "$broken_log")" '0 1' '... which is said once'
put a4
echo x >"$work/handler"
run timeout 20 hook-consume -s s -- "$work/handler"
is "$rc $(row 'attempts, failures' a4)" '69 0|0' \
    'without -f it is an exit status'
like "$(cat "$work/err")" 'handler: Exec format error' '... with the reason'
sql 'delete from webhook_inbox'

# Nor for standard output that nobody reads any more.
put b1 b2 b3
handler <<'EOT'
while echo x; do :; done
exit 1
EOT
for f in '' -f; do
	# shellcheck disable=SC2086 # perhaps none
	{
		rc=0
		timeout 20 hook-consume -s s -x 1 $f -- "$work/handler" \
		    2>"$work/err" || rc=$?
		echo $rc >"$work/rc"
	} | true
	is "$(cat "$work/rc") $(sql "select count(*) from webhook_inbox
	    where state = 'pending' and failures = 0 and owner is null")" \
	    '75 3' "standard output that nobody reads is no failure${f:+, $f}"
	like "$(cat "$work/err")" 'standard output: nobody reads it' \
	    '... which is said'
done
run timeout 20 hook-consume -s s -x 1 -- false
is "$rc $(row state b1)" '0 dead' '... and a failure is one'
sql 'delete from webhook_inbox'

# Who left the session with our pipe in its hand is not waited for.
put c1
handler <<EOT
setsid sh -c 'echo \$\$ >$work/left; exec sleep 60' &
until [ -s $work/left ]; do :; done
echo '{"event_type":"x","payload":"c1"}'
EOT
run timeout 20 hook-consume -s s -e -- "$work/handler"
is "$rc $(row state c1) $(events)" '0 done c1' \
    'nobody waits for what a handler left behind'
kill "$(cat "$work/left")"

# A message that is deleted as it is claimed takes its body along.
put d1 d2 d3
sql "create function drop_it() returns trigger language plpgsql as
    'begin delete from webhook_inbox where id = new.id; return null; end'"
sql "create constraint trigger drop_it after update on webhook_inbox
    deferrable initially deferred for each row
    when (new.message_id = 'd2' and new.owner is not null)
    execute function drop_it()"
handler <<EOT
echo "\$HOOK_MESSAGE_ID \$(cat)" >>$work/bodies
EOT
: >"$work/bodies"
put d4
run timeout 20 hook-consume -s s -j 4 -- "$work/handler"
is "$rc $(sort "$work/bodies" | xargs)" '0 d1 d1 d3 d3 d4 d4' \
    'one that is deleted in between leaves the others their bodies'
sql 'drop trigger drop_it on webhook_inbox'

# A consumer that lived through a restore, or a fail-over to a standby that
# was behind, knows a message by a number that is another one's now.
put e1
handler <<EOT
echo "\$HOOK_MESSAGE_ID" >>$work/ran
[ "\$HOOK_MESSAGE_ID" != e1 ] || until [ -e $work/go ]; do sleep 0.02; done
printf '{"event_type":"x","payload":"%s"}\n' "\$HOOK_MESSAGE_ID"
EOT
start hook-consume -s s -f -e -l 4s -- "$work/handler"
wait_for 10 'grep -qs e1 "$work/ran"'
sql "update webhook_inbox set message_id = 'e2' where message_id = 'e1'"
: >"$work/go"
wait_for 30 'state_is e2 done' 'one whose number was that of another is done'
is "$(cat "$work/ran" | xargs) $(events)" 'e1 e2 c1 e2' \
    '... since it was handled, and not the other'
rm "$work/go"
put e1
wait_for 10 '[ "$(grep -c e1 "$work/ran")" = 2 ]'
sql "update webhook_inbox set message_id = 'e3' where message_id = 'e1'"
wait_for 30 'state_is e3 done' \
    '... nor is it leased to who works on the other'
is "$(events)" 'c1 e2 e3' '... who is ended with the lease'
stop
put e4
handler <<EOT
sql() { psql -X -q -c "\$1"; }
sql "update webhook_inbox set message_id = 'e5' where message_id = 'e4'"
EOT
run timeout 20 hook-consume -s s -- "$work/handler"
is "$rc $(row 'state, owner is null' e5)" '0 pending|f' \
    '... nor acked by who printed nothing'
sql "update webhook_inbox set owner = null, leased_until = null"
run timeout 20 hook-consume -s s -- true

# Where the table was tiny when it was planned, too, messages are looked up by
# their ids (t/655 has the other statements).
sql 'delete from webhook_inbox'
put p1
sql 'vacuum analyze webhook_inbox'
by_index='set enable_seqscan = off; set enable_hashjoin = off;
    set enable_mergejoin = off; set enable_bitmapscan = off;
    set enable_sort = off; set plan_cache_mode = force_generic_plan;'
echo "$by_index load 'auto_explain'; set auto_explain.log_min_duration = 0;
    set auto_explain.log_nested_statements = on; set client_min_messages = log;
    select * from webhook_inbox_claim('s', null, null, '-infinity', 0, 10, 'x',
	'1 s', '\$.n', '{x}')" | psql -X -q -A -t >"$work/plan" 2>&1
like "$(grep 'order_key IS NULL' "$work/plan" | head -n 1)" \
    'Index Cond: \(\(source = .*order_key IS NULL\)' \
    '-k: what has no key yet by that'
is "$(grep -c 'Index Scan .*_pkey on webhook_inbox i' "$work/plan") $(grep -c \
    'Index Cond: (id = ANY ' "$work/plan")" '4 4' '... all else by id'
like "$(grep 'order_key >= r.key' "$work/plan")" \
    'Index Cond: \(\(source = .*order_key >= r.key\) AND \(order_key <= ' \
    '... and the first of a key by that'
sql 'delete from webhook_inbox'

# A server that goes while the ack is on its way, with what was printed.
sql 'truncate webhook_outbox'
put f1
sql "create function slow() returns trigger language plpgsql as
    'begin perform pg_sleep(3); return new; end'"
sql "create trigger slow before update on webhook_inbox for each row
    when (new.state = 'done') execute function slow()"
handler <<EOT
echo "\$HOOK_MESSAGE_ID" >>$work/ran
echo '{"event_type":"x","payload":"f1"}'
EOT
start hook-consume -s s -f -e -- "$work/handler"
wait_for 20 '[ "$(sql "select count(*) from pg_stat_activity where
    wait_event = '"'PgSleep'"'")" = 1 ]'
pg-tmp restart "$own_cluster" -m immediate >/dev/null
wait_for 60 'state_is f1 done' 'a server that goes amid the ack'
is "$(grep -c f1 "$work/ran") $(events)" '1 f1' \
    '... what was printed is kept, and stored once'
stop

done_testing
