#!/bin/sh
# hook-receive: acknowledged only when kept, and marked as seen only when
# kept, whatever ends in between.
. "${0%/*}/lib.sh"
durable=1
need_own_cluster
. "$top/t/receive.sh"
source_of gh github topsecret
receiver

try 'all is well' <<'EOT'
post(id => 'before') == 202
EOT
pg-tmp stop "$own_cluster" -m fast
try 'the database is away: 503 within two seconds, with Retry-After' <<'EOT'
my $t = time;
my $status = post(id => 'away');
printf "%s after %.2f s\n", $status, time - $t;
$status == 503 && time - $t < 2 && $head =~ /^Retry-After: \d+\r?$/m
EOT
try '... at once when that is known; who may not is told so still' <<'EOT'
my $t = time;
my @r = map { post(id => 'away') } 1 .. 50;
push @r, post(secret => 'wrong');
same("@r", '503 ' x 50 . '401') && time - $t < 2
EOT
try '/readyz says so, /healthz does not' <<'EOT'
get('/readyz') == 503 && get('/healthz') == 200
EOT
pg-tmp go "$own_cluster"
ready
try 'sent again when it is back, it is new' <<'EOT'
post(id => 'away') == 202
EOT
is "$(stored "message_id = 'away'") $(grep -c 'database fails' "$rcv_log") \
$(grep -c 'database back' "$rcv_log")" '1 1 1' \
    '... and stored once; the log said what happened, once'

# A lock held by somebody else
psql -X -q >"$work/lock.out" 2>/dev/null <<'EOT' &
begin;
lock webhook_inbox in access exclusive mode;
\echo locked
select pg_sleep(60);
EOT
lock=$!
pids="$pids $lock"
wait_for 10 'grep -q locked "$work/lock.out"'
try 'the table is locked: 503 within two seconds' <<'EOT'
my @c = map { dial() } 1 .. 30;
my $t = time;
put($c[$_], signed(id => "locked-$_")) for 0 .. $#c;
my %n;
$n{answer($_)}++ for @c;
printf "%s after %.2f s\n", join(' ', %n), time - $t;
($n{503} // 0) == 30 && time - $t < 2.5 && get('/healthz') == 200
EOT
kill "$lock"
wait "$lock" 2>/dev/null
sql "select count(pg_terminate_backend(pid)) from pg_stat_activity
    where datname = current_database() and query ~ 'pg_sleep'" >/dev/null
wait_for 10 'sql "set lock_timeout = 100; select 1 from webhook_inbox
    limit 1" >/dev/null 2>&1'
try '... and when it is free, they are new' <<'EOT'
my @r = map { post(id => "locked-$_") } 0 .. 29;
same("@r", join ' ', (202) x 30)
EOT

# A message that is somebody else's, not yet committed
psql -X -q >"$work/row.out" 2>/dev/null <<'EOT' &
begin;
insert into webhook_inbox (source, message_id, body)
select 'gh', 'held-' || n, '' from generate_series(1, 9) n;
\echo inserted
select pg_sleep(60);
EOT
lock=$!
pids="$pids $lock"
wait_for 10 'grep -q inserted "$work/row.out"'
try 'who waits for a row holds up no other message' <<'EOT'
# Up to a second: the lock's timeout.  A busy machine may take that for both.
for my $n (1 .. 9) {
	my $c = dial();
	put($c, signed(id => "held-$n"));
	my $free = post(id => "free-$n");
	my $first = !IO::Select->new($c)->can_read(0);
	my $held = answer($c);
	print "$free, $held\n";
	return 0 if $free != 202 || $held != 503;
	return 1 if $first;
}
0
EOT
kill "$lock"
wait "$lock" 2>/dev/null
sql "select count(pg_terminate_backend(pid)) from pg_stat_activity
    where datname = current_database() and query ~ 'pg_sleep'" >/dev/null

# One of its two sessions ends, then the other, and can't come back
db=$PGDATABASE
for which in one other; do
	wait_for 20 '[ "$(sql "select count(*) from pg_stat_activity
	    where application_name = '"'hook-receive'"'")" = 2 ]'
	is "$(psql -X -q -A -t -d postgres -c \
	    "alter database $db allow_connections false" \
	    -c "select pg_terminate_backend(min(pid)) from pg_stat_activity
	    where application_name = 'hook-receive'")" t "$which is ended"
	export WHICH=$which
	try "$which session is lost: what is left goes on" <<-'EOT'
	my @r = map { post(id => "$ENV{WHICH}-$_") } 1 .. 9;
	# The first may have been on its way there.
	same(join(' ', @r[1 .. 8]), join ' ', (202) x 8)
	EOT
	psql -X -q -d postgres -c "alter database $db allow_connections true"
