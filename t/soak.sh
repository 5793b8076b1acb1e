#!/bin/sh
# soak [-b] [-s seed]: everything at once, and nothing may be lost.
#
#	SOAK	how long: seconds, or a duration such as 90s, 10m, 2h; 10m
#	-b	break it: lose a delivery on the way, to see that it is noticed
#	-s	the seed of what is done; the timing is the machine's
#
# Producers commit, roll back and commit late, by hook-enqueue too,
# subscriptions come and go, peers are hostile, all programs and the server
# are killed, secrets are rotated, subscriptions paused, old days pruned,
# deliveries replayed.  Then it is left in peace until all is worked off.  What
# was committed, by the producers' own ledger, must be what arrived, at each
# subscription that stayed, signed with one of its secrets; and hook-reconcile
# must agree.
#
# It has a server and a receiver of its own, prints TAP, and exits 1 where a
# check fails.  The programs are those of BUILD.
. "${0%/*}/lib.sh"
. "${0%/*}/engine.sh"

usage() {
	echo 'usage: soak [-b] [-s seed]' >&2
	exit 64
}

lose='' seed=''
while getopts bs: opt; do
	case $opt in
	b) lose=1 ;;
	s) seed=$OPTARG ;;
	*) usage ;;
	esac
done
shift $((OPTIND - 1))
[ $# = 0 ] || usage
[ -n "$seed" ] || seed=$(od -An -N3 -tu4 /dev/urandom | tr -d ' ')
SOAK=${SOAK:-10m}
case $SOAK in
*m) seconds=$((${SOAK%m} * 60)) ;;
*h) seconds=$((${SOAK%h} * 3600)) ;;
*) seconds=${SOAK%s} ;;
esac
[ "$seconds" -gt 0 ] && [ "$seed" -ge 0 ] || usage
echo "# soak: $seconds s, seed $seed"

# A number below $1: $r.  A shell's own arithmetic, so that a seed is enough.
random() {
	seed=$(((seed * 1103515245 + 12345) & 0x7fffffff))
	r=$((seed / 65536 % $1))
}

durable=1
need_own_cluster
sql 'create table ledger (event_id text primary key, type text, n int)'
# hook-enqueue has a transaction of its own: so there a trigger keeps it.
sql "create function keep() returns trigger language plpgsql as \$\$ begin
	insert into ledger values (new.event_id, new.event_type,
	    (new.payload ->> 'n')::int) on conflict do nothing;
	return null; end \$\$;
    create trigger keep after insert on webhook_outbox for each row
	when (new.event_type = 'soak.c') execute function keep()"

sink </dev/null
schedule=100ms
for _ in 1 2 3 4 5; do
	schedule=$schedule,$schedule
done
stay='steady flaky ordered slow filtered'
for name in $stay; do
	case $name in
	steady) set -- ;;
	flaky) set -- -e 'soak.*' ;;
	ordered) set -- -e 'soak.*' -O ;;
	slow) set -- -e soak.b -c 1 ;;
	filtered) set -- -e 'soak.*' -f '$.n > 50' -L ;;
	esac
	hook-sub add "$@" -S "$schedule" -w 1s -D 1d --name "$name" \
	    "$sink/$name" >"$work/sub" || exit
	eval "sub_$name=$(jq .id "$work/sub")"
	jq -r .secret "$work/sub" >"$work/secrets.$name"
done

