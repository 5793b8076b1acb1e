#!/bin/sh
# hook-receive behind something: X-Forwarded-* from proxies that were named,
# nginx with the configuration that ships, sockets from systemd.
. "${0%/*}/lib.sh"
need_db
. "$top/t/receive.sh"
PATH=$PATH:/usr/sbin
source_of gh github topsecret
source_of open twilio twiliotoken
source_of known twilio twiliotoken -u https://example.test/known
receiver -P 127.0.0.2,10.0.0.0/8,::1

# Twilio: the URL, then the form's fields by name, HMAC-SHA1 in base64
twilio() {	# SOURCE URL-THAT-IS-SIGNED [header ...]
	s=$1
	sig=$(printf '%sAccountSidAC1BodyHi' "$2" | openssl dgst -sha1 \
	    -mac HMAC -macopt key:twiliotoken -binary | base64)
	shift 2
	for h; do
		set -- "$@" -H "$h"
		shift
	done
	curl -s -o /dev/null -w '%{http_code}' --interface "${peer-127.0.0.1}" \
	    -H "X-Twilio-Signature: $sig" "$@" -d 'AccountSid=AC1&Body=Hi' \
	    "$rcv/webhooks/$s?x=1"
}
p='X-Forwarded-Proto: https' h='X-Forwarded-Host: example.test'
u=https://example.test
like "$(twilio known $u/known?x=1)" '^20' \
    'a source that knows its address: that, and the query of the request'
like "$(twilio known $u/known?x=1 'X-Forwarded-Host: evil')" '^20' \
    '... whatever others say'
is "$(twilio known "$rcv/webhooks/known?x=1")" 401 '... and no other'
like "$(twilio open "$rcv/webhooks/open?x=1")" '^20' \
    'one that does not: the address of the request'
is "$(twilio open "$u/webhooks/open?x=1" "$p" "$h")" 401 \
    '... not what anybody says of it'
like "$(grep 'refused source=open' "$rcv_log")" \
    "url=\"?$rcv/webhooks/open[?]\.\.\.\"?" \
    '... the log says which it was, without the query'
like "$(peer=127.0.0.2 twilio open "$u/webhooks/open?x=1" "$p" "$h")" '^20' \
    '... but what a proxy of ours says'
like "$(peer=127.0.0.2 twilio open "$u/webhooks/open?x=1" \
    'X-Forwarded-Proto: http, https' \
    'X-Forwarded-Host: evil, example.test')" '^20' \
    '... the nearest of them'
is "$(peer=127.0.0.2 twilio open "$u/webhooks/open?x=1" \
    'X-Forwarded-Proto: gopher' "$h")" 401 '... if it makes sense'

# A GET says in its URL what a form would say in its body
get() {	# SOURCE QUERY URL-THAT-IS-SIGNED [curl option ...]
	sig=$(printf %s "$3" | openssl dgst -sha1 -mac HMAC \
	    -macopt key:twiliotoken -binary | base64)
	s=$1 q=$2
	shift 3
	curl -s -o /dev/null -w '%{http_code}' -H "X-Twilio-Signature: $sig" \
	    "$@" "$rcv/webhooks/$s?$q"
}
q='CallSid=CA1&From=sip%3Aa%40b&Say=it%27s+%2B'
k="$u/known?"
is "$(get known "$q" "$k$q") $(get known "$q" "$k$q") \
$(get known CallSid=CA2 "${k}CallSid=CA2")" '202 200 202' \
    'a GET whose URL is signed is kept, once'
is "$(sql "select string_agg(convert_from(body, 'UTF8'), ' ' order by id)
    from webhook_inbox where source = 'known' and substr(body, 1, 4) = 'Call'")" \
    "$q CallSid=CA2" '... and its query is its body'
is "$(get known "$q&x" "$k$q") $(get known "$q" "$k$q" -I) \
$(get gh "$q" "$k$q" -H "X-Hub-Signature-256: sha256=$(printf '' |
    openssl dgst -sha256 -mac HMAC -macopt key:topsecret | sed 's/.* //')")" \
    '401 405 401' '... but no other, no HEAD, and not where none is signed'
