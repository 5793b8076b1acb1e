#!/bin/sh
# hook-receive: handshakes are answered after their check, as the sender
# wants it, and not stored.
. "${0%/*}/lib.sh"
need_db
. "$top/t/receive.sh"
printf 'verify me' >"$work/word"
source_of meta meta_facebook_whatsapp appsecret -c "$work/word"
source_of wordless meta_facebook_whatsapp appsecret
source_of dropbox dropbox appsecret
source_of slack slack slacksecret
source_of zoom zoom zoom-secret-token
source_of twitch twitch twitchsecret
source_of gh github topsecret
# RFC 8032, test 1
openssl genpkey -algorithm ed25519 -out "$work/ed.pem" 2>/dev/null
openssl pkey -in "$work/ed.pem" -pubout -outform DER | tail -c 32 |
    od -An -tx1 | tr -d ' \n' >"$work/ed.pub"
hook-source add -s discord -k "$work/ed.pub" discord >/dev/null || exit
source_of notion notion notyet
mkdir "$work/tokens"
export tokens="$work/tokens"
receiver -k "$tokens"

try 'Meta: the challenge comes back to who knows the word' <<'EOT'
my $q = 'hub.mode=subscribe&hub.challenge=1158201444';
get("/webhooks/meta?$q&hub.verify_token=verify%20me") == 200 &&
    same($text, '1158201444') && $head =~ /^Content-Type: text\/plain\r?$/m &&
    $head =~ /^X-Content-Type-Options: nosniff/m &&
    get("/webhooks/meta?hub.verify_token=verify+me&$q") == 200
EOT
try '... and to nobody else' <<'EOT'
my $q = 'hub.mode=subscribe&hub.challenge=1';
my @r = map { get($_) } "/webhooks/meta?$q",
    "/webhooks/meta?$q&hub.verify_token=", "/webhooks/meta",
    "/webhooks/meta?$q&hub.verify_token=verify%20mee",
    "/webhooks/meta?$q&hub.verify_token=appsecret",
    "/webhooks/meta?$q&hub.verify_token=no&hub.verify_token=verify+me",
    "/webhooks/meta?hub.challenge=1&hub.verify_token=verify+me",
    "/webhooks/meta?hub.mode=subscribe&hub.verify_token=verify+me",
    "/webhooks/meta?$q&hub.verify_token=verify%2me",
    "/webhooks/meta?$q&hub.verify_token=verify%20me%00",
    "/webhooks/wordless?$q&hub.verify_token=", "/webhooks/nobody?$q";
same("@r", join ' ', (401) x @r)
EOT
try '... and never as anything that a browser runs' <<'EOT'
get('/webhooks/meta?hub.mode=subscribe&hub.verify_token=verify+me&'
    . 'hub.challenge=%3Cscript%3E') == 200 && $text eq '<script>' &&
    $head =~ /^Content-Type: text\/plain\r?$/m && $head !~ /html/
EOT
try 'Dropbox: the challenge comes back' <<'EOT'
get('/webhooks/dropbox?challenge=abc%2F1') == 200 && same($text, 'abc/1') &&
    $head =~ /^X-Content-Type-Options: nosniff/m &&
    get('/webhooks/dropbox') == 401 && get('/webhooks/gh?challenge=1') == 401
    && get('/webhooks/dropbox?challenge=' . 'x' x 20000) == 401
EOT
try '... and equal notices are one, or two seconds later two' <<'EOT'
my $b = '{"list_folder":{"accounts":["dbid:AAH4f99T0taONIb"]}}';
my $send = sub {
	my ($secret) = @_;
	my $c = dial();
	put($c, "POST /webhooks/dropbox HTTP/1.1\r\nHost: x\r\n"
	    . 'X-Dropbox-Signature: ' . hmac_sha256_hex($b, $secret)
	    . "\r\nContent-Length: " . length($b) . "\r\n\r\n$b");
	answer($c);
};
my @r = map { $send->($_) } 'appsecret', 'wrong', 'appsecret';
my $end = time + 20;
do { sleep 0.2; push @r, $send->('appsecret') }
    while $r[-1] == 200 && time < $end;