done

# A server that hangs
server=$(head -n 1 "$own_cluster/data/postmaster.pid")
backend=$(sql "select pid from pg_stat_activity
    where application_name = 'hook-receive'")
# shellcheck disable=SC2086 # two sessions
kill -STOP $backend
try 'the database hangs: 503 within two seconds' <<'EOT'
my $t = time;
my $status = post(id => 'hangs');
printf "%s after %.2f s\n", $status, time - $t;
$status == 503 && time - $t < 2.5
EOT
# shellcheck disable=SC2086 # two sessions
kill -CONT $backend
ready
try '... and then all is well' <<'EOT'
my $status = post(id => 'hangs');
$status == 202 || $status == 200
EOT
is "$(stored "message_id = 'hangs'")" 1 '... and stored once'

# A restart under load: nothing that was acknowledged is lost.
later <<'EOT'
my ($n, %ok) = (0);
my $end = time + 4;
my @c = map { dial() } 1 .. 8;
while (time < $end) {
	my @id = map { 'load-' . $n++ } @c;
	put($c[$_], signed(id => $id[$_])) for 0 .. $#c;
	for (0 .. $#c) {
		my $s = answer($c[$_]);
		print "ok $id[$_]\n" if $s == 202;
		print "odd $s\n" if $s != 202 && $s != 503;
	}
}
1
EOT
load=$pid load_out=$out
wait_for 10 '[ "$(grep -c ^ok "$load_out")" -gt 100 ]'
pg-tmp stop "$own_cluster" -m immediate
pg-tmp go "$own_cluster"
wait "$load"
check 'a crash of the database amid many messages'
sed -n 's/^ok //p' "$load_out" | sort >"$work/acked"
sql "select message_id from webhook_inbox where message_id ~ '^load'" |
    sort >"$work/kept"
is "$(comm -23 "$work/acked" "$work/kept" | wc -l) \
$(grep -c ^odd "$load_out")" '0 0' \
    '... loses none that was acknowledged, and else says 503'
ready

# Killed between body and answer
sql "create function slow() returns trigger language plpgsql as
    \$\$ begin perform pg_sleep(0.7); return null; end \$\$;
    create trigger slow after insert on webhook_inbox
    for each statement execute function slow()"
storing() {
	[ "$(sql "select count(*) from pg_stat_activity
	    where application_name = 'hook-receive' and state = 'active'
	    and query ~ 'insert into webhook_inbox'")" -gt 0 ]
}
# A busy machine may need more than the 0.7 seconds to see it.
for round in 1 2 3 4 5 6 7 8 9; do
	later <<-EOT
	my \$c = dial();
	put(\$c, signed(id => 'killed$round'));
	print answer(\$c), "\n";
	EOT
	wait_for 10 'storing || [ -s "$out" ]'
	[ -s "$out" ] || break
done
stop "$rcv_pid" KILL
wait_for 10 '[ -s "$out" ]'
is "$(cat "$out")" 0 'killed amid the commit, it answers nothing'
sql 'drop trigger slow on webhook_inbox'
receiver
export ROUND=$round
try '... and the repeat is acknowledged' <<'EOT'
post(id => "killed$ENV{ROUND}") =~ /^20[02]$/
EOT
is "$(stored "message_id = 'killed$round'")" 1 '... and one row'
round=0
while [ $round -lt 6 ]; do
	round=$((round + 1))
	later <<-EOT
	my @c = map { dial() } 1 .. 20;
	my \$n = 0;
	while (1) {
		my @id = map { "kill-$round-" . \$n++ } @c;
		put(\$c[\$_], signed(id => \$id[\$_])) for 0 .. \$#c;
		for (0 .. \$#c) {
			my \$s = answer(\$c[\$_]);
			exit if \$s <= 0;
			print "ok \$id[\$_]\n" if \$s == 202;
		}
	}
	EOT
	load=$pid
	wait_for 10 '[ "$(grep -c ^ok "$out")" -gt $((round * 7)) ]'
	stop "$rcv_pid" KILL
	wait "$load" 2>/dev/null
	grep ^ok "$out" | cut -d' ' -f2 >>"$work/acked.kill"
	receiver
done
sort "$work/acked.kill" >"$work/acked"
sql "select message_id from webhook_inbox where message_id ~ '^kill-'" |
    sort >"$work/kept"
is "$(comm -23 "$work/acked" "$work/kept" | wc -l)" 0 \
    'killed six times, it lost none that was acknowledged'

# An orderly stop
sql "create trigger slow after insert on webhook_inbox
    for each statement execute function slow()"
later <<'EOT'
my @c = map { dial() } 1 .. 10;
my $half = dial();
my $idle = dial();
put($idle, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
answer($idle);
put($half, substr signed(id => 'half'), 0, -1);
put($c[$_], signed(id => "stop-$_")) for 0 .. $#c;
print "sent\n";
my @r = map { answer($_) } @c;
my @closed = map { ended($_) } @c;
print "answers @r\n", 'half ', answer($half), ' idle ', answer($idle), "\n";
1
EOT
wait_for 10 'grep -q sent "$out"'
stop "$rcv_pid"
is "$rc" 0 'SIGTERM ends it with 0'
wait_for 10 'grep -q half "$out"'
is "$(tail -n 2 "$out" | xargs)" \
    "answers $(yes 202 | head -n 10 | xargs) half 0 idle 0" \
    '... what had arrived is stored and answered, the rest is closed'
is "$(stored "message_id ~ '^stop-'")" 10 '... and kept'
is "$(sql "select sum(value) from webhook_counters
    where name = 'received' and outcome = 'stored' and label = 'gh'
    having sum(value) > 0" | grep -c .)" 1 '... and its counters are written'
sql 'drop trigger slow on webhook_inbox'

# Started without a database
pg-tmp stop "$own_cluster" -m fast
start hook-receive -l 127.0.0.1:0
rcv_pid=$pid rcv_log=$log
wait_for 10 'grep -q address= "$rcv_log"'
RCV_PORT=$(sed -n 's/.*address=.*:\([0-9]*\)$/\1/p' "$rcv_log")
rcv=http://127.0.0.1:$RCV_PORT
try 'started without a database, it knows nobody and says 503' <<'EOT'
post() == 503 && post(source => 'nobody') == 503
EOT
pg-tmp go "$own_cluster"
ready
try '... until there is one' <<'EOT'
post() == 202
EOT
kill -HUP "$rcv_pid"
try 'SIGHUP does no harm' <<'EOT'
post() == 202
EOT
stop "$rcv_pid"

# A server that lets in, and then says nothing
cat >"$work/mute.pl" <<'EOT'
use strict;
use IO::Socket::INET;
my $s = IO::Socket::INET->new(Listen => 5, LocalAddr => '127.0.0.1') or die;
$| = 1;
print $s->sockport, "\n";
my @in;
while (my $c = $s->accept) {
	while (sysread($c, my $b, 4) == 4) {
		my $n = unpack 'N', $b;
		sysread $c, $b, $n - 4;
		last if $n != 8;
		syswrite $c, 'N';	# no TLS
	}
	syswrite $c, 'R' . pack('NN', 8, 0) . 'Z' . pack('N', 5) . 'I';
	push @in, $c;
	print "in\n";
}
EOT
start perl "$work/mute.pl"
mute=$pid mute_out=$out
wait_for 10 '[ -s "$mute_out" ]'
receiver -d "host=127.0.0.1 port=$(head -n 1 "$mute_out")"
wait_for 10 'grep -q in "$mute_out"'
try 'a database that is mute after the login stops nobody' <<'EOT'
my $t = time;
my @r = (get('/healthz'), get('/readyz'), post());
printf "%s after %.2f s\n", "@r", time - $t;
same("@r", '200 503 503') && time - $t < 4 && $head =~ /^Retry-After: \d/m
EOT
stop "$rcv_pid"
is "$rc" 0 '... and it ends when it is told to'
stop "$mute"

receiver
start hook-receive -l "127.0.0.1:$RCV_PORT"
rc=0
wait "$pid" || rc=$?
is "$rc $(grep -c "127.0.0.1:$RCV_PORT" "$log")" '69 1' \
    'an address that is taken is an error'
done_testing
