#!/bin/sh
# hook-receive: slow and many clients cost a good one nothing.
. "${0%/*}/lib.sh"
need_db
. "$top/t/receive.sh"
source_of gh github topsecret

cpu() {		# jiffies so far
	awk '{ print $14 + $15 }' "/proc/$rcv_pid/stat"
}
receiver -w 2s
try 'drips end in 408 after the time for all of it' <<'EOT'
my @c = map { dial() } 1 .. 300;
my $r = signed();
my ($head_len) = index($r, "\r\n\r\n") + 4;
my $start = time;
my ($late, $open, $n, @status) = (0, 300, 0);
# Half drip the head, half the body of one that promises more.
my @r = map { $_ % 2 ? $r : signed(body => '{"a":' . '1' x 1000 . '}') } 0
    .. $#c;
my @at = map { $_ % 2 ? 0 : index($r[$_], "\r\n\r\n") + 4 } 0 .. $#c;
put($c[$_], substr $r[$_], 0, $at[$_]) for grep { $at[$_] } 0 .. $#c;
while ($open && time - $start < 20) {
	for my $i (0 .. $#c) {
		next if !$c[$i];
		if (IO::Select->new($c[$i])->can_read(0)) {
			$status[answer($c[$i], 1)]++;
			close $c[$i];
			$c[$i] = undef;
			$open--;
		} else {
			put($c[$i], substr $r[$i], $at[$i]++, 1);
		}
	}
	my $t = time;
	$late++ if post(id => 'good-' . $n++) != 202 || time - $t > 1;
	sleep 0.2;
}
print "answers: ", join(' ', map { "$_:" . ($status[$_] // 0) } 0, 408),
    " open $open late $late n $n\n";
$late == 0 && $open == 0 && ($status[408] // 0) == 300 && $n > 3
EOT
try 'one that says nothing is closed without a word' <<'EOT'
my $c = dial();
more($c, 10) == 0
EOT
try 'a body that is too short is 408' <<'EOT'
my $c = dial();
put($c, signed(body => '{"a":1}', wire => '{"a"'));
answer($c) == 408 && ended($c)
EOT
try 'one that does not read its answers does not fill us up' <<'EOT'
my $c = dial();
my $r = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" x 1000;
$c->blocking(0);
my ($sent, $end) = (0, time + 2);
while (time < $end) {
	my $w = syswrite $c, $r;
	defined $w ? ($sent += $w) : sleep 0.01;
}
print "$sent bytes\n";
post() == 202 && more($c, 10) == 1
EOT
try 'one that asks without end leaves time for others' <<'EOT'
my $pid = fork;
if (!$pid) {
	my @c = map { dial() } 1 .. 3;
	my $r = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" x 2000;
	$_->blocking(0) for @c;
	while (1) {
		for my $c (@c) {
			syswrite $c, $r;
			sysread $c, my $x, 1000000;
		}
	}
}
my ($late, $bad) = (0, 0);
for (1 .. 30) {
	my $t = time;
	$bad++ if post() != 202;
	$late++ if time - $t > 1;
}
kill 'KILL', $pid;
waitpid $pid, 0;
print "bad $bad late $late\n";
!$bad && !$late
EOT
try 'clients that go away amid things' <<'EOT'
use Socket;
my $r = signed();
for my $at (1, 20, length($r) - 1, length $r) {
	for my $hard (0, 1) {
		my $c = dial();
		put($c, substr $r, 0, $at);
		setsockopt $c, SOL_SOCKET, SO_LINGER, pack 'ii', 1, 0
		    if $hard;
		close $c;
	}
}
post() == 202
EOT
stop "$rcv_pid"
is "$rc" 0 'it stops'

# Memory of idle connections
receiver -w 30s
try '2,000 idle connections' <<'EOT'
my @c = map { dial() } 1 .. 2000;
my $bad = 0;
put($_, signed()) for @c;
$bad += answer($_) != 202 for @c;
my ($rss) = map { /^VmRSS:\s+(\d+)/ ? $1 : () }
    do { open my $f, '<', "/proc/$ENV{RCV_PID}/status"; <$f> };
print "bad $bad, $rss KiB\n";
$bad == 0 && ($rss < 65536 || $ENV{SAN})
EOT
stop "$rcv_pid"

# Descriptors exhausted
start prlimit --nofile=128:128 hook-receive -w 30s -l 127.0.0.1:0
rcv_pid=$pid rcv_log=$log
wait_for 10 'grep -q address= "$rcv_log"'
RCV_PORT=$(sed -n 's/.*address=.*:\([0-9]*\)$/\1/p' "$rcv_log")
rcv=http://127.0.0.1:$RCV_PORT
ready
before=$(cpu)
try 'more clients than descriptors, all silent' <<'EOT'
my @c = map { dial() } 1 .. 300;
my ($ok, $slow) = (0, 0);
for (1 .. 3) {
	my $t = time;
	$ok++ if post() == 202;
	$slow++ if time - $t > 4;
}
print "ok $ok slow $slow\n";
$ok == 3 && $slow == 0
EOT
start=$(date +%s%N)
try '... for a while' <<'EOT'
my @c = map { dial() } 1 .. 300;
sleep 3;
1
EOT
used=$(($(cpu) - before))
[ "$used" -lt 150 ] || note "$used jiffies"
[ "$used" -lt 150 ]
check '... do not make it spin'
try '... and when they are gone, all is well' <<'EOT'
my @c = map { dial() } 1 .. 50;
put($_, signed()) for @c;
my @r = grep { answer($_) == 202 } @c;
@r == 50
EOT
done_testing