same("@r", '202 401 200 ' . '200 ' x (@r - 4) . '202')
EOT
try 'Slack: the challenge, signed' <<'EOT'
my $send = sub {
	my ($body, $secret) = @_;
	my $t = int time;
	my $c = dial();
	put($c, "POST /webhooks/slack HTTP/1.1\r\nHost: x\r\n"
	    . "X-Slack-Request-Timestamp: $t\r\nX-Slack-Signature: v0="
	    . hmac_sha256_hex("v0:$t:$body", $secret)
	    . "\r\nContent-Length: " . length($body) . "\r\n\r\n$body");
	answer($c);
};
my $b = '{"token":"t","challenge":"3eZbrw","type":"url_verification"}';
$send->($b, 'slacksecret') == 200 && same($text, '3eZbrw') &&
    $head =~ /^Content-Type: text\/plain/m && $send->($b, 'wrong') == 401 &&
    $send->('{"type":"event_callback","event_id":"Ev1"}', 'slacksecret')
	== 202
EOT
try 'Zoom: the token, signed with the secret' <<'EOT'
my $send = sub {
	my ($body, $secret) = @_;
	my $t = int time;
	my $c = dial();
	put($c, "POST /webhooks/zoom HTTP/1.1\r\nHost: x\r\n"
	    . "x-zm-request-timestamp: $t\r\nx-zm-signature: v0="
	    . hmac_sha256_hex("v0:$t:$body", $secret)
	    . "\r\nContent-Length: " . length($body) . "\r\n\r\n$body");
	answer($c);
};
my $plain = 'qgg8vlvZRS6UYooatFL8Aw';
my $b = sub { '{"event":"endpoint.url_validation","payload":{"plainToken":"'
    . shift() . '"},"event_ts":1654503849680}' };
$send->($b->($plain), 'zoom-secret-token') == 200 &&
    same($text, "{\"plainToken\":\"$plain\",\"encryptedToken\":\"d9e0d764a784"
    . '94688ba3f2d5c0ed4ca311394b4834d959759213424d2df961e3"}') &&
    $head =~ m{^Content-Type: application/json}m &&
    $send->($b->($plain), 'wrong') == 401 &&
    # What would be a signature of a message of theirs is not made.
    $send->($b->('v0:1700000000:{}'), 'zoom-secret-token') == 202 &&
    $text !~ /encrypted/
EOT
try 'Twitch: the challenge, signed' <<'EOT'
use POSIX qw(strftime);
my $send = sub {
	my ($type, $body, $secret, $id) = @_;
	my $t = strftime('%Y-%m-%dT%H:%M:%S.123456789Z', gmtime);
	my $c = dial();
	put($c, "POST /webhooks/twitch HTTP/1.1\r\nHost: x\r\n"
	    . "Twitch-Eventsub-Message-Id: $id\r\n"
	    . "Twitch-Eventsub-Message-Timestamp: $t\r\n"
	    . "Twitch-Eventsub-Message-Type: $type\r\n"
	    . 'Twitch-Eventsub-Message-Signature: sha256='
	    . hmac_sha256_hex("$id$t$body", $secret)
	    . "\r\nContent-Length: " . length($body) . "\r\n\r\n$body");
	answer($c);
};
my $b = '{"challenge":"pogchamp-kappa","subscription":{"id":"f1c2"}}';
my $v = 'webhook_callback_verification';
$send->($v, $b, 'twitchsecret', 'm1') == 200 &&
    same($text, 'pogchamp-kappa') &&
    $head =~ /^Content-Length: 14/m && $send->($v, $b, 'wrong', 'm2') == 401 &&
    $send->('notification', $b, 'twitchsecret', 'm3') == 202
