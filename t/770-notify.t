#!/bin/sh
# What followers tell the service manager: ready, alive, stopping.
. "${0%/*}/lib.sh"
need_own_cluster
echo secret >"$work/secret"
hook-source add -s github -k "$work/secret" gh >/dev/null
cd "$work" || exit

# The listener: what NAME was told is in NAME.said, a line a datagram.
cat >listen.pl <<'EOF'
use IO::Select;
use IO::Socket::UNIX;
my $all = IO::Select->new;
my %file;
for my $name (@ARGV) {
	my $s = IO::Socket::UNIX->new(Type => SOCK_DGRAM,
	    Local => $name =~ /^@(.*)/ ? "\0$1" : "$name.sock")
	    or die "$name: $!";
	open my $out, '>>', "$name.said" or die "$name: $!";
	$out->autoflush;
	$file{$s} = $out;
	$all->add($s);
}
STDOUT->autoflush;
print "listening\n";
while (1) {
	for my $s ($all->can_read) {
		defined $s->recv(my $said, 4096) or next;
		$said =~ tr/\n/ /;
		print {$file{$s}} "$said\n";
	}
}
EOF
every='fanout deliver consume receive stat'
abstract=@hook-770-$$
# shellcheck disable=SC2086 # several words
start perl listen.pl $every file foreign "$abstract"
listener=$out
wait_for 10 '[ -s "$listener" ]' || note "$(cat "$log")"

follower() {	# NAME COMMAND...: its pid is in NAME.pid, its log in NAME.log
	name=$1
	shift
	start env "NOTIFY_SOCKET=$work/$name.sock" WATCHDOG_USEC=200000 "$@"
	echo "$pid" >"$name.pid"
	ln -s "$log" "$name.log"
}
said() {	# NAME PATTERN: how often
	grep -c -e "$2" "$1.said"
}
beats() {
	said "$1" '^WATCHDOG=1$'
}
more() {	# NAME COUNT: it lives on, for so many beats more
	who=$1
	want=$(($(beats "$1") + $2))
	wait_for 20 '[ "$(beats "$who")" -ge "$want" ]'
}
all_more() {	# COUNT NAME: all of them do
	failed=$n_failed
	for name in $every; do
		more $name "$1"
	done
	[ "$failed" = "$n_failed" ]
	check "$2"
}
alive() {
	for name in $every; do
		kill -0 "$(cat $name.pid)" || return
	done
}

# Without the database: they wait for it, and say that they do.
pg-tmp stop "$own_cluster" -m immediate
cat >handler <<-'EOF'
	#!/bin/sh
	env >handler.env
EOF
chmod +x handler
stat_port=$(port)
follower fanout hook-fanout -f -i 10ms
follower deliver hook-deliver -f
follower consume hook-consume -f -s gh -- ./handler
follower receive hook-receive -l 127.0.0.1:0
follower stat hook-stat -l "127.0.0.1:$stat_port"
for name in fanout deliver consume; do
	wait_for 20 '[ "$(said $name EXTEND_TIMEOUT_USEC=200000)" -ge 3 ]' \
	    "$name asks for time while the database is away"
	like "$(cat $name.said)" '^STATUS=database fails, trying again: .' \
	    '... and says why'
	is "$(said $name 'READY\|WATCHDOG')" 0 '... and is not ready'
done
for name in receive stat; do
	wait_for 20 '[ "$(beats $name)" -ge 3 ]' \
	    "$name is ready without: it answers 503"
	is "$(head -n 1 $name.said)" 'READY=1 STATUS=listening' \
	    '... as soon as it listens'
done

pg-tmp go "$own_cluster" >/dev/null
for name in fanout deliver consume; do
	wait_for 20 '[ "$(beats $name)" -ge 3 ]' \
	    "$name is alive when the database is back"
	is "$(grep -v EXTEND $name.said | sed -n '2p')" \
	    'READY=1 STATUS=working' '... once it is ready'
done
is "$(tail -n 1 consume.log)" "$(grep 'database back' consume.log)" \
    'the log has no more of it than before'

