#!/bin/sh
# hook-stat: what is not well is said first, with what to type; totals are
# true; a viewer may look; nothing that a remote side chose drives a terminal.
. "${0%/*}/lib.sh"
need_db
sql "create role stat_$$ login in role webhook_viewer" || exit
viewer="user=stat_$$"
drop_viewer() {
	sql "drop role stat_$$" >/dev/null 2>&1
}

look() {	# JQ-FILTER
	hook-stat -d "$viewer" -o json 2>"$work/err" | jq -c "$1"
}

# Nothing is there yet.
run hook-stat -d "$viewer"
is "$rc $(cat "$work/err")" '0 ' 'a viewer may look'
is "$(wc -l <"$work/out") $(jq .well "$work/out")" '1 false' \
    '... and gets one JSON object a line, where no terminal is'
is "$(look '[.problems[].todo]')" '["hook fanout -f","hook deliver -f"]' \
    'that nobody works is not well, and said how to mend'
is "$(look '[.outbox_waiting, .outbox_oldest_s, .deliveries_pending,
    .deliveries_due_oldest_s, .dead_deliveries, .dead_deliveries_oldest_s]')" \
    '[0,null,0,null,0,null]' '... and nothing waits'
is "$(look '[.rates[].seconds]')" '[null,null,null]' \
    'without a sample no rate is made up'
is "$(look '.partitions_ahead_s > 13 * 86400')" true \
    'partitions are there for the coming days'
hook-fanout
hook-deliver
is "$(look '[.well, .fanout_seen_s < 60, .deliver_seen_s < 60]')" \
    '[true,true,true]' 'runs by cron are seen'
is "$(sql 'select count(*) from webhook_samples')" 1 \
    '... and have taken a sample'
hook-fanout
is "$(sql 'select count(*) from webhook_samples')" 1 '... one a minute'

# Events, deliveries, dead letters.
sink <<-'EOT'
	/no * status 404
	/busy * status 503
EOT
good=$(hook-sub add "$sink/good" | jq .id)
no=$(hook-sub add -e 'x.*' "$sink/no" | jq .id)
busy=$(hook-sub add --name busy -e 'x.*' "$sink/busy" | jq .id)
sql "insert into webhook_outbox (event_type, payload, created_at)
    values ('x.a', '{}', now() - interval '10 minutes'), ('y', '{}', now())"
is "$(look '[.outbox_waiting, (.outbox_oldest_s >= 600)]')" '[2,true]' \
    'events that wait are counted, with their age'
is "$(look '[.problems[].what]')" \
    '["events have waited 10m for hook-fanout"]' '... and told of'
sql "update webhook_samples set at = at - interval '100 s'"
hook-fanout
hook-deliver
is "$(sql 'select count(*) from webhook_samples')" 2 \
    'a minute later comes the next sample'
is "$(look '[.outbox_waiting, .deliveries_pending, .deliveries_due,
    .deliveries_held, .deliveries_scheduled]')" '[0,1,0,0,1]' \
    'what is to be tried again is scheduled'
is "$(look '[.dead_deliveries, .subscriptions_active,
    .subscriptions_failing]')" '[1,3,2]' \
    'dead letters and those that fail are counted'
is "$(look '[.subscriptions[] | [.id, .next]] | sort')" \
    "[[$no,\"hook dlq list -s $no\"],[$busy,\"hook sub test $busy\"]]" \
    '... by name, with what to type next'
is "$(look ".subscriptions[] | select(.id == $busy)
    | [.name, .state, .breaker, .pending, .last_error]")" \
    '["busy","active","closed",1,"status 503"]' '... and why'
is "$(look '.rates[] | select(.span == "hour") | [.delivered, .failed,
    .expired, .attempts, (.seconds >= 100), (.p99_ms != null)]')" \
    '[2,1,0,4,true,true]' 'the last hour is told from the samples'
like "$(look '.rates[] | select(.span == "hour") | .p50_ms')" '^[0-9]+$' \
    '... with how long attempts took'

dead=$(hook-dlq list | jq .id)
hook-dlq drop "$dead" >/dev/null
is "$(look .dead_deliveries)" 0 \
    'what an operator drops is missed at once'

# Held, late, paused, disabled.
sql "update webhook_deliveries_pending set next_attempt_at = now()
    - interval '20 minutes'; update webhook_lanes set hold_until = null"
