#!/bin/sh
# hook-consume: many of them, leases, an orderly stop, and a server that goes.
. "${0%/*}/lib.sh"
need_own_cluster
sql "insert into webhook_sources (name, scheme) values ('s', 'github')"
started=$(date +%s)

come() {	# SOURCE ID: as hook-receive keeps it
	{
		printf 'prepare keep as '
		cat "$top/sql/query/inbox_store.sql"
		printf ';execute keep (%s)\n' "'{$1}', '{$2}', '{null}', '{\"\"}', '{\\\\x7b7d}'"
	} | psql -X -q -A -t -v ON_ERROR_STOP=1
}
many() {	# PREFIX N
	sql "insert into webhook_inbox (source, message_id, body)
	    select 's', '$1' || n, '{}' from generate_series(1, $2) n"
}
states() {	# PREFIX
	sql "select state, count(*) from webhook_inbox
	    where message_id like '$1%' group by 1 order by 1" | xargs
}
now_ms() {
	date +%s%3N
}
held() {	# PREFIX: how many are leased
	sql "select count(*) from webhook_inbox where message_id like '$1%'
	    and leased_until > now()"
}
cat >"$work/note" <<EOT
#!/bin/sh
echo "+ \$HOOK_MESSAGE_ID \$PPID" >>"$work/log"
echo \$\$ >>"$work/pids"
sleep "\${HOOK_SLEEP-0.01}"
echo "- \$HOOK_MESSAGE_ID \$PPID" >>"$work/log"
EOT
chmod +x "$work/note"

# Each message goes to one of them.
many a 200
for i in 1 2 3 4; do
	timeout 60 hook-consume -s s -j 3 -- "$work/note" 2>"$work/err.$i" &
	them="${them-} $!"
done
# shellcheck disable=SC2086
wait $them
is "$(states a) $(cat "$work"/err.*)" 'done|200 ' 'four consumers of one source'
is "$(grep -c + "$work/log") $(grep + "$work/log" | cut -d ' ' -f 2 |
    sort -u | wc -l)" '200 200' '... handle each message once'
[ "$(cut -d ' ' -f 3 "$work/log" | sort -u | wc -l)" -gt 1 ]
check '... all of them taking part'

# A follower sleeps, and is woken.
start hook-consume -s s -f -i 60s -- "$work/note"
follower=$pid
wait_for 10 '[ "$(sql "select count(*) from webhook_wakeup
    where follower like '"'consume%'"' and asleep")" = 1 ]' \
    'a follower says that it sleeps'
is "$(sql "select tool from webhook_workers")" hook-consume \
    '... and is among the workers'
is "$(come s b1)" 's|b1' 'a message comes'
wait_for 10 '[ "$(states b)" = "done|1" ]' \
    '... and wakes it, long before its next poll'
wait_for 10 '[ "$(sql "select count(*) from webhook_wakeup
    where follower like '"'consume%'"' and asleep")" = 1 ]'
come other b9 >/dev/null
is "$(sql "select count(*) from pg_stat_activity where state <> 'idle'
    and application_name = 'hook-consume'
    and datname = current_database()")" 0 'no transaction is open meanwhile'
stop "$follower"
is "$rc $(cat "$log") $(sql "select count(*) from webhook_workers")" '0  0' \
    'told to stop it exits with 0, and is gone'
is "$(sql "select count(*) from webhook_wakeup
    where follower like 'consume%'")" 0 '... with its flag'

# While a handler runs no transaction is open, and its lease is renewed.
many c 1
HOOK_SLEEP=3 start hook-consume -s s -l 1s -- "$work/note"
slow=$pid
wait_for 10 '[ "$(held c)" = 1 ]' 'a message is leased'
first=$(sql "select leased_until from webhook_inbox where message_id = 'c1'")
is "$(sql "select count(*) from pg_stat_activity
    where application_name = 'hook-consume' and datname = current_database()
    and (state <> 'idle' or backend_xmin is not null)")" 0 \
    '... with no transaction and no snapshot'
wait_for 10 '[ "$(sql "select leased_until > '"'$first'"' from webhook_inbox
    where message_id = '"'c1'"'")" = t ]' '... the lease is renewed'
run timeout 20 hook-consume -s s -- "$work/note"
is "$rc $(grep -c '+ c1 ' "$work/log")" '0 1' '... and nobody else takes it'
rc=0
wait "$slow" || rc=$?
is "$rc $(states c)" '0 done|1' '... until it is done'

# An orderly stop.
: >"$work/log"
many d 20
HOOK_SLEEP=1 start hook-consume -s s -f -j 3 -- "$work/note"
wait_for 10 '[ "$(grep -c + "$work/log")" = 3 ]'
at=$(now_ms)
stop
is "$rc $(grep -c + "$work/log") $(grep -c - "$work/log")" '0 3 3' \
    'told to stop, a consumer finishes what it began and begins no more'
is "$(states d) $(held d)" 'done|3 pending|17 0' '... and holds nothing'
is "$(sql "select sum(attempts) from webhook_inbox
    where message_id like 'd%' and state = 'pending'")" 0 \
    '... of what never ran no attempt is counted'
: >"$work/log"
: >"$work/pids"
HOOK_SLEEP=60 start hook-consume -s s -f -j 3 -g 300ms -- "$work/note"
wait_for 10 '[ "$(grep -c + "$work/log")" = 3 ]'
stop
is "$rc $(states d) $(held d)" '0 done|3 pending|17 0' \
    'when its grace is over messages are given back'
