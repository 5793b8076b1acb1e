#!/bin/sh
# hook-receive reads HTTP in one way only: what could be read in two is
# refused, its connection is closed, and nothing in it is taken for another
# request.
. "${0%/*}/lib.sh"
need_db
. "$top/t/receive.sh"
source_of gh github topsecret
receiver

# Each is "NAME|status|head lines|rest", in Perl's spelling; a good request
# stands behind it, which must not be answered.
while IFS='|' read -r name want lines rest; do
	try "refused: $name" <<-EOT
	my \$c = dial();
	my \$r = signed(length => "$lines", wire => "$rest");
	put(\$c, \$r . signed(id => 'smuggled'));
	my \$status = answer(\$c);
	same(\$status . (ended(\$c) ? ' ended' : ' open'), '$want ended')
	EOT
done <<'EOT'
two lengths|400|Content-Length: 2\r\nContent-Length: 20\r\n|{}
two equal lengths|400|Content-Length: 2\r\nContent-Length: 2\r\n|{}
a list of lengths|400|Content-Length: 2, 2\r\n|{}
length and chunked|400|Content-Length: 2\r\nTransfer-Encoding: chunked\r\n|0\r\n\r\n
chunked and length|400|Transfer-Encoding: chunked\r\nContent-Length: 2\r\n|0\r\n\r\n
chunked twice|400|Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n|0\r\n\r\n
chunked misspelt|400|Transfer-Encoding: chunkedx\r\n|0\r\n\r\n
chunked, chunked|400|Transfer-Encoding: chunked, chunked\r\n|0\r\n\r\n
gzip, chunked|400|Transfer-Encoding: gzip, chunked\r\n|0\r\n\r\n
identity|400|Transfer-Encoding: identity\r\n|{}
a control byte before chunked|400|Transfer-Encoding: \x0bchunked\r\n|0\r\n\r\n
a quoted coding|400|Transfer-Encoding: \x22chunked\x22\r\n|0\r\n\r\n
a signed length|400|Content-Length: +2\r\n|{}
a negative length|400|Content-Length: -2\r\n|{}
a length in hex|400|Content-Length: 0x2\r\n|{}
a length with more|400|Content-Length: 2 2\r\n|{}
an empty length|400|Content-Length:\r\n|{}
a length of 30 digits|400|Content-Length: 000000000000000000000000000002\r\n|{}
a length above all|413|Content-Length: 999999999999999999\r\n|{}
a folded line|400|X-A: 1\r\n folded\r\nContent-Length: 2\r\n|{}
a folded length|400|Content-Length:\r\n 2\r\n|{}
a NUL in a value|400|X-A: a\x00b\r\nContent-Length: 2\r\n|{}
a NUL in a name|400|X-A\x00: b\r\nContent-Length: 2\r\n|{}
a bare LF|400|X-A: a\nContent-Length: 2\r\n|{}
a bare LF at the end|400|Content-Length: 2\r\n\n|{}
a bare CR|400|X-A: a\rContent-Length: 2\r\n|{}
a space before the colon|400|Content-Length : 2\r\n|{}
a space before the name|400| Content-Length: 2\r\n|{}
a line without a colon|400|Content-Length 2\r\n|{}
a name that is empty|400|: x\r\nContent-Length: 2\r\n|{}
a name with a space|400|X A: x\r\nContent-Length: 2\r\n|{}
DEL in a value|400|X-A: a\x7fb\r\nContent-Length: 2\r\n|{}
two hosts|400|Host: y\r\nContent-Length: 2\r\n|{}
an expectation|417|Expect: 200-ok\r\nContent-Length: 2\r\n|{}
a chunk ended by LF|400|Transfer-Encoding: chunked\r\n|2\n{}\n0\n\n
a chunk size with 0x|400|Transfer-Encoding: chunked\r\n|0x2\r\n{}\r\n0\r\n\r\n
a chunk size with a space|400|Transfer-Encoding: chunked\r\n|2 \r\n{}\r\n0\r\n\r\n
a chunk size with a sign|400|Transfer-Encoding: chunked\r\n|+2\r\n{}\r\n0\r\n\r\n
a chunk size of 16 digits|400|Transfer-Encoding: chunked\r\n|FFFFFFFFFFFFFFFF\r\n{}\r\n0\r\n\r\n
a chunk without a size|400|Transfer-Encoding: chunked\r\n|\r\n{}\r\n0\r\n\r\n
a chunk longer than its size|400|Transfer-Encoding: chunked\r\n|1\r\n{}\r\n0\r\n\r\n
a bare LF in an extension|400|Transfer-Encoding: chunked\r\n|2;a=b\nx\r\n{}\r\n0\r\n\r\n
extensions without end|400|Transfer-Encoding: chunked\r\n|2;" . "x" x 1000000 . "\r\n{}\r\n0\r\n\r\n
a folded trailer|400|Transfer-Encoding: chunked\r\n|2\r\n{}\r\n0\r\nX: y\r\n z\r\n\r\n
trailers without end|400|Transfer-Encoding: chunked\r\n|2\r\n{}\r\n0\r\n" . "X: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n" x 500 . "\r\n
EOT