EOT
# t/vectors/notion.json
n=secret_tMrlL1qK5vuQAh1b6cZGhFChZTSYJlce98V0pYn7yBl
n_sig=461e8cbcba8a75c3edd866f0e71280f5a85cbf21eff040ebd10fe266df38a735
notion() {	# BODY [curl option ...]
	body=$1
	shift
	curl -s -o /dev/null -w '%{http_code}' --data-binary "$body" "$@" \
	    "$rcv/webhooks/${source-notion}"
}
for body in '{"verification_token":""}' '{"verification_token":"a b"}' \
    "{\"verification_token\":\"$(printf %0257d 0)\"}" '{}' '' \
    '{"verification_token":"a","verification_token":"b"}' \
    '{"verification_token":null}' '{"verification_token":"a'; do
	notion "$body"
	echo
done >"$work/statuses"
is "$(sort -u "$work/statuses") $(ls -A "$tokens")" '401 ' \
    'Notion: a token that can be none is refused'
is "$(source=gh notion "{\"verification_token\":\"$n\"}") \
$(source=nobody notion "{\"verification_token\":\"$n\"}") \
$(ls -A "$tokens")" '401 401 ' '... and so is one at another source'
is "$(notion "{\"verification_token\":\"$n\"}") \
$(ls -lA "$tokens" | awk 'NR > 1 { print $1, $NF }') \
$(cat "$tokens/notion")" "200 -rw------- notion $n" \
    '... one without a signature is for the operator alone'
is "$(notion '{"verification_token":"other"}') $(cat "$tokens/notion")" \
    "503 $n" '... and no more than one a second'
is "$(notion '{"type":"page.created"}' -H "X-Notion-Signature: sha256=$(
    printf '{"type":"page.created"}' | openssl dgst -sha256 -mac HMAC \
    -macopt "key:$n" | sed 's/.* //')")" 401 '... and signs nothing yet'
hook-source rotate -g 0 -k "$tokens/notion" notion >/dev/null || exit
notion_says() {
	notion "{\"verification_token\":\"$n\"}" \
	    -H "X-Notion-Signature: sha256=$n_sig"
}
wait_for 20 '[ "$(notion_says)" = 200 ]' \
    '... until the operator takes it; signed, it is a handshake still'
now=$(date +%s)
discord() {	# BODY: the status, and the answer
	printf '%s%s' "$now" "$1" >"$work/signed"
	sig=$(openssl pkeyutl -sign -rawin -inkey "$work/ed.pem" \
	    -in "$work/signed" | od -An -tx1 | tr -d ' \n')
	curl -s -w ' %{http_code}' -H "X-Signature-Ed25519: $sig" \
	    -H "X-Signature-Timestamp: $now" --data-binary "$1" \
	    "$rcv/webhooks/discord"
}
is "$(discord '{"type":1,"id":"1","token":"x"}')" '{"type":1} 200' \
    'Discord: a PING of interactions is answered in kind'
is "$(discord '{"version":1,"application_id":"1","type":0}')" ' 204' \
    '... one of events with 204'
like "$(discord '{"version":1,"application_id":"1","type":1,"event":{}}')" \
    ' 202$' '... and an event is kept'
is "$(curl -s -o /dev/null -w '%{http_code}' \
    -H "X-Signature-Ed25519: $(printf %0128d 0)" \
    -H "X-Signature-Timestamp: $now" -d '{"type":1}' \
    "$rcv/webhooks/discord")" 401 '... a bad signature is 401'
is "$(sql "select string_agg(source, ' ' order by source)
    from webhook_inbox")" 'discord dropbox dropbox slack twitch zoom' \
    'handshakes are not stored, messages are'
wait_for 10 '[ "$(sql "select sum(value) from webhook_counters
    where name = '\''received'\'' and outcome = '\''handshake'\''")" = 11 ]' \
    '... but counted'
stop "$rcv_pid"
is "$(grep -c -e 'verify me' -e 'verify%20me' -e 'verify+me' "$rcv_log")" 0 \
    'the word is not in the log'
done_testing