is "$(sql "select count(*) from webhook_inbox where message_id like 'd%'
    and state = 'pending' and next_attempt_at <= now() and failures = 0")" 17 \
    '... at once, and it is no failure of theirs'
for p in $(cat "$work/pids"); do
	! kill -0 "$p" 2>/dev/null
	check '... and its handlers are gone'
done
: >"$work/log"
HOOK_SLEEP=60 start hook-consume -s s -f -- "$work/note"
wait_for 10 '[ "$(grep -c + "$work/log")" = 1 ]'
kill "$pid"
stop "$pid" INT
is "$rc $(held d)" '0 0' 'told twice it stops at once'
run timeout 30 hook-consume -s s -j 9 -- true

# Who dies takes its handlers along, and its messages are for others.
: >"$work/pids"
many e 2
HOOK_SLEEP=60 start hook-consume -s s -j 2 -l 1s -- \
    sh -c 'sleep 60 & echo $! >>"$0"; . "$1"' "$work/pids" "$work/note"
wait_for 10 '[ "$(wc -l <"$work/pids")" = 4 ]'
stop "$pid" KILL
for p in $(cat "$work/pids"); do
	wait_for 10 "! kill -0 $p 2>/dev/null" \
	    'a handler, and what it started, dies with its consumer'
done
wait_for 15 '[ $(($(date +%s) - started)) -gt 11 ]'
wait_for 10 '[ "$(held e)" = 0 ]'
HOOK_SLEEP=0 run timeout 20 hook-consume -s s -l 1s -- "$work/note"
is "$rc $(states e) $(sql "select attempts, failures, takeovers
    from webhook_inbox where message_id = 'e1'")" '0 done|2 2|0|1' \
    '... and its message is taken over'

# Who is frozen can ack nothing any more, and its handler does not go on.
: >"$work/log"
: >"$work/pids"
many g 1
HOOK_SLEEP=60 start hook-consume -s s -e -l 1s -- "$work/note"
frozen=$pid
wait_for 10 '[ -s "$work/pids" ]'
kill -STOP "$frozen"
handler=$(cat "$work/pids")
wait_for 10 '! kill -0 "$handler" 2>/dev/null ||
    grep -q "^State:.Z" "/proc/$handler/status"' \
    'the handler of a frozen consumer ends with its lease'
wait_for 10 '[ "$(held g)" = 0 ]'
HOOK_SLEEP=0 run timeout 20 hook-consume -s s -l 1s -- "$work/note"
is "$rc $(states g)" '0 done|1' '... somebody else does the work'
sql "update webhook_inbox set state = 'pending', finished_at = null,
    owner = 'other', leased_until = now() + interval '1 h'
    where message_id = 'g1'"
kill -CONT "$frozen"
rc=0
wait "$frozen" || rc=$?
is "$rc $(sql "select state, failures, owner from webhook_inbox
    where message_id = 'g1'")" '0 pending|0|other' \
    '... and when it wakes it acks nothing'
sql "delete from webhook_inbox where message_id = 'g1'"

# Poison that kills its consumers.
many h 1
sql "update webhook_inbox set takeovers = 9, attempts = 9, owner = 'gone',
    leased_until = now() - interval '1 min' where message_id = 'h1'"
run timeout 20 hook-consume -s s -l 1s -- false
is "$(sql "select state, last_error from webhook_inbox
    where message_id = 'h1'")" \
    'dead|no outcome known: consumers stopped, 10 times' \
    'what ten consumers did not outlive is dead'

# A server that is restarted while handlers run.
: >"$work/log"
many i 3
HOOK_SLEEP=2 start hook-consume -s s -f -j 3 -- "$work/note"
wait_for 10 '[ "$(grep -c + "$work/log")" = 3 ]'
pg-tmp restart "$own_cluster" -m immediate >/dev/null
wait_for 20 '[ "$(states i)" = "done|3" ]' \
    'a restart of the server costs no outcome'
is "$(grep -c + "$work/log")" 3 '... nothing is handled twice'
many j 1
wait_for 20 '[ "$(states j)" = "done|1" ]' '... and the follower goes on'
is "$(grep -c 'database fails' "$log") $(grep -c 'database back' "$log")" \
    '1 1' '... having said so once'
stop
: >"$work/log"
many k 3
HOOK_SLEEP=2 start hook-consume -s s -j 2 -- "$work/note"
wait_for 10 '[ "$(grep -c + "$work/log")" = 2 ]'
pg-tmp restart "$own_cluster" -m fast >/dev/null
rc=0
wait "$pid" || rc=$?
is "$rc $(states k)" '75 done|2 pending|1' \
    'without -f what runs is acked, and it exits with 75'
run timeout 30 hook-consume -s s -- true
many l 1
HOOK_SLEEP=2 start hook-consume -s s -l 2s -- "$work/note"
wait_for 10 '[ "$(grep -c "+ l" "$work/log")" = 1 ]'
pg-tmp stop "$own_cluster" -m immediate >/dev/null
rc=0
wait "$pid" || rc=$?
is "$rc" 75 'where the server stays away it gives up'
pg-tmp go "$own_cluster" >/dev/null
is "$(states l)" 'pending|1' '... and the message is kept'

done_testing