while IFS='|' read -r name want first; do
	try "refused: $name" <<-EOT
	my \$c = dial();
	my \$r = signed();
	\$r =~ s{^[^\r]*}{$first};
	put(\$c, \$r . signed(id => 'smuggled'));
	my \$status = answer(\$c);
	same(\$status . (ended(\$c) ? ' ended' : ' open'), '$want ended')
	EOT
done <<'EOT'
no version|400|POST /webhooks/gh
HTTP/0.9|505|POST /webhooks/gh HTTP/0.9
HTTP/1.2|505|POST /webhooks/gh HTTP/1.2
HTTP/2.0|505|POST /webhooks/gh HTTP/2.0
another protocol|400|POST /webhooks/gh ICAP/1.0
two spaces|400|POST  /webhooks/gh HTTP/1.1
a space in the target|400|POST /webhooks/gh x HTTP/1.1
a space behind|505|POST /webhooks/gh HTTP/1.1\x20
a tab|400|POST\t/webhooks/gh HTTP/1.1
a fragment|400|POST /webhooks/gh#x HTTP/1.1
a target without a slash|400|POST webhooks/gh HTTP/1.1
a method that is none|400|PO(ST /webhooks/gh HTTP/1.1
bytes beyond ASCII|400|POST /webhooks/gh\xff HTTP/1.1
two empty lines before|400|\r\n\r\nPOST /webhooks/gh HTTP/1.1
a prefix of HTTP/2|505|PRI * HTTP/2.0
a proxy's line before|400|PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\nPOST /webhooks/gh HTTP/1.1
TLS|400|\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03
a host alone|400|CONNECT x:443 HTTP/1.1
a target with a user|400|POST http://u:p\@x/webhooks/gh HTTP/1.1
a target of another scheme|400|POST ftp://x/webhooks/gh HTTP/1.1
EOT

try 'refused: no host' <<'EOT'
my $c = dial();
my $r = signed();
$r =~ s/Host: x\r\n//;
put($c, $r);
answer($c) == 400 && ended($c)
EOT
try 'refused: chunked in HTTP/1.0' <<'EOT'
my $c = dial();
my $r = signed(length => $chunked, wire => chunked('{}', 2));
$r =~ s{HTTP/1.1}{HTTP/1.0};
put($c, $r);
answer($c) == 400 && ended($c)
EOT
try 'refused: a head of more than 64 KiB, or 128 lines' <<'EOT'
my @r;
for my $raw ('X-A: ' . 'a' x 70000 . "\r\n", "X-A: a\r\n" x 130) {
	my $c = dial();
	put($c, signed(raw => $raw));
	push @r, answer($c);
	push @r, 'open' if !ended($c);
}
same("@r", '431 431')
EOT
is "$(stored)" 0 'nothing of all this was stored'

# What is not ambiguous is taken, however it comes.
try 'a request in single bytes' <<'EOT'
my $c = dial();
put($c, $_) for split //, signed(id => 'bytes');
answer($c) == 202
EOT
try 'any case, any space around a value' <<'EOT'
my $r = signed(id => 'case', length => "content-LENGTH: \t 2 \t\r\n");
my $c = dial();
put($c, $r);
answer($c) == 202
EOT
try 'chunks with extensions and trailers' <<'EOT'
my $c = dial();
put($c, signed(id => 'ext', length => "Transfer-Encoding: CHUNKED\r\n",
    wire => "1;a=b\r\n{\r\n001;c=\"d\"\r\n}\r\n0;e\r\nX-Sum: 1\r\n\r\n"));
put($c, signed(id => 'behind'));
same(answer($c) . answer($c), '202202')
EOT
try 'Expect: 100-continue is told to continue' <<'EOT'
my $c = dial();
my $r = signed(id => 'expect', raw => "Expect: 100-continue\r\n");
put($c, substr($r, 0, -2));
answer($c) == 100 or die "no interim answer: $head";
put($c, '{}');
answer($c) == 202
EOT
try 'an empty line before a request, as behind a body that has one more' <<'EOT'
my $c = dial();
put($c, $_) for "\r", "\n" . signed(id => 'blank-1') . "\r\n",
    signed(id => 'blank-2');
same(answer($c) . answer($c), '202202')
EOT
try 'a target with its host, as to a proxy; the Host line is not heard' <<'EOT'
my ($got, $c) = ('', dial());
for ('http://x', 'HTTPS://x:8080', 'http://[::1]', 'http://') {
	my $r = signed(id => "absolute-$_");
	$r =~ s{ /}{ $_/};
	put($c, $r);
	$got .= answer($c) . ' ';
}
$c = dial();
put($c, "GET $_ HTTP/1.1\r\nHost: x\r\n\r\n") for
    'http://x/healthz', 'http://x', 'http://x?a', 'http://x/readyz?a',
    'http://u@x/healthz';
$got .= answer($c) . ' ' for 1 .. 5;
same($got, '202 202 202 400 200 404 404 200 400 ')
EOT
try 'a path is a source in one way of writing only' <<'EOT'
my ($got, $c) = ('', dial());
for ('//webhooks/gh', '/webhooks//gh', '/webhooks/gh/', '/webhooks/./gh',
    '/webhooks/x/../gh', '/webhooks%2Fgh', '/Webhooks/gh', '/webhooks/GH',
    '/webhooks/%67h', '/webhooks/gh%00', '/webhooks/gh;a', '/webhooks/gh%3F',
    '/webhooks/gh?', '/webhooks/gh?a=b/../c') {
	my $r = signed(id => "path-$_");
	$r =~ s{/webhooks/gh}{$_};
	put($c, $r);
	$got .= answer($c) . ' ';
}
same($got, '404 ' x 7 . '401 ' x 5 . '202 ' x 2)
EOT
try 'what else clients say of themselves does no harm' <<'EOT'
my ($got, $c) = ('', dial());
for ("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
    . "HTTP2-Settings: AAMAAABkAAQAAP__\r\n",
    "Connection: Upgrade\r\nUpgrade: websocket\r\n",
    "Connection: TE\r\nTE: trailers, deflate\r\n", "X-U: \xc3\xa9 \xe9\r\n",
    "X-Empty:\r\n", "Expect: 100-Continue\r\n", 'X-A: ' . 'a' x 60000 . "\r\n",
    join('', map { "X-$_: 1\r\n" } 1 .. 120), "Keep-Alive: timeout=5\r\n") {
	put($c, signed(id => 'head-' . length, raw => $_));
	$got .= answer($c) . ' ';
}
put($c, signed(id => 'trailer', raw => "Trailer: Content-Length\r\n",
    length => $chunked, wire => "2\r\n{}\r\n000\r\nContent-Length: 9\r\n\r\n"));
put($c, signed(id => "pipe-$_", secret => $_ == 7 ? 'no' : 'topsecret'))
    for 1 .. 50;
$got .= answer($c) . ' ' for 0 .. 50;
same($got, '202 ' x 16 . '401 ' . '202 ' x 43)
EOT
try 'HTTP/1.0 is closed behind, unless it asks' <<'EOT'
my $got = '';
for ('', "Connection: keep-alive\r\n", "Expect: 100-continue\r\n",
    "Connection: keep-alive, close\r\n") {
	my $c = dial();
	my $r = signed(id => 'old-' . length, raw => $_);
	$r =~ s{HTTP/1.1\r\nHost: x}{HTTP/1.0};
	put($c, $r);
	$got .= answer($c) . ' ';
	put($c, signed(id => 'old-behind')) if /alive\r/;
	$got .= /alive\r/ ? answer($c) . ' ' : ended($c) ? 'ended ' : 'open ';
}
same($got, '202 ended 202 202 202 ended 202 ended ')
EOT
try 'a client that goes away is let go, wherever it was' <<'EOT'
my $got = '';
for my $bytes (signed(id => 'half-closed'), substr(signed(), 0, -1),
    substr(signed(), 0, 30), "\r\n", '') {
	my $c = dial();
	put($c, $bytes);
	shutdown $c, 1;
	$got .= answer($c, 5) . ' ' . (ended($c, 5) ? 'ended' : 'open') . "\n";
}
same($got, "202 ended\n" . "0 ended\n" x 4)
EOT
try 'HEAD has the answer of GET, without its body' <<'EOT'
my ($got, $c) = ('', dial());
for ('/healthz', '/readyz', '/webhooks/gh', '/', '/webhooks/nobody') {
	put($c, "HEAD $_ HTTP/1.1\r\nHost: x\r\n\r\n");
	$got .= answer($c, 10, 'HEAD');
	$got .= " length $1\n" if $head =~ /^Content-Length: (\d+)/m;
}
put($c, signed(id => 'head'));
same($got . answer($c), "200 length 3\n200 length 3\n405 length 8\n"
    . "404 length 10\n405 length 8\n202")
EOT
is "$(sql "select string_agg(message_id, ' ' order by message_id)
    from webhook_inbox where message_id !~ '^(absolute|path|head-|pipe|old)'")" \
    'behind blank-1 blank-2 bytes case expect ext half-closed head trailer' '... and stored'
done_testing