# Transactions as applications write them, with what they commit in a table
# of their own.  n is 1 to 100; old.x is from 40 days ago.
cat >"$work/transactions.awk" <<'EOT'
function event(type) {
	type = rand() < 0.1 ? "old.x" : rand() < 0.6 ? "soak.a" : "soak.b"
	n = int(rand() * 100) + 1
	printf "with e as (insert into webhook_outbox (aggregate_id,"
	printf " event_type, payload, created_at) values ('a%d', '%s',", \
	    int(rand() * 20), type
	printf " '{\"n\": %d,  \"pad\":\"%*s\"}', now()%s)", n, \
	    int(rand() * 300), "", \
	    type == "old.x" ? " - interval '40 days'" : ""
	printf " returning event_id) insert into ledger select event_id,"
	printf " '%s', %d from e;\n", type, n
}
BEGIN {
	srand(seed)
	for (i = 0; i < 40; i++) {
		print "begin;"
		event()
		kind = int(rand() * 10)
		if (kind == 0)
			print "rollback;"
		else if (kind == 1) {
			print "savepoint s;"
			event()
			print "rollback to s;"
			event()
			print "commit;"
		} else if (kind == 2) {
			printf "select pg_sleep(%.2f);\n", rand() * 2
			print "commit;"
		} else if (kind == 3) {
			print "insert into webhook_outbox (event_type," \
			    " payload) values ('soak.a', 'no json');"
			print "commit;"
		} else if (kind == 4) {
			printf "insert into ledger select webhook_enqueue(" \
			    "'soak.a', '{\"n\":7}', idempotency_key =>" \
			    " 'k%d'), 'soak.a', 7 on conflict do nothing;\n",
			    int(rand() * 50)
			print "commit;"
		} else {
			while (rand() < 0.7)
				event()
			print "commit;"
		}
		printf "select pg_sleep(%.3f);\n", rand() * 0.1
	}
}
EOT
produce() {
	i=0
	while [ ! -e "$work/enough" ]; do
		i=$((i + 1))
		awk -v seed="$1$i" -f "$work/transactions.awk" >"$work/t.$1"
		PGAPPNAME=producer psql -X -q -f "$work/t.$1"
	done
}

# hook-enqueue, now and then killed; what it says was stored, was.
enqueue() {
	while [ ! -e "$work/enough" ]; do
		random 100
		n=$((r + 1))
		random 4
		set -- hook-enqueue
		[ $r != 0 ] || set -- timeout -s KILL 0.03 "$@"
		random 3
		case $r in
		0) echo "{\"n\": $n}" | "$@" -a "a$n" -t soak.c ;;
		1) echo "{\"n\": $n}" | "$@" -t soak.c -k "key$n" ;;
		*) for i in 1 2 3; do
			printf '{"event_type":"soak.c","payload":%d}\n' "$n"
		done | "$@" -l ;;
		esac >"$work/ids" && cat "$work/ids" >>"$work/enqueued"
		sleep 0.1
	done
}

begin() {	# SLOT: another life of it
	case $1 in
	1|2)	fanout -i 200ms ;;
	*)	worker -l 1s -i 200ms -j 16 ;;
	esac
	eval "slot$1=$pid"
}

behave() {	# how the peers do from now on
	for path in flaky slow ordered temp; do
		random 16
		case $r in
		0) echo "/$path * status 503" ;;
		1) echo "/$path * status 429 | header Retry-After: 1" ;;
		2) echo "/$path * status 400" ;;
		3) echo "/$path * rst" ;;
		4) echo "/$path * close" ;;
		5) echo "/$path * hang" ;;
		6) echo "/$path * drip 100 | body slow" ;;
		7) echo "/$path * delay 400" ;;
		8) echo "/$path * raw HTTP/9 what?\\r\\n\\r\\n" ;;
		9) echo "/$path * endless head" ;;
		10) echo "/$path * huge 5000000" ;;
		11) echo "/$path 1-3 status 500" ;;
		12) echo "/$path * status 302 | header Location: /" ;;
		esac
	done
	echo "/temp 200- status 410"
}

# Nobody's business but our own: what fails, fails since the server is away.
some() {
	"$@" >>"$work/said" 2>&1
}

one_of() {	# WORD ...: $one
	random $#
	shift "$r"
	one=$1
}

# Age what is left of events that were pruned, so that it goes too.
age='with old as (update webhook_deliveries d
	set finished_at = now() - interval $$40 days$$
	where state = $$delivered$$ and finished_at > now() - interval $$1 day$$
	    and not exists (select from webhook_outbox o
		where o.id = d.outbox_id
		and o.created_at = d.outbox_created_at)
	returning id)
    update webhook_attempts set at = now() - interval $$40 days$$
    where delivery_id in (select id from old)'