n=0
for signed in 'CallSid=CA3&From=sip:a@b&Say=it%27s+%2B' \
    "CallSid=CA3&From=sip:a@b&Say=it's+%2B" \
    'CallSid=CA3&From=sip:a@b&Say=it%27s++'; do
	n=$((n + 1))
	is "$(get known "CallSid=CA3&From=sip%3Aa%40b&Say=it%27s+%2B" \
	    "$k$signed")" "$(echo 401 202 401 | cut -d' ' -f$n)" \
	    "encoded when it was sent, not when it was signed: $n"
done

seen() {	# the address in the log, for an X-Forwarded-For
	curl -s -o /dev/null --interface "$1" -H "X-Forwarded-For: $2" -d x \
	    "$rcv/webhooks/gh"
	tail -n 1 "$rcv_log" | sed 's/.*from=\([^ ]*\).*/\1/'
}
is "$(seen 127.0.0.1 192.0.2.1)" 127.0.0.1 \
    'the log has the address of the connection'
is "$(seen 127.0.0.2 192.0.2.1)" 192.0.2.1 '... or the one that a proxy names'
is "$(seen 127.0.0.2 '192.0.2.9, 192.0.2.1, 10.1.1.1')" 192.0.2.1 \
    '... the last that is none of ours'
is "$(seen 127.0.0.2 '192.0.2.9, <script>')" 127.0.0.2 \
    '... and only if it is an address'
for bad in 127.0.0.1/33 x 10.0.0.1/8; do
	run timeout 9 hook-receive -P "$bad" -l 127.0.0.1:0
	exits 64 "-P $bad is a usage error"
done

# nginx
stop "$rcv_pid"
receiver -P 127.0.0.1
nginx_port=$(port)
mkdir "$work/nginx"
stat_port=$(port)
start hook-stat -l "127.0.0.1:$stat_port"
sed -e "s/127.0.0.1:8080/127.0.0.1:$RCV_PORT/" \
    -e "s/127.0.0.1:9464/127.0.0.1:$stat_port/" \
    -e "s/listen 443 ssl/listen 127.0.0.1:$nginx_port/" \
    -e '/listen \[::\]/d; /ssl_certificate/d' -e 's/hooks.example.com/_/' \
    "$top/scripts/etc/nginx/hook.conf" >"$work/nginx/hook.conf"
cat >"$work/nginx/nginx.conf" <<-EOT
	daemon off;
	pid $work/nginx/pid;
	error_log stderr warn;
	events { }
	http {
		access_log off;
		client_body_temp_path $work/nginx/body;
		proxy_temp_path $work/nginx/proxy;
		fastcgi_temp_path $work/nginx/f;
		uwsgi_temp_path $work/nginx/u;
		scgi_temp_path $work/nginx/s;
		include $work/nginx/hook.conf;
	}
EOT
[ "$(id -u)" != 0 ] || sed -i '1i user root;' "$work/nginx/nginx.conf"
run nginx -t -q -p "$work/nginx" -c "$work/nginx/nginx.conf"
exits 0 'nginx understands the configuration that ships'
start nginx -p "$work/nginx" -c "$work/nginx/nginx.conf"
wait_for 10 'curl -s -o /dev/null "http://127.0.0.1:$nginx_port/"' \
    'nginx runs with the configuration that ships' || note "$(cat "$log")"
metrics() {	# FROM PATH
	curl -s --interface "$1" -o "$work/metrics" -w '%{http_code}' \
	    "http://127.0.0.1:$nginx_port$2"
}
wait_for 10 '[ "$(metrics 127.0.0.1 /metrics)" = 200 ] &&
    grep -q "^hook_" "$work/metrics"' 'those inside see the metrics' ||
    note "$(head "$work/metrics")"
is "$(metrics 127.0.0.2 /metrics)" 404 '... and others nothing'
is "$(metrics 127.0.0.2 /metrics/ ; metrics 127.0.0.1 /readyz)" 404404 \
    '... of it'
direct=$RCV_PORT RCV_PORT=$nginx_port
try 'a good message goes through nginx, a repeat too' <<'EOT'
same(post(id => 'n', body => '{}') . post(id => 'n', body => '{}') .
    post(secret => 'wrong'), '202200401')
EOT
try 'one of the limit, and one byte more' <<'EOT'
same(post(body => 'x' x 1048576) . ' ' . post(body => 'x' x 1048577),
    '202 413')
