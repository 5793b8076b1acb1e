#!/bin/sh
# hook-receive: what is good is kept once and then acknowledged; what is not,
# is not, and nobody learns more than that.
. "${0%/*}/lib.sh"
need_db
. "$top/t/receive.sh"
source_of gh github topsecret
source_of gh2 github gh2secret
source_of xero xero xsecret
source_of sw standard whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=
receiver

try 'a good message is 202' <<'EOT'
post(id => 'first', body => '{"n":1}') == 202 && $text eq "stored\n"
EOT
is "$(sql "select source, message_id, event_type, convert_from(body, 'UTF8'),
    state from webhook_inbox")" 'gh|first|push|{"n":1}|pending' \
    '... and stored'
is "$(sql "select array_to_string(headers[1:6], ',') from webhook_inbox")" \
    'Host,x,X-GitHub-Delivery,first,X-GitHub-Event,push' \
    '... with its headers as they came'
try '... a repeat is 200' <<'EOT'
post(id => 'first', body => '{"n":1}') == 200
EOT
is "$(stored)" 1 '... and stored once'

# Who may not know, and who is not, see the same.
try 'an unknown source and a bad signature look alike' <<'EOT'
my @seen;
for my $r (signed(secret => 'wrong'), signed(source => 'nobody'),
    signed(source => 'nobody', secret => 'wrong'),
    signed(raw => "X-Hub-Signature-256: sha256=00\r\n"),
    "POST /webhooks/gh HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n") {
	my $c = dial();
	put($c, $r);
	my $status = answer($c);
	$head =~ s/^Date: .*\r\n//m;
	push @seen, "$status\n$head\n$text";
}
same(join('|', @seen), join('|', ($seen[0]) x 5)) && $seen[0] =~ /^401/
EOT
try '... to GET, too' <<'EOT'
get('/webhooks/gh') == 401 && get('/webhooks/nobody') == 401
EOT
try 'other paths and methods' <<'EOT'
my @r = map { get($_) } '/', '/webhooks', '/webhooks/', '/webhooks/gh/x',
    '/healthz', '/readyz', '/healthz?x';
my $c = dial();
for my $m ('PUT', 'DELETE', 'HEAD', 'OPTIONS', 'FROB') {
	put($c, "$m /webhooks/gh HTTP/1.1\r\nHost: x\r\n\r\n");
	push @r, answer($c, 10, $m);
	push @r, 'allow' if $head !~ /^Allow: GET, POST/m;
}
same("@r", '404 404 404 404 200 200 200 405 405 405 405 405')
EOT
is "$(stored)" 1 '... and none of this is stored'