# The database goes away, or stands still: nothing changes.
pg-tmp stop "$own_cluster" -m immediate
curl -s -o /dev/null "http://127.0.0.1:$stat_port/readyz"
for name in $every; do
	wait_for 20 '[ "$(tail -n +5 $name.said |
	    grep -c "^STATUS=database fails")" -ge 1 ]' \
	    "$name says that the database is away"
done
all_more 5 '... and they live on'
is "$(alive; echo $?)" 0 '... all of them'
pg-tmp go "$own_cluster" >/dev/null
wait_for 20 'curl -s -f -o /dev/null "http://127.0.0.1:$stat_port/readyz"'
for name in $every; do
	wait_for 20 'grep "^STATUS" $name.said | tail -n 1 |
	    grep -q "^STATUS=working"' "$name says that it is back"
	is "$(said $name ^READY)" 1 '... and was ready all the time'
done

server=$(head -n 1 "$own_cluster/data/postmaster.pid")
# shellcheck disable=SC2046 # several
signal_server() {	# SIGNAL
	kill "-$1" "$server" $(ps -o pid= --ppid "$server")
}
signal_server STOP
all_more 10 'a server that stands still is no hang of theirs'
signal_server CONT

# A loop that hangs: what it said before is logged when others said more.
kill -STOP "$(cat deliver.pid)"
wait_for 10 'grep -q "^State:.T" "/proc/$(cat deliver.pid)/status"'
more receive 3
before=$(beats deliver)
more receive 10
is "$(beats deliver)" "$before" 'one that hangs is silent'
kill -CONT "$(cat deliver.pid)"
more deliver 3
check '... until it goes on'

# SIGHUP
for name in deliver receive; do
	: >$name.said
	kill -HUP "$(cat $name.pid)"
	wait_for 20 'grep -q READY $name.said'
	is "$(grep -v WATCHDOG $name.said | xargs)" 'RELOADING=1 READY=1' \
	    "$name tells of a reload"
done

# Children are not spoken for.
sql "insert into webhook_inbox (source, message_id, headers, body)
    values ('gh', 'm', '{}', '{}')" >sql.out
wait_for 20 '[ -s handler.env ]'
is "$(grep -c 'NOTIFY_SOCKET\|WATCHDOG' handler.env)" 0 \
    'a handler does not inherit the listener'
wait_for 20 '[ "$(sql "select state from webhook_inbox")" = done ]'

for name in $every; do
	stop "$(cat $name.pid)"
	is "$rc" 0 "$name stops"
	wait_for 20 '[ "$(said $name "^STOPPING=1 STATUS=stopping$")" = 1 ]' \
	    '... and said so'
done

# Other ways to be told.
follower file hook-stat -w 100ms -O stat.prom -o prom
wait_for 20 '[ "$(beats file)" -ge 3 ]' 'hook-stat -w is a follower, too'
is "$(head -n 2 file.said | grep -c READY=1)" 1 \
    '... that is ready when it wrote'
stop
start env NOTIFY_SOCKET="$abstract" hook-fanout -f
wait_for 20 '[ "$(said "$abstract" READY=1)" = 1 ]' \
    'a listener without a file'
stop
wait_for 20 '[ "$(said "$abstract" STOPPING)" = 1 ]'
is "$(said "$abstract" 'WATCHDOG\|EXTEND')" 0 \
    '... who wants no sign of life gets none'
follower foreign env WATCHDOG_PID=1 hook-fanout -f
wait_for 20 '[ "$(said foreign READY=1)" = 1 ]' \
    "a watchdog of another process's"
stop
wait_for 20 '[ "$(said foreign STOPPING)" = 1 ]'
is "$(said foreign 'WATCHDOG\|EXTEND')" 0 '... gets none'
for bad in "$work/nobody.sock" nonsense "/$(printf '%0200d' 1)" ''; do
	NOTIFY_SOCKET=$bad WATCHDOG_USEC=x run hook-fanout
	exits 0 "a listener that is none: $(printf %.20s "$bad")"
done
done_testing