# One thing that happens.
happen() {
	random 100
	if [ $r -lt 45 ]; then
		random 5
		i=$((r + 1))
		eval "stop \$slot$i KILL"
		begin $i
	elif [ $r -lt 57 ]; then
		behave | some curl -s --data-binary @- "$sink/_rules"
	elif [ $r -lt 62 ]; then
		one_of $stay
		eval "id=\$sub_$one"
		hook-sub rotate -g 1h "$id" >"$work/sub" 2>>"$work/said" &&
		    jq -r .secret "$work/sub" >>"$work/secrets.$one"
	elif [ $r -lt 70 ]; then
		one_of $stay
		eval "id=\$sub_$one"
		one_of pause resume resume
		some hook-sub "$one" "$id"
	elif [ $r -lt 75 ]; then
		temps=$((temps + 1))
		hook-sub add -e 'soak.*' -S "$schedule" -w 1s \
		    --name "temp $temps" "$sink/temp/$temps" 2>>"$work/said" |
		    jq .id >"$work/sub"
		temp="$temp $(cat "$work/sub")"
	elif [ $r -lt 79 ]; then
		one_of '' $temp
		[ -z "$one" ] || some hook-sub rm "$one"
	elif [ $r -lt 86 ]; then
		some sql "$age"
		random 3
		[ -z "$pruning" ] || [ $r != 0 ] || stop "$pruning" KILL
		if [ -z "$pruning" ] || ! kill -0 "$pruning" 2>/dev/null; then
			start hook-prune
			pruning=$pid
		fi
	elif [ $r -lt 96 ]; then
		[ -z "$replaying" ] || stop "$replaying" KILL
		random 4
		case $r in
		0) start hook-replay --fanout --since today ;;
		1) start hook-replay --force --state delivered -t soak.b \
		    --since "$(date -u -d '1 second ago' +%FT%TZ)" ;;
		*) start sh -c 'hook-dlq list | hook-dlq retry -' ;;
		esac
		replaying=$pid
	else
		p=$(sql "select pid from pg_stat_activity where
		    application_name = 'producer' order by random() limit 1" \
		    2>>"$work/said") && [ -n "$p" ] &&
		    some sql "select pg_terminate_backend($p)"
	fi
	[ "$(date +%s)" -ge $restart ] || return 0
	one_of fast immediate
	some pg-tmp restart "$own_cluster" -m "$one"
	restarts=$((restarts + 1))
	random 15
	restart=$(($(date +%s) + 10 + r))
}

producers=
for n in 1 2 3; do
	start produce $n
	producers="$producers $pid"
done
start enqueue
producers="$producers $pid"
for i in 1 2 3 4 5; do
	begin $i
done
temp='' temps=0 pruning='' replaying='' restarts=0 actions=0
restart=$(($(date +%s) + 5))
end=$(($(date +%s) + seconds))
while [ "$(date +%s)" -lt $end ]; do
	happen
	actions=$((actions + 1))
done

# Peace.
touch "$work/enough"
# shellcheck disable=SC2086 # several
wait $producers
[ -z "$pruning" ] || stop "$pruning" KILL
[ -z "$replaying" ] || stop "$replaying" KILL
some curl -s -d '' "$sink/_rules"
for name in $stay; do
	eval "id=\$sub_$name"
	hook-sub resume "$id" >>"$work/said" 2>&1
done
for i in 1 2 3 4 5; do
	eval "stop \$slot$i"
done
hook-fanout
[ -z "$lose" ] || note "lost: $(sql "with e as (insert into webhook_outbox
	(event_type, payload) values ('soak.lost', '{\"n\":99}')
	returning event_id)
	insert into ledger select event_id, 'soak.lost', 99 from e"
    hook-fanout
    sql "delete from webhook_deliveries where event_type = 'soak.lost'
	and subscription_id = $sub_steady returning id")"
