#!/bin/sh
# Addresses that are not public are never dialled: no spelling, no odd URL,
# no name, and no name that changes its mind gets a packet out.  In a network
# of its own, where such addresses exist and have listeners.
. "${0%/*}/lib.sh"
. "${0%/*}/wire.sh"
need_db
unset HOOK_ALLOW_NET

port=$(port)
cat >"$work/hosts" <<'EOT'
127.0.0.1 localhost loop.example
::1 loop6.example
169.254.169.254 meta.example
10.0.0.1 ten.example
fd00:ec2::254 meta6.example
::ffff:127.0.0.1 mapped.example
EOT
alone 169.254.169.254/32 10.0.0.1/32 11.0.0.1/32 fd00:ec2::254/128

n=0
for a in 127.0.0.1 '[::1]' 169.254.169.254 10.0.0.1 11.0.0.1 \
    '[fd00:ec2::254]'; do
	n=$((n + 1))
	mkdir "$work/at$n"
	# shellcheck disable=SC2086 # several words
	start $inside "$BUILD/t/sink" -d "$work/at$n" -l "$a:$port"
	wait_for 5 '[ -s "$work/at$n/port" ]'
done

# Connections that were begun in there, by anybody; datagrams, for names.
begun() {
	$inside awk '$1 == "Tcp:" && $6 ~ /^[0-9]/ { tcp = $6 }
	    $1 == "Udp:" && $5 ~ /^[0-9]/ { udp = $5 }
	    END { print tcp, udp }' /proc/net/snmp
}
got() {		# INDEX: requests that the listener saw
	grep -c '^in' "$work/at$1/log"
}

cat >"$work/hosts.bad" <<'EOT'
127.0.0.1
127.1
2130706433
0x7f000001
0177.0.0.1
0x7f.1
127.0.0.1.
0
0.0.0.0
00
①②⑦.0.0.1
１２７.0.0.1
localhost
LOCALHOST
localhost.
a.localhost
[::1]
[::]
[0:0:0:0:0:0:0:1]
[::ffff:127.0.0.1]
[::ffff:7f00:1]
[::7f00:1]
[::127.0.0.1]
[::ffff:0:127.0.0.1]
[64:ff9b::a9fe:a9fe]
[64:ff9b::169.254.169.254]
[64:ff9b:1::7f00:1]
[2002:7f00:1::1]
[2002:a9fe:a9fe::]
[2001:0:7f00:1::]
[fe80::1]
[fe80::1%25lo]
[fe80::1%lo]
[fec0::1]
[fc00::1]
[fd00:ec2::254]
[ff02::1]
[2001:db8::1]
[100::1]
[::1%25lo]
169.254.169.254
2852039166
0xa9fea9fe
0251.0376.0251.0376
169.254.43518
10.0.0.1
012.0.0.1
172.16.0.1
172.31.255.255
192.168.0.1
100.64.0.1
192.0.0.1
192.0.2.1
198.18.0.1
203.0.113.1
224.0.0.1
240.0.0.1
255.255.255.255
256.0.0.1
1.2.3.4.5
127.0.0.1%2f
%31%32%37.0.0.1
EOT
sed "s|.*|http://&:$port/|" "$work/hosts.bad" >"$work/urls"
# What is the host, and is it a URL at all?
tab=$(printf '\t') cr=$(printf '\r') del=$(printf '\177')
cat >>"$work/urls" <<EOT
http://example.com:80@127.0.0.1:$port/
http://a:b@10.0.0.1:$port/
http://a@11.0.0.1:$port/
http://@11.0.0.1:$port/
http://127.0.0.1:$port\\@example.com/
http://example.com\\@127.0.0.1:$port/
http://127.0.0.1:$port#@example.com/
http://11.0.0.1:$port#frag
http:///127.0.0.1:$port/
http:/127.0.0.1:$port/
http:127.0.0.1:$port/
http:\\\\127.0.0.1:$port/
//127.0.0.1:$port/
127.0.0.1:$port/
file:///etc/hostname
FILE:///etc/hostname
gopher://127.0.0.1:$port/_x
ftp://127.0.0.1:$port/
dict://127.0.0.1:$port/
ws://127.0.0.1:$port/
httpx://11.0.0.1:$port/
javascript:1
http://11.0.0.1:$port/a${tab}b
http://11.0.0.1:$port/a${cr}b
http://11.0.0.1:$port/a b
http://11.0.0.1:$port/a${del}b
 http://11.0.0.1:$port/