try 'twenty at once, fifty times: each is 2xx' <<'EOT'
my $bad = 0;
for my $round (1 .. 50) {
	my @c = map { dial() } 1 .. 20;
	my $r = signed(id => "same-$round", body => "{\"n\":$round}");
	put($_, substr($r, 0, -1)) for @c;
	put($_, substr($r, -1)) for @c;
	my %n;
	$n{answer($_)}++ for @c;
	$bad++ if ($n{202} // 0) != 1 || ($n{200} // 0) != 19;
}
same($bad, 0)
EOT
is "$(stored "message_id ~ '^same-'")" 50 '... and each is one row'

# Ids that are not as they should be
try 'absurd ids are taken, or refused once' <<'EOT'
my @r;
for my $id ('x' x 10000, "q'\"\\;--", "\xff\xfe\x80", 'a b', "caf\xc3\xa9",
    'sha256:' . '0' x 64) {
	push @r, post(id => $id, body => "{\"i\":\"" . length($id) . '"}')
	    for 1, 2;
}
same("@r", '202 200 ' x 5 . '202 200')
EOT
is "$(stored "message_id ~ '^sha256:[0-9a-f]{64}$'")" 4 \
    '... the long and the odd by their digest'
try 'no id: the body is one' <<'EOT'
my $sign = sub { my $r = signed(body => shift);
    $r =~ s/X-GitHub-Delivery: .*\r\n//; $r };
my @r;
for my $body ('{"x":1}', '{"x":1}', '{"x":2}') {
	my $c = dial();
	put($c, $sign->($body));
	push @r, answer($c);
}
same("@r", '202 200 202')
EOT
is "$(stored "message_id = 'sha256:' ||
    encode(sha256(body), 'hex') and body = '{\"x\":1}'")" 1 \
    '... by its SHA-256'

# Xero wants 200 or 401, and nothing else
try 'Xero gets 200 and 401 without a body' <<'EOT'
my @r;
for my $secret ('xsecret', 'wrong', 'xsecret') {
	my $c = dial();
	put($c, "POST /webhooks/xero HTTP/1.1\r\nHost: x\r\n"
	    . 'x-xero-signature: ' . encode_base64(hmac_sha256('{}', $secret),
	    '') . "\r\nContent-Length: 2\r\n\r\n{}");
	push @r, answer($c) . length $text;
}
same("@r", '2000 4010 2000')
EOT

# A header that is the secret itself
source_of lab gitlab_token labsecret
try 'GitLab shows its secret' <<'EOT'
my ($status, $end) = (0, time + 10);
while (time < $end && $status != 202) {
	my $c = dial();
	put($c, "POST /webhooks/lab HTTP/1.1\r\nHost: x\r\n"
	    . "X-Gitlab-Token: labsecret\r\nCookie: c=labsecret\r\n"
	    . "Authorization: Basic labsecret\r\nX-Kept: yes\r\n"
	    . "Content-Length: 2\r\n\r\n{}");
	$status = answer($c);
}
$status == 202
EOT
is "$(stored "source = 'lab' and 'X-Kept' = any (headers)
    and headers::text !~ 'labsecret'")" 1 '... and it is not kept'

# Sources come, change and go while it runs
source_of late github latesecret
try 'a new source works at once' <<'EOT'
my ($status, $end) = (0, time + 10);
while (time < $end && $status != 202) {
	$status = post(source => 'late', secret => 'latesecret');
}
$status == 202
EOT
printf newsecret >"$work/new"
hook-source rotate -g 1h -k "$work/new" late >/dev/null
try '... and after a rotation with either secret' <<'EOT'
my ($status, $end) = (0, time + 10);
while (time < $end && $status != 202) {
	$status = post(source => 'late', secret => 'newsecret');
}
same("$status " . post(source => 'late', secret => 'latesecret'), '202 202')
EOT
hook-source rotate -g 0 -k "$work/new" late >/dev/null
try '... and when the grace is over with the new one' <<'EOT'
my ($status, $end) = (0, time + 10);
while (time < $end && $status != 401) {
	$status = post(source => 'late', secret => 'latesecret');
}
same("$status " . post(source => 'late', secret => 'newsecret'), '401 202')
EOT
hook-source rm late >/dev/null
try 'a source that was removed is unknown' <<'EOT'
my ($status, $end) = (0, time + 10);
while (time < $end && $status != 401) {
	$status = post(source => 'late', secret => 'newsecret');
}
$status == 401
EOT
sql "insert into webhook_sources (name, scheme) values ('odd', 'of tomorrow')"
wait_for 10 'grep -q "can.t verify source=odd" "$rcv_log"' \
    'a source that it can not serve is named in the log'
try '... and told to try again' <<'EOT'
post(source => 'odd') == 503 && $head =~ /^Retry-After: \d+\r?$/m
EOT

# Counters
wait_for 10 '[ "$(sql "select sum(value) from webhook_counters
    where name = '\''received'\'' and label = '\''gh'\''
    and outcome = '\''stored'\''")" = "$(stored "source = '\''gh'\''")" ]' \
    'what is stored is counted'
is "$(sql "select count(distinct label) from webhook_counters
    where name = 'received' and label not in (select name
	from webhook_sources) and label not in ('', 'late')")" 0 \
    '... and names that nobody knows are one'
outcomes() {
	sql "select string_agg(distinct outcome, ' ' order by outcome)
	    from webhook_counters where name = 'received'"
}
wait_for 10 '[ "$(outcomes)" = \
    "duplicate refused stored unauthorized unavailable" ]' \
    '... by what came of it'

# Keep-alive and pipelining
try 'requests sent ahead are answered in order' <<'EOT'
my $c = dial();
put($c, join '', map { signed(id => "ahead-$_") } 1 .. 40);
my @r = map { answer($c) } 1 .. 40;
same("@r", join ' ', (202) x 40)
EOT
try 'Connection: close closes, and so does HTTP/1.0' <<'EOT'
my $c = dial();
put($c, signed(raw => "Connection: close\r\n"));
my $r = signed();
$r =~ s{HTTP/1.1}{HTTP/1.0};
my $d = dial();
put($d, $r);
answer($c) == 202 && ended($c) && answer($d) == 202 && ended($d)
EOT

try 'signed with the secret of another source' <<'EOT'
post(secret => 'gh2secret', body => '{"n":9}') == 401 && $text !~ /gh2|good/
EOT

# Nothing tells a secret
stop "$rcv_pid"
is "$rc" 0 'it stops'
is "$(cat "$work"/*.log "$work"/*.out | grep -c -e topsecret -e labsecret \
    -e gh2secret -e xsecret -e latesecret -e newsecret -e whsec_)" 0 \
    'no secret is in its log'
like "$(cat "$rcv_log")" 'refused source=gh status=401 reason="[^"]*" from=127' \
    '... but why it refused is'
like "$(cat "$rcv_log")" 'reason="[^"]*: good with the secret of gh2" from' \
    '... and what is likely wrong'
is "$(grep -c 'source=nobody' "$rcv_log")" 0 \
    '... without names that anybody may make up'
done_testing
