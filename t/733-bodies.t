#!/bin/sh
# hook-receive: bodies of every size and kind, byte for byte, in bounded
# memory.
. "${0%/*}/lib.sh"
need_db
. "$top/t/receive.sh"
source_of gh github topsecret
source_of packed github topsecret --unpack
receiver -m 2097152

rss() {
	awk '/^VmHWM:/ { print $2 }' "/proc/$rcv_pid/status"
}

try 'a body of exactly the limit' <<'EOT'
post(id => 'limit', body => 'x' x 2097152) == 202
EOT
is "$(sql "select octet_length(body), encode(sha256(body), 'hex')
    from webhook_inbox where message_id = 'limit'")" \
    "2097152|$(head -c 2097152 /dev/zero | tr '\0' x | sha256sum |
	cut -d' ' -f1)" '... is stored as it is'
try 'one byte more is 413, before it is read' <<'EOT'
my $c = dial();
put($c, signed(body => 'x' x 2097153, wire => ''));
answer($c) == 413 && ended($c)
EOT
try '... and so is one that comes in chunks' <<'EOT'
my $c = dial();
put($c, signed(length => $chunked, wire => chunked('x' x 3145728, 65536)));
answer($c) == 413 && ended($c)
EOT
try 'chunks of one byte' <<'EOT'
my $body = 'y' x 100000;
my $c = dial();
put($c, signed(id => 'chunks', body => $body, length => $chunked,
    wire => chunked($body, 1)));
answer($c) == 202
EOT
is "$(sql "select octet_length(body) from webhook_inbox
    where message_id = 'chunks'")" 100000 '... are one body'
try 'what is longer than it says is read to there, and no further' <<'EOT'
my $c = dial();
put($c, signed(id => 'long', body => '{}', wire => '{}' . 'z' x 1048576));
my @r = (answer($c), answer($c));
same("@r" . (ended($c) ? ' ended' : ' open'), '202 431 ended')
EOT
try 'no body, said and not said' <<'EOT'
my $c = dial();
put($c, signed(id => 'empty', body => ''));
put($c, signed(id => 'none', body => '', length => ''));
same(answer($c) . answer($c), '202202')
EOT
is "$(stored "octet_length(body) = 0")" 2 '... are stored empty'
try 'a deep one, and one with a huge key' <<'EOT'
my $deep = '[' x 500000 . ']' x 500000;
my $key = '{"' . 'k' x 1000000 . '":1}';
same(post(id => 'deep', body => $deep) . post(id => 'key', body => $key),
    '202202')
EOT

# Bytes are bytes
i=0
while read -r body; do
	i=$((i + 1))
	try "kept byte for byte: $body" <<-EOT
	post(id => "bytes-$i", body => "$body") == 202
	EOT
	perl -e 'binmode STDOUT; print eval "qq{$ARGV[0]}"' "$body" \
	    >"$work/want"
	sql "select encode(body, 'base64') from webhook_inbox
	    where message_id = 'bytes-$i'" | base64 -d >"$work/got"
	cmp "$work/got" "$work/want"
	check '... and so it is'
