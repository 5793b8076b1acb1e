#!/bin/sh
# An orderly stop: what is under way is finished and recorded, nothing new is
# begun; when the grace is over it is given back; signals at any time.
. "${0%/*}/lib.sh"
. "${0%/*}/engine.sh"
need_db

sink <<'EOT'
/three * delay 3000
/hang * hang
/key * delay 5
EOT
sub three "$sink/three" max_concurrency=20
events three 1000
hook-fanout
worker -j 40 -g 10s
wait_for 5 '[ "$(seen /three)" = 20 ]' '20 are under way, 980 wait'
at=$(now_ms)
stop
at=$(($(now_ms) - at))
is "$rc" 0 'a worker that is told to stop exits with 0'
[ $at -lt 4000 ]
check "... when those under way are done ($at ms)"
is "$(count "state = 'delivered'") $(count "state = 'pending' and attempts = 0")" \
    '20 980' '... and recorded, the others untouched'
is "$(seen /three)" 20 '... and nothing new was begun'
is "$(lane owner) $(sql "select next_due_at <= now() + interval '1 s'
    from webhook_lanes where subscription_id = $sub")" '- t' \
    '... and the lane is free and due'
is "$(cat "$log")" '' '... without a word'
sql 'truncate webhook_deliveries'

# The grace ends before the request.
sub hang "$sink/hang" timeout_ms=30000 max_concurrency=20
events hang 30
hook-fanout
worker -j 40 -g 500ms
wait_for 5 '[ "$(seen /hang)" = 20 ]'
at=$(now_ms)
stop
at=$(($(now_ms) - at))
is "$rc" 0 'when the grace is over the exit status is 0, too'
[ $at -lt 3000 ]
check "... soon after ($at ms)"
is "$(sql "select attempts, count(*), bool_and(next_attempt_at <= now()),
    min(last_error) from webhook_deliveries where state = 'pending'
    group by 1 order by 1")" '0|10|t|
1|20|t|no outcome known: the worker was stopped' \
    '... those that were cut off are due again, with the attempt on record'
is "$(sql "select count(*), bool_and(worker is not null and url is not null
    and duration_ms >= 400) from webhook_attempts a
    join webhook_deliveries d on d.id = a.delivery_id
    where event_type = 'hang'" | tr '|' ' ')" '20 t' \
    '... by whom, to where, and for how long'
is "$(lane owner) $(lane failures) $(lane breaker)" '- 0 closed' \
    '... which is no failure of the endpoint, and keeps no lane'

# Twice: at once.
worker -j 40 -g 30s
wait_for 5 '[ "$(seen /hang)" = 40 ]' '... and no lease is waited for'
at=$(now_ms)
kill "$pid"
wait_for 5 "[ \"\$(sql \"select count(*) from webhook_lanes
    where owner is not null\")\" = 1 ]"
kill -INT "$pid"
stop
at=$(($(now_ms) - at))
is "$rc" 0 'a second signal ends it at once'
[ $at -lt 2500 ]
check "... ($at ms)"
is "$(lane owner)" - '... with the lane given back'

# At any moment of the start, by any signal.
sql 'truncate webhook_deliveries'
tries=0 bad=
while [ $tries -lt 12 ]; do
	tries=$((tries + 1))
	tool=hook-deliver
	[ $((tries % 2)) = 0 ] || tool=hook-fanout
	# A shell starts it deaf to SIGINT.
	rm -f "$work/ready"
	start perl -e '$SIG{INT} = "DEFAULT"; open(my $f, ">", shift);
	    exec @ARGV' "$work/ready" $tool -f
	wait_for 5 '[ -e "$work/ready" ]'
	until=$(($(now_ms) + tries * 4))
	wait_for 2 '[ "$(now_ms)" -ge $until ]'
	stop "$pid" INT
	case $rc in
	0|130)	;;
	*)	bad="$bad $tool:$rc" ;;
	esac
done
is "$bad" '' 'SIGINT at any moment of the start ends it'
is "$(sql "select count(*) from pg_stat_activity
    where datname = current_database()
    and application_name in ('hook-deliver', 'hook-fanout')
    and backend_start < now() - interval '2 s'")" 0 '... and its session'

# Without a server: it can't give back, nor need it wait for long.
start hook-deliver -f -g 1s -d 'host=/nowhere'
wait_for 5 'grep -q "database fails" "$log"'
at=$(now_ms)
stop
at=$(($(now_ms) - at))
is "$rc" 0 'a worker that never reached the server stops with 0'
[ $at -lt 1500 ]
check "... at once ($at ms)"
start hook-fanout -f -d 'host=/nowhere'
wait_for 5 'grep -q "database fails" "$log"'
stop
is "$rc" 0 'hook-fanout likewise'

# SIGHUP: keys and settings are read again.
key() {
	od -An -N32 -tx1 /dev/urandom | tr -d ' \n' >"$1"
	chmod 600 "$1"
}
key "$work/key"
sub key "$sink/key" "retry_ms='{200,200,200,200,200,200,200,200}'"
HOOK_KEY_FILE=$work/key hook-sub rotate -g 0 "$sub" >"$work/out"
like "$(sql "select secret from webhook_secrets
    where subscription_id = $sub and expires_at is null")" '^sealed:v1:' \
    'a secret is sealed'
mv "$work/key" "$work/right"
key "$work/key"
fanout -i 100ms
HOOK_KEY_FILE=$work/key worker -i 100ms
events key 1
wait_for 5 "[ \"\$(sql \"select coalesce(max(attempts), 0) from webhook_deliveries\")\" -ge 1 ]" \
    'with the wrong key, attempts fail'
is "$(seen /key)" 0 '... and nothing is sent'
chmod 644 "$work/key"
kill -HUP "$pid"
wait_for 5 'grep -q "HOOK_KEY_FILE.*others have access" "$log"' \
    'a key file that is no good is told of at SIGHUP'
mv "$work/right" "$work/key"
kill -HUP "$pid"
wait_for 5 '[ "$(seen /key)" = 1 ]' '... and the right one taken'
stop

done_testing
