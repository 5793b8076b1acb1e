# shellcheck shell=sh
# wire.sh - more words, for the tests of what hook-deliver sends and hears.
#
#	sub NAME URL [COLUMN=SQL ...]	a subscription to the events of
#				type NAME, with the secret in $work/secret:
#				$sub, its id
#	event NAME [PAYLOAD]	an event for it; {} where no payload is given
#	deliver [option ...]	hook-fanout, then hook-deliver: $rc
#	went NAME		its deliveries: state attempts status reason
#	again			makes all that waits due now, and lanes free
#	seen PATH		how many requests the sink got there
#	alone [ADDRESS ...]	makes a place that has no network but lo, with
#				those addresses too, $work/hosts as
#				/etc/hosts, and 127.0.0.1 as name server
#	$inside command		runs it there
#	listener PERL		a server on a free port of 127.0.0.1, in Perl:
#				the text sees each connection as $c: $port
#
# A row may be due, and a lane free, only after a moment: hook-deliver without
# -f ends when nothing is due, so nothing here needs to wait.
secret=whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=
echo "$secret" >"$work/secret"

sub() {
	name=$1 url=$2
	shift 2
	columns='' values=''
	for s; do
		columns="$columns, ${s%%=*}" values="$values, ${s#*=}"
	done
	sub=$(psql -X -q -A -t -v ON_ERROR_STOP=1 -v name="$name" \
	    -v url="$url" -v secret="$secret" <<-EOT
		insert into webhook_subscriptions
		    (name, url, event_types$columns)
		values (:'name', :'url', array[:'name']$values)
		returning id as sub \\gset
		insert into webhook_secrets (subscription_id, secret)
		values (:sub, :'secret') returning subscription_id
	EOT
	) || exit
}

event() {
	psql -X -q -A -t -v ON_ERROR_STOP=1 -v name="$1" \
	    -v payload="${2-{\}}" <<-'EOT' || exit
		insert into webhook_outbox (event_type, payload)
		values (:'name', :'payload')
	EOT
}

deliver() {
	hook-fanout || exit
	run hook-deliver "$@"
}

went() {
	psql -X -q -A -t -F ' ' -v ON_ERROR_STOP=1 -v name="$1" <<-'EOT'
		select state, attempts, coalesce(last_status::text, '-'),
		    coalesce(last_error, '-')
		from webhook_deliveries where event_type = :'name' order by id
	EOT
}

again() {
	sql "update webhook_deliveries set next_attempt_at = now()
	    where state = 'pending';
	    update webhook_lanes set hold_until = null, next_due_at = now()"
}

seen() {
	awk -v path="$1" '$1 == "in" && $5 == path { n++ }
	    END { print n + 0 }' "$sink_dir/log"
}

alone() {
	echo 'nameserver 127.0.0.1' >"$work/resolv.conf"
	map='' user=''
	[ "$(id -u)" = 0 ] || map=-r user='-U --preserve-credentials'
	# shellcheck disable=SC2086 # no word where there is none
	start unshare $map -mn sh -c '
		ip link set lo up || exit
		mount --bind "$1/hosts" /etc/hosts || exit
		mount --bind "$1/resolv.conf" /etc/resolv.conf || exit
		f=$1/alone
		shift
		for a; do
			ip addr add "$a" dev lo || exit
		done
		: >"$f"
		exec sleep 600' sh "$work" "$@"
	inside="nsenter -t $pid $user -m -n"
	wait_for 5 '[ -e "$work/alone" ] || ! kill -0 $pid 2>/dev/null'
	[ -e "$work/alone" ] || { cat "$log" >&2; exit 1; }
}

listener() {
	: >"$work/listener"
	start perl -MIO::Socket::INET -e '
		$SIG{PIPE} = "IGNORE";
		my $l = IO::Socket::INET->new(Listen => 50,
		    LocalAddr => "127.0.0.1", ReuseAddr => 1) or die;
		open(my $f, ">", shift) or die;
		print $f $l->sockport, "\n";
		close $f;
		my $each = eval "sub { my (\$c) = \@_; $ARGV[0] }" or die;
		while (1) {
			my $c = $l->accept or next;
			$each->($c);
		}' "$work/listener" "$1"
	wait_for 5 '[ -s "$work/listener" ]'
	port=$(cat "$work/listener")
}