done <<'EOT'
x\\\\u0000y
x\\\\\\\\u0000y
\x00\x01\xff\xfe
\xc3\x28 \xed\xa0\x80 \xf5\x80\x80\x80
\xef\xbb\xbf1.0 1e400 -0
\x1b[2J\x07 \r\n
EOT

# Compressed
try 'compressed, and signed so' <<'EOT'
use Compress::Zlib;
my $wire = Compress::Zlib::memGzip('{"packed":1}');
post(id => 'wire', body => $wire, raw => "Content-Encoding: gzip\r\n")
    == 202 && post(id => 'br', body => 'x', raw =>
    "Content-Encoding: br\r\n") == 202
EOT
is "$(sql "select get_byte(body, 0), 'Content-Encoding' = any (headers)
    from webhook_inbox where message_id = 'wire'")" '31|t' \
    '... is kept so, and its headers say so'
try 'signed before it was compressed' <<'EOT'
use Compress::Zlib;
my $plain = '{"packed":1}';
my $gzip = Compress::Zlib::memGzip($plain);
my $cut = Compress::Zlib::memGzip('x' x 1000);
my %try = (
	gzip => [$gzip, 'gzip', $plain, 202],
	zlib => [compress($plain), 'deflate', $plain, 202],
	members => [$gzip . $gzip, 'gzip', $plain . $plain, 202],
	plain => [$plain, 'identity', $plain, 202],
	overwire => [$gzip, 'gzip', $gzip, 401],
	br => [$gzip, 'br', $plain, 415],
	twice => [$gzip, 'gzip, gzip', $plain, 415],
	broken => ["\x1f\x8bxxxxxxxxxxxx", 'gzip', $plain, 400],
	short => [substr($cut, 0, -4), 'gzip', 'x' x 1000, 400],
	behind => [$gzip . 'x', 'gzip', $plain, 400],
	empty => ['', 'gzip', '', 400],
	limit => [Compress::Zlib::memGzip('x' x 2097152), 'gzip',
	    'x' x 2097152, 202],
	over => [Compress::Zlib::memGzip('x' x 2097153), 'gzip',
	    'x' x 2097153, 413],
);
my ($got, $want) = ('', '');
for my $k (sort keys %try) {
	my ($wire, $coding, $signs, $status) = @{$try{$k}};
	$got .= "$k " . post(source => 'packed', id => $k, signs => $signs,
	    body => $wire, raw => "Content-Encoding: $coding\r\n") . "\n";
	$want .= "$k $status\n";
}
same($got, $want)
EOT
is "$(sql "select convert_from(body, 'UTF8'), exists (select from
    unnest(headers) h where lower(h) = 'content-encoding')
    from webhook_inbox where source = 'packed' and message_id = 'gzip'")" \
    '{"packed":1}|f' '... is kept unpacked, and no header says otherwise'
before=$(rss)
try 'a quarter of a megabyte that unfolds to a thousand times that' <<'EOT'
use Compress::Raw::Zlib;
my ($d) = Compress::Raw::Zlib::Deflate->new(-WindowBits => WANT_GZIP,
    -AppendOutput => 1);
my $bomb = '';
my $block = "\0" x 1048576;
$d->deflate($block, $bomb) for 1 .. 256;
$d->flush($bomb);
print length $bomb, "\n";
my @r = map { post(source => 'packed', body => $bomb,
    raw => "Content-Encoding: gzip\r\n") } 1 .. 5;
same("@r", '413 413 413 413 413')
EOT
[ $(($(rss) - before)) -lt "${SAN:+9}20000" ]
check '... costs no memory'

# Many at once that each hold a lot: some are told to come back.
try 'a hundred large bodies that never end' <<'EOT'
my @c;
for (1 .. 100) {
	my $c = dial();
	push @c, $c;
	put($c, signed(body => 'x' x 2097152, wire => 'x' x 1048576));
}
my $ok = post(id => 'meanwhile') == 202;
my $told = grep { IO::Select->new($_)->can_read(0) && answer($_) == 503 } @c;
print "told: $told\n";
$ok && $told > 0
EOT
[ "$(rss)" -lt 131072 ] || note "$(rss) KiB"
[ "$(rss)" -lt "${SAN:+9}131072" ]
check '... and a small one is served, within bounded memory'
try 'good as ever' <<'EOT'
post(body => 'x' x 1000) == 202
EOT

# Why a signature is bad takes long to find out, where the body is large.
stop "$rcv_pid"
receiver -m 2097152
try 'large bodies with bad signatures' <<'EOT'
my @r = map { post(body => "a\n" x 1000000, secret => 'wrong') } 1 .. 20;
same("@r", '401 ' x 19 . '401')
EOT
grep 'source=gh status=401' "$rcv_log" >"$work/refused"
like "$(head -n 1 "$work/refused")" 'match: another secret' \
    '... the log says the likely cause of the first'
is "$(wc -l <"$work/refused") $(grep -c 'reason="signature does not match"' \
    "$work/refused" | sed 's/^[1-9].*/some/')" '20 some' \
    '... and spends no more time on them than others can spare'
cause_told() {
	curl -s -o /dev/null -d x -H "X-Hub-Signature-256: sha256=$(
	    printf %064d 0)" "$rcv/webhooks/gh"
	tail -n 1 "$rcv_log" | grep -q 'match: another secret'
}
wait_for 60 cause_told '... but it says it again later'
done_testing