is "$(look '[.deliveries_due, (.deliveries_due_oldest_s >= 1200)]')" \
    '[1,true]' 'a late delivery is due'
like "$(look '[.problems[].what]')" 'deliveries are due for 20m' \
    '... and told of'
sql "update webhook_lanes set hold_until = now() + interval '1 h',
    breaker = 'open' where subscription_id = $busy"
is "$(look '[.deliveries_due, .deliveries_held, .deliveries_due_oldest_s,
    .breakers_open]')" '[0,1,null,1]' \
    'behind an open breaker it is held, and nobody is blamed'

# Many: estimated, of which a part is due.
sql "insert into webhook_deliveries (id, outbox_id, outbox_created_at,
	event_id, event_type, subscription_id, give_up_at, payload_bytes,
	next_attempt_at)
    select 1000 + n, 0, now(), 'evt_many' || n, 'many', $good, now(), 1,
	now() + case n % 2 when 0 then -1 else 1 end * interval '1 h'
    from generate_series(1, 20000) n"
wait_for 20 '[ "$(look "[.deliveries_estimated,
    (.deliveries_pending - 20000 | fabs < 2000),
    (.deliveries_due - 10000 | fabs < 3000),
    (.deliveries_scheduled - 10000 | fabs < 3000),
    (.deliveries_due_oldest_s > 3500)]")" = "[1,true,true,true,true]" ]' \
    'very many deliveries are estimated, and said to be'
sql "delete from webhook_deliveries_pending where event_type = 'many'"

hook-sub pause "$good" >/dev/null
sql "update webhook_subscriptions set state = 'disabled',
    state_reason = 'gone' where id = $no"
is "$(look '[.subscriptions_active, .subscriptions_paused,
    .subscriptions_disabled]')" '[1,1,1]' 'subscriptions by state'
like "$(look '[.problems[].what]')" '1 subscription is disabled' \
    '... a disabled one is told of'
hook-sub resume "$good" >/dev/null

# Followers, and what is in flight.
curl -s -d '/good * delay 3000' "$sink/_rules" >/dev/null
sql "insert into webhook_outbox (event_type, payload) values ('z', '{}')"
start hook-fanout -f
start hook-deliver -f
deliver=$pid
wait_for 20 '[ "$(look "[.workers[].tool]")" = \
    "[\"hook-deliver\",\"hook-fanout\"]" ]' 'followers are seen'
is "$(look '.workers[] | select(.tool == "hook-deliver")
    | [.pid, .host]')" "[$deliver,\"$(hostname)\"]" '... who, and where'
wait_for 20 '[ "$(sql "select in_flight from webhook_workers
    where tool = '\''hook-deliver'\''")" = 1 ]' \
    'a request under way is in flight'
stop "$deliver"
wait_for 10 '[ "$(look .workers_deliver)" = 0 ]' 'who stops is not seen'

# Others' transactions.
psql -X -q -A -t >"$work/holder" <<-EOT &
	set application_name = 'report';
	begin isolation level repeatable read;
	select 1;
	\! touch "$work/held"; while [ ! -e "$work/let" ]; do sleep 0.1; done
EOT
holder=$!
wait_for 20 '[ -e "$work/held" ]'
is "$(look '[.snapshot_kind, .snapshot_application, .snapshot_blind]')" \
    '["session","report",false]' 'who keeps a snapshot is named to a viewer'
: >"$work/let"
wait "$holder"
is "$(look .snapshot_kind)" null '... until it ends'

# Receiving.
printf s3cret >"$work/secret"
hook-source add -s github -k "$work/secret" gh >/dev/null
hook-source add -s github -k "$work/secret" idle >/dev/null
sql "insert into webhook_inbox (source, message_id, body, received_at)
    values ('gh', '1', '', now() - interval '1 h'), ('gh', '2', '', now())"
sql "insert into webhook_inbox (source, message_id, body, state, finished_at)
    values ('gh', '3', '', 'dead', now())"
is "$(look '[.sources[] | [.source, .pending, (.oldest_s != null), .dead]]')" \
    '[["gh",2,true,1],["idle",0,false,0]]' 'what waits of each source'
like "$(look '[.problems[] | .what + "|" + .todo]')" \
    'messages of gh have waited 60m\|hook consume -f -s gh' \
    '... and is told of'