http://11.0.0.1:$port/é
http://11.0.0.1:0/
http://11.0.0.1:65536/
http://11.0.0.1:-1/
http://11.0.0.1:80abc/
http://11.0.0.1:/
http://:$port/
http://
http:// /
http://[::1/
http://[11.0.0.1]:$port/
http://11.0.0.1]:$port/
http://[::ffff:11.0.0.1:$port/
http://..:$port/
http://a..b:$port/
http://11.0.0.1,127.0.0.1:$port/
http://11.0.0.1|127.0.0.1:$port/
EOT
printf 'http://11.0.0.1:%s/%09000d\n' "$port" 1 >>"$work/urls"

refused=0
while IFS= read -r url; do
	run $inside hook-sub add -d host=/nowhere "$url"
	[ "$rc $(wc -l <"$work/err")" = '65 1' ] ||
	    { refused=$((refused + 1)); note "exit $rc: $url"; }
done <"$work/urls"
run $inside hook-sub add -d host=/nowhere ''
exits 65 'no URL at all'
is $refused 0 'every one is refused by hook-sub, before it connects'
run $inside hook-sub add -d host=/nowhere "http://11.0.0.1:$port/
"
exits 65 'a line break'

# The same, written by SQL.
psql -X -q -v ON_ERROR_STOP=1 -v secret="$secret" -v port="$port" \
    -v urls="$(cat "$work/urls")" <<'EOT' || exit
insert into webhook_subscriptions (event_types, url)
select '{x}', unnest(string_to_array(:'urls', E'\n'))
union all values ('{x}'::text[], ''),
    ('{x}', 'http://11.0.0.1:' || :'port' || E'/\r\nX: y');
insert into webhook_secrets (subscription_id, secret)
select id, :'secret' from webhook_subscriptions;
insert into webhook_outbox (event_type, payload) values ('x', '{"k":1}');
EOT
before=$(begun)
hook-fanout
run $inside hook-deliver
exits 0 'they are delivered'
is "$(sql "select distinct state || ' ' || attempts from webhook_deliveries")" \
    'failed 1' '... not: each has failed, in one attempt'
is "$(sql 'select count(*) from webhook_deliveries')" \
    "$(($(wc -l <"$work/urls") + 2))" '... all of them'
is "$(sql "select count(*) from webhook_deliveries
    where last_error !~ '^url: ' or last_error is null")" 0 '... for its URL'
is "$(begun)" "$before" 'not one connection was begun, nor a name looked up'
is "$(sql "select s.url, last_error from webhook_deliveries d
    join webhook_subscriptions s on s.id = d.subscription_id
    where s.id <= $(grep -c . "$work/hosts.bad") and url !~ '[^ -~]|%'
	and last_error <> 'url: blocked destination, not a public address'")" \
    '' '... a literal is a blocked destination'

# Names.
for name in loop loop6 meta ten meta6 mapped; do
	sub "$name" "http://$name.example:$port/"
	event "$name"
done
hook-fanout
run $inside hook-deliver
exits 0 'names that stand for such addresses'
while read -r name address; do
	is "$(went "$name")" \
	    "failed 1 - connect: blocked destination: $address" \
	    "$name.example is a blocked destination"
done <<'EOT'
loop 127.0.0.1
loop6 ::1
meta 169.254.169.254
ten 10.0.0.1
meta6 fd00:ec2::254
mapped ::ffff:127.0.0.1
EOT
is "$(begun | cut -d ' ' -f 1)" "${before% *}" '... not one was dialled'
is "$(cat "$work"/at*/log)" '' 'no listener has seen anything'

# What is public is dialled (and there is no way to it, here).
for host in 172.32.0.1 100.128.0.1 169.253.0.1 8.8.8.8 '[2002:808:808::1]' \
    '[2606:4700::1111]'; do
	sub public "http://$host/" "retry_ms='{900000}'"
done
event public
hook-fanout
run $inside hook-deliver
is "$(went public | sed 's/to connect.*after/after/; s/[0-9]* ms.*//' |
    sort | uniq -c | xargs)" '6 pending 1 - connect: Failed after' \
    'public addresses are not refused'