old_server
# What a breaker or a schedule holds back is let go; what is dead by now was
# refused by a peer that has changed its mind.
settled() {
	hook-dlq list | hook-dlq retry - >>"$work/said" 2>&1
	sql "update webhook_lanes set hold_until = null, failures = 0,
		breaker = 'closed', next_due_at = now() where owner is null;
	    update webhook_deliveries_pending set next_attempt_at = now()" \
	    >>"$work/said" 2>&1
	hook-fanout && hook-deliver -l 1s -i 200ms -j 16
	[ "$(sql "select count(*) from webhook_deliveries d
	    join webhook_subscriptions s on s.id = subscription_id
	    where d.state in ('pending', 'failed', 'expired')
	    and s.state <> 'disabled'")" = 0 ] &&
	    [ "$(sql 'select count(*) from webhook_outbox
	    where fanned_out_at is null')" = 0 ]
}
wait_for $((seconds + 90)) settled 'all is worked off when it is left in peace'

note "$actions things happened, $restarts restarts of the server" \
    "$(sql 'select count(*) from ledger') events committed," \
    "$(grep -c ^in "$sink_dir/log") requests," \
    "$(sql "select sum(takeovers) from webhook_lanes") take-overs"
[ "$(sql 'select count(*) from ledger')" -gt $((seconds * 2)) ]
check 'many events were committed'
sql "select event_id from ledger where type = 'soak.c'" | sort >"$work/want"
[ -s "$work/enqueued" ] &&
    sort -u "$work/enqueued" | comm -23 - "$work/want" >"$work/differ" &&
    [ ! -s "$work/differ" ]
check 'what hook-enqueue said was stored, was'
some sql "$age"
run hook-prune
exits 0 'the last prune succeeds'
[ "$(sql "select count(*) from webhook_counters
    where name = 'events_pruned'")" -gt 0 ]
check 'days were pruned on the way, or now'

# What each got, body and all.
awk '$1 == "in" { at[$2] = $5 " " $6 }
    $1 == "body" { print at[$2] }' "$sink_dir/log" | sort -u >"$work/got"
for name in $stay; do
	case $name in
	steady) where=true ;;
	slow) where="type = 'soak.b'" ;;
	filtered) where="type ~ '^soak' and n > 50" ;;
	*) where="type ~ '^soak'" ;;
	esac
	sql "select '/$name ' || event_id from ledger where $where" |
	    sort >"$work/want"
	grep "^/$name " "$work/got" | comm -3 "$work/want" - >"$work/differ"
	[ ! -s "$work/differ" ]
	check "$name got what was committed, all of it and nothing else" ||
	    note "$(wc -l <"$work/differ") differ:" \
		"$(head -n 5 "$work/differ")"
done
sql "select '/' || replace(coalesce(s.name, ''), ' ', '/') || ' ' || d.event_id
    from webhook_deliveries d join webhook_subscriptions s
    on s.id = d.subscription_id and s.name ~ '^temp'
    where d.state = 'delivered'" | sort -u | comm -23 - "$work/got" \
    >"$work/differ"
[ ! -s "$work/differ" ]
check 'what the others have had delivered has arrived' ||
    note "$(head -n 5 "$work/differ")"

# Signatures, by another hand than ours.
for name in $stay; do
	awk -v path="/$name" '$1 == "in" && $5 == path { print $2 }' \
	    "$sink_dir/log" | perl -MDigest::SHA=hmac_sha256_base64 \
	    -MMIME::Base64 -e '
		my ($dir, $secrets) = @ARGV;
		open(my $s, "<", $secrets) or die;
		my @key = map { chomp; s/^whsec_//; decode_base64($_) } <$s>;
		local $/;
		while (my $n = do { local $/ = "\n"; <STDIN> }) {
			$n =~ s/\n//;
			open(my $h, "<", "$dir/$n.head") or die;
			open(my $b, "<", "$dir/$n.body") or next;
			my ($head, $body) = (<$h>, <$b>);
			my ($id) = $head =~ /^webhook-id: (.*?)\r/mi;
			my ($t) = $head =~ /^webhook-timestamp: (.*?)\r/mi;
			my ($sig) = $head =~ /^webhook-signature: (.*?)\r/mi;
			my ($len) = $head =~ /^content-length: (.*?)\r/mi;
			next if length($body) < $len;
			my %is = map { $_ => 1 } split / /, $sig;
			$all++;
			print "$n $id\n" unless grep { my $x =
			    hmac_sha256_base64("$id.$t.$body", $_);
			    $x .= "=" while length($x) % 4; $is{"v1,$x"} } @key;
		}
		exit !$all' "$sink_dir" "$work/secrets.$name" \
	    >"$work/unsigned" && [ ! -s "$work/unsigned" ]
	check "$name got nothing without a signature of its own" ||
	    note "$(head -n 5 "$work/unsigned")"
done

run hook-reconcile
is "$rc $(cat "$work/out" "$work/err")" '0 ' \
    'hook-reconcile finds nothing missing, doubled or stuck'
is "$(cat "$work"/hook-*.log | grep -c '^error ')" 0 'no error was logged'
done_testing
[ $n_failed = 0 ]
