#!/bin/sh
# hook-receive: verified and stored, beside the same server that verifies and
# refuses (what was signed was changed, so nothing is stored); how long an
# answer takes at a moderate pace; memory of idle connections.
. "${0%/*}/lib.sh"
n=$(few 100000 8000)
pace=1000
bench_db
printf whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE= >"$work/secret"
hook-source add -s standard -t off -k "$work/secret" bench >/dev/null
port=$(free_port)
start hook-receive -l "127.0.0.1:$port"
receive_pid=$pid
until_true 20 '[ "$(curl -s -o /dev/null -w "%{http_code}" \
    "http://127.0.0.1:$port/readyz")" = 200 ]'

post() {	# OPTION ...: $post_rate, $post_p99 (ms)
	"$BUILD/bench/post" "$@" "$work/secret" 127.0.0.1 "$port" \
	    /webhooks/bench >"$work/post" || die 'post fails'
	post_rate=$(jq .per_second "$work/post")
	post_p99=$(jq .p99_ms "$work/post")
}
receive_cpu() {
	awk '{ print ($14 + $15) / 100 }' "/proc/$receive_pid/stat"
}

stores='' refuses='' cpus='' dbs=''
for round in $(seq "$(few 3 1)"); do
	note "round $round"
	post -x -n "$n"
	[ "$(jq .refused "$work/post")" = "$n" ] || die "$(cat "$work/post")"
	refuses="$refuses $post_rate"
	settle
	pg_mark
	before=$(receive_cpu)
	post -n "$n"
	[ "$(jq .good "$work/post")" = "$n" ] || die "$(cat "$work/post")"
	stores="$stores $post_rate"
	cpus="$cpus $(calc "($(receive_cpu) - $before) / $n * 1e6" %.1f)"
	pg_cost
	dbs="$dbs $(calc "$cpu_sessions / $n * 1e6" %.1f)"
done
[ "$(sql 'select count(*) from webhook_inbox')" = \
    "$(calc "$n * $(few 3 1)" %.0f)" ] || die 'not all were stored'
settle
post -r "$pace" -n "$(few 20000 1500)"

# Each has been of use once.
note 'idle connections'
rss=$(perl -MIO::Socket::INET -e '
	my ($port, $pid) = @ARGV;
	my @c = map { IO::Socket::INET->new(PeerAddr => "127.0.0.1",
	    PeerPort => $port) or die } 1 .. 2000;
	syswrite $_, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" for @c;
	sysread $_, my $x, 1000 for @c;
	open my $f, "<", "/proc/$pid/status" or die;
	while (<$f>) { print $1 if /^VmRSS:\s+(\d+)/ }' \
	"$port" "$receive_pid") || die 'no 2,000 connections'
stop "$receive_pid"

# shellcheck disable=SC2086 # several words
{
	r=$(median $refuses)
	row 'receive: verified and refused, 64 connections' "$r" /s
	row -b "$r" -r ge:0.5 'receive: verified and stored, 64 connections' \
	    "$(median $stores)" /s ge 10000
	row 'CPU of hook-receive, each' "$(median $cpus)" us
	row 'CPU of PostgreSQL sessions, each' "$(median $dbs)" us
	row "receive: p99 of an answer at $pace/s" "$post_p99" ms le 25
	row 'receive: memory with 2,000 idle connections' \
	    "$(calc "$rss / 1024" %.1f)" MiB le 64
}