# A name server whose answers change, or come mixed, or not at all.
# shellcheck disable=SC2086 # several words
start $inside perl -MIO::Socket::INET -e '
	my %a = (ok => ["11.0.0.1"], both => ["10.0.0.1", "11.0.0.1"],
	    mixed => ["11.0.0.1"]);
	my %aaaa = (mixed => ["fd00:ec2::254"],
	    mapped => ["::ffff:10.0.0.1"]);
	my $n = 0;
	my $s = IO::Socket::INET->new(Proto => "udp",
	    LocalAddr => "127.0.0.1", LocalPort => 53) or die "$!";
	print "ready\n";
	$| = 1;
	while (defined(my $from = $s->recv(my $q, 512))) {
		my ($label) = unpack("x12 C/a", $q);
		my $len = index($q, "\0", 12) + 5 - 12;
		my $type = unpack("n", substr($q, 12 + $len - 4, 2));
		print "$label $type\n";
		next if $label eq "silent";
		my @rr;
		@rr = map { Socket::inet_aton($_) } @{$a{$label} || []}
		    if $type == 1;
		@rr = map { Socket::inet_pton(Socket::AF_INET6(), $_) }
		    @{$aaaa{$label} || []} if $type == 28;
		push(@rr, Socket::inet_aton($n++ % 2 ? "10.0.0.1" :
		    "11.0.0.1")) if $label eq "flip" && $type == 1;
		$s->send(substr($q, 0, 2) . pack("n5", 0x8180, 1,
		    scalar(@rr), 0, 0) . substr($q, 12, $len) .
		    join("", map { pack("n3 N n/a", 0xc00c, $type, 1, 0, $_) }
		    @rr), 0, $from);
	}'
queries=$out
wait_for 5 '[ -s "$queries" ]'
for name in ok both mixed mapped flip silent; do
	sub "dns-$name" "http://$name.test:$port/" timeout_ms=1500 \
	    "retry_ms='{900000}'"
done
sub dns-both-shut http://both.test:1/ "retry_ms='{900000}'"
for i in 1 2 3 4 5 6; do
	event dns-flip
	hook-fanout
	run $inside hook-deliver
done
is "$(went dns-flip | sort | uniq -c | xargs -L 1 echo)" \
'3 delivered 1 200 -
3 failed 1 - connect: blocked destination: 10.0.0.1' \
    'a name that changes its mind is judged by what is dialled'
for name in both mixed mapped both-shut silent ok ok ok; do
	event "dns-$name"
done
hook-fanout
begin=$(date +%s)
run $inside hook-deliver
# By itself, the resolver waits for 10 s.
[ $(($(date +%s) - begin)) -lt 8 ]
check 'a name server that is silent holds nobody up'
is "$(went dns-ok)" 'delivered 1 200 -
delivered 1 200 -
delivered 1 200 -' '... others are delivered'
is "$(went dns-silent)" 'pending 1 - resolve: timed out after 1500 ms' \
    '... and it is the phase that did not end'
is "$(went dns-both) $(went dns-mixed)" 'delivered 1 200 - delivered 1 200 -' \
    'of several addresses, those that may be dialled are'
is "$(went dns-mapped)" \
    'failed 1 - connect: blocked destination: ::ffff:10.0.0.1' \
    'none may: a blocked destination'
like "$(went dns-both-shut)" '^pending 1 - connect: Failed to connect' \
    'one may and is shut: not a blocked destination'
is "$(got 5) $(cat "$work"/at[12346]/log)" '8 ' \
    'nobody but the public listener has seen anything'

# An operator opens a range: that one, in all its spellings.
for host in 10.0.0.1 012.0.0.1 '[::ffff:10.0.0.1]' ten.example 127.0.0.1 \
    169.254.169.254 meta.example '[fd00:ec2::254]'; do
	sub allow "http://$host:$port/"
done
event allow
hook-fanout
HOOK_ALLOW_NET=10.0.0.0/8,192.168.7.0/24 run $inside hook-deliver
is "$(went allow | sort | uniq -c | sed 's/^ *//; s/: 169.*//')" \
'4 delivered 1 200 -
1 failed 1 - connect: blocked destination
3 failed 1 - url: blocked destination, not a public address' \
    'HOOK_ALLOW_NET opens chosen ranges, and nothing else'
is "$(got 4) $(cat "$work"/at[1236]/log)" '4 ' '... as the listeners saw'
for bad in 10.0.0.0/33 10.0.0.1/8 ten.example '*'; do
	HOOK_ALLOW_NET=$bad run hook-deliver
	exits 64 "HOOK_ALLOW_NET=$bad is refused"
done
done_testing
