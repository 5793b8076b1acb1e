#!/bin/sh
# The server is restarted, crashes, stays away for 20 s: every answer that came
# is recorded, once, and nothing is sent twice.
. "${0%/*}/lib.sh"
. "${0%/*}/engine.sh"
durable=1
need_own_cluster
cluster=$own_cluster

# While requests are under way: a restart, a crash, and 20 s without a server,
# which is longer than the lease.
sink <<'EOT'
/slow * delay 300
EOT
sub slow "$sink/slow" max_concurrency=4
fanout -i 10s
fan=$pid fan_log=$log
worker -l 5s -i 60s
one=$pid one_log=$log
worker -l 5s -i 60s
two=$pid two_log=$log
asleep() {
	wait_for 10 "[ \"\$(sql 'select asleep from webhook_wakeup')\" = t ]"
}
asleep

# Writing outcomes takes a while, so that each outage meets one being written.
sql "create function slow() returns trigger language plpgsql as \$\$ begin
	perform pg_sleep(0.15); return null; end \$\$;
    create trigger slow after insert on webhook_attempts
    for each statement execute function slow()"
events slow 60
wait_for 10 '[ "$(seen /slow)" -ge 20 ]'
all_back() {
	for l in "$fan_log" "$one_log" "$two_log"; do
		[ "$(grep -c 'database back' "$l")" = "$1" ] || return
	done
}
pg-tmp restart "$cluster" -m fast
wait_for 10 'all_back 1' 'after a restart all are back'
pg-tmp restart "$cluster" -m immediate
events slow 30
wait_for 10 'all_back 2' '... and after a crash'
psql -X -q -c "begin; insert into webhook_outbox (event_type, payload)
    values ('slow', '{\"last\":true}'); commit"
owner=$one other_log=$two_log
[ "$(sql "select count(*) from webhook_lanes where owner like '%:$two:%'")" = 0 ] ||
    owner=$two other_log=$one_log
# CPU time of the three, in clock ticks.
cpu() {
	awk '{ n += $14 + $15 } END { print n }' "/proc/$one/stat" \
	    "/proc/$two/stat" "/proc/$fan/stat"
}
ticks=$(cpu)
lines=$(cat "$fan_log" "$one_log" "$two_log" | wc -l)
pg-tmp stop "$cluster" -m immediate
back=$(($(date +%s) + 20))
wait_for 22 '[ "$(date +%s)" -ge "$back" ]'
lines=$(($(cat "$fan_log" "$one_log" "$two_log" | wc -l) - lines))
is "$lines" 3 '20 s without a server are worth a line each'
[ $(($(cpu) - ticks)) -lt 100 ]
check "... in which nobody spins ($(($(cpu) - ticks)) ticks)"
kill -0 "$fan" && kill -0 "$one" && kill -0 "$two"
check '... or ends'
# The one that holds the lane is the last to come back.
kill -STOP "$owner"
pg-tmp go "$cluster"
wait_for 10 '[ "$(grep -c "database back" "$other_log")" = 3 ]'
until=$(($(now_ms) + 1000))
wait_for 5 '[ "$(now_ms)" -ge $until ]'
kill -CONT "$owner"
wait_for 30 '[ "$(count "state = '\''delivered'\''")" = 91 ]' \
    'then all is delivered, the commit just before the crash as well'
is "$(seen /slow)" 91 \
    '... with one request each: the answers of those under way were kept'
is "$(sql 'select takeovers from webhook_lanes')" 0 \
    '... whose lane waited for the one that held it'
is "$(sql 'select max(attempts) from webhook_deliveries')" 1 \
    '... and no attempt is used up by the server'
all_back 3
check 'each outage begins and ends with a line'
asleep
stop "$two"
wait_for 5 '[ "$(lane owner)" = - ]'
# The other looks again when the lease that it saw would have run out.
until=$(($(now_ms) + 5500))
wait_for 8 '[ "$(now_ms)" -ge $until ]'
events slow 1
wait_for 3 '[ "$(seen /slow)" = 92 ]' 'they listen again'

run hook-reconcile
is "$rc $(cat "$work/out" "$work/err")" '0 ' \
    'hook-reconcile finds nothing missing, doubled or stuck'

# The first of several hosts has no power: it takes the connection, or not,
# and says nothing.
start perl -MIO::Socket::INET -e '$| = 1; my $s = IO::Socket::INET->new(
    Listen => 5, LocalAddr => "127.0.0.1"); print $s->sockport, "\n";
    sleep 600'
wait_for 5 '[ -s "$out" ]'
stop "$fan"
stop "$one"
mute=$(cat "$out")
export PGPORT="$mute,$PGPORT" PGHOST="127.0.0.1,$PGHOST"
export PGCONNECT_TIMEOUT=2
run hook-sub list
is "$rc $(cat "$work/err")" '0 ' 'a mute host: the next one is asked'
fanout
worker
worker_pid=$pid
wait_for 20 '[ "$(sql "select count(distinct application_name)
    from pg_stat_activity where application_name in
    (\$\$hook-fanout\$\$, \$\$hook-deliver\$\$)")" = 2 ]' \
    '... by followers, too'
events slow 1
wait_for 20 '[ "$(seen /slow)" = 93 ]' '... which go on'
stop "$worker_pid"
is $rc 0 '... and stop'

done_testing