EOT
try 'one in chunks' <<'EOT'
my $c = dial();
put($c, signed(body => '{"a":1}', length => $chunked,
    wire => chunked('{"a":1}', 1)));
answer($c) == 202
EOT
try 'everything else is 404' <<'EOT'
my @r = map { get($_) } '/', '/healthz', '/readyz', '/webhooks', '/x';
same("@r", '404 404 404 404 404')
EOT
try 'two hundred over one connection' <<'EOT'
my $c = dial();
my $bad = 0;
for (1 .. 200) {
	put($c, signed());
	$bad++ if answer($c) != 202;
}
same($bad, 0)
EOT
try 'nothing is smuggled past it' <<'EOT'
my $bad = 0;
for my $x ("Content-Length: 2\r\nContent-Length: 20\r\n",
    "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
    "Transfer-Encoding: xchunked\r\nContent-Length: 2\r\n",
    "Transfer-Encoding : chunked\r\nContent-Length: 2\r\n",
    "X: a\r\n Content-Length: 20\r\nContent-Length: 2\r\n",
    "X: a\nContent-Length: 2\r\n", "Content-Length : 2\r\n") {
	my $c = dial();
	put($c, signed(length => $x, wire => "{}" . signed(
	    id => 'smuggled', secret => 'wrong')));
	my $n = 0;
	$n++ while answer($c, 3) > 0;
	$bad++ if $n > 2;
	print "$x: $n answers\n";
}
!$bad
EOT
curl -s -o /dev/null -H 'X-Forwarded-For: 192.0.2.77' -d x \
    "http://127.0.0.1:$nginx_port/webhooks/gh"
is "$(grep -c 192.0.2.77 "$rcv_log")" 0 \
    'X-Forwarded-For of a client is not believed'
RCV_PORT=$direct
stop "$rcv_pid"
is "$(curl -s -o /dev/null -m 8 -w '%{http_code}' -d x \
    "http://127.0.0.1:$nginx_port/webhooks/gh")" 502 \
    'without a receiver it is 502, which is tried again'

# Sockets from systemd, as it passes them
cat >"$work/pass.pl" <<'EOT'
use IO::Socket::INET;
use POSIX ();
use Fcntl;
my @s = map { IO::Socket::INET->new(Listen => 9, LocalAddr => '127.0.0.1') }
    1, 2;
open my $f, '>', shift or die;
print $f join("\n", map { $_->sockport } @s), "\n";
close $f;
POSIX::dup2(fileno $s[$_], 100 + $_) for 0, 1;
POSIX::dup2(100 + $_, 3 + $_) for 0, 1;
$^F = 200;
for my $fd (3, 4) {
	open my $h, '+<&=', $fd or die;
	fcntl $h, F_SETFD, 0;
	push @keep, $h;
}
$ENV{LISTEN_PID} = $ARGV[0] eq 'other' ? $$ + 1 : $$;
$ENV{LISTEN_FDS} = $ARGV[0] eq 'bad' ? 'x' : 2;
exec 'hook-receive', '-l', '127.0.0.1:0';
EOT
start perl "$work/pass.pl" "$work/ports" good
rcv_pid=$pid rcv_log=$log
wait_for 10 '[ "$(grep -c listening "$rcv_log")" = 3 ]' \
    'sockets of systemd are used, and -l too'
for RCV_PORT in $(cat "$work/ports"); do
	rcv=http://127.0.0.1:$RCV_PORT
	ready
	try "... on port $RCV_PORT" <<-'EOT'
	post() == 202
	EOT
done
is "$(tr '\0' '\n' <"/proc/$rcv_pid/environ" | grep -c LISTEN_FDS)" 1 \
    '... by its variables'
stop "$rcv_pid"
start perl "$work/pass.pl" "$work/ports" other
wait_for 10 'grep -q listening "$log"'
is "$(grep -c listening "$log")" 1 'those of another process are not'
stop
run timeout 9 perl "$work/pass.pl" "$work/ports" bad
exits 69 'a count that is none is an error'
for bad in x 127.0.0.1 :80 localhost:80 '[::1' 127.0.0.1:65536 ::1:80 \
    127.0.0.1:-1; do
	run timeout 9 hook-receive -l "$bad"
	exits 64 "-l $bad is a usage error"
done
done_testing