# Secrets and partitions.
sql "update webhook_secrets set expires_at = now() + interval '2 days 1 h'
    where subscription_id = $good"
is "$(look '.secret_expires_s / 86400 | floor')" 2 \
    'a last secret that expires is told of'
hook-sub rotate "$good" >/dev/null
is "$(look .secret_expires_s)" null '... but not one of two'
sql "alter table webhook_outbox detach partition
    webhook_outbox_$(date -u +%Y%m%d)"
sql "delete from webhook_samples"
is "$(look .partitions_ahead_s)" null 'a missing partition is seen'

# The screen.
sql "update webhook_subscriptions set name = E'a\\033[2Jb' where id = $busy"
run hook-stat -d "$viewer" -o table
exits 0 'a screen for people'
like "$(head -n 2 "$work/out" | xargs)" 'not well' '... says the verdict first'
is "$(grep -c "$(printf '\033')" "$work/out")" 0 \
    '... and no name drives the terminal'
start hook-stat -o json -w 200ms
wait_for 20 '[ "$(wc -l <"$out")" -ge 3 ]' '-w says it again and again'
stop
is "$rc $(cat "$log")" '0 ' '... until a signal'

# In a terminal of its own: drawn anew, cut to its size, q leaves.
cat >"$work/tty.pl" <<-'EOT'
	use strict;
	use POSIX ();
	$SIG{ALRM} = sub { print "timeout\n"; exit 1 };
	alarm 60;
	open my $m, '+<', '/dev/ptmx' or die;
	my $n = pack 'i', 0;
	ioctl $m, 0x40045431, $n or die;		# TIOCSPTLCK
	ioctl $m, 0x80045430, $n or die;		# TIOCGPTN
	my $tty = '/dev/pts/' . unpack 'i', $n;
	my $size = sub { ioctl $m, 0x5414, pack('S4', @_, 0, 0) or die };
	$size->(8, 40);
	my $pid = fork;
	if (!$pid) {
		POSIX::setsid();
		open STDIN, '<', $tty or die;
		open STDOUT, '>', $tty or die;
		ioctl STDIN, 0x540E, 0;			# TIOCSCTTY
		exec 'hook-stat', '-w', '1h';
	}
	my $all = '';
	my $until = sub {
		my $end = shift;
		my $got = '';
		while ($got !~ /$end/) {
			sysread $m, $got, 4096, length $got or last;
		}
		$all .= $got;
		return $got =~ /^(.*?$end)/s ? $1 : $got;
	};
	my $one = $until->(qr/\e\[J/);
	my @lines = split /\r\n/, $one;
	s/\e\[[?0-9]*[A-Za-z]//g for @lines;
	print scalar(@lines), " lines\n";
	print "too wide: $_\n" for grep { length > 40 } @lines;
	$size->(5, 60);
	my $two = $until->(qr/\e\[J/);
	print scalar(split /\r\n/, $two), " lines\n";
	syswrite $m, 'x';
	$until->(qr/\e\[J/);
	syswrite $m, 'q';
	$until->(qr/\e\[\?1049l/);
	waitpid $pid, 0;
	print "exit $?\n";
	print $all =~ /\A\e\[\?1049h.*\e\[\?1049l/s ? "left clean\n" : "dirty\n";
EOT
run perl "$work/tty.pl"
is "$(xargs <"$work/out")" '8 lines 5 lines exit 0 left clean' \
    'on a terminal -w fits it, follows its size, and q leaves it clean'

# A file for the textfile collector.
mkdir "$work/dir"
run hook-stat -o prom -O "$work/dir/hook.prom"
exits 0 '-O writes a file'
is "$(ls "$work/dir") $(mode=$(ls -l "$work/dir/hook.prom")
    echo "${mode%% *}")" 'hook.prom -rw-r--r--' \
    '... that all can read, and nothing beside it'
run hook-stat -o prom -O "$work/none/hook.prom"
exits 69 'a folder that is not there'
run hook-stat -d host=/nowhere
exits 75 'no server is a temporary failure'
for words in '-o xml' '-w 0' '-l 127.0.0.1:0 -w 1' '-s' 'x'; do
	# shellcheck disable=SC2086 # several words
	run hook-stat $words
	exits 64 "usage: $words"
done

stop_all
drop_viewer
done_testing
