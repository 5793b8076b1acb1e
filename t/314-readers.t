#!/bin/sh
# hook-verify: signatures as senders, proxies and libraries write them, good
# and less so: kinds of public bug reports, each with its verdict here.
. "${0%/*}/lib.sh"
unset HOOK_SECRET
cd "$work" || exit

# For each case "VERDICT, WANTED, NAME" on a line.
cat >cases.pl <<'EOT'
use strict;
use warnings;
use Digest::SHA qw(hmac_sha256_hex hmac_sha256 hmac_sha1 sha256_hex);
use MIME::Base64;

my $t = 1700000000;
my $b = '{"a":1}';
my $zero = '0' x 64;

sub put {
	my ($file, $bytes) = @_;
	open my $f, '>:raw', $file or die;
	print $f $bytes;
	close $f;
}

sub verdict {	# a body that is good comes out as it was
	my ($name, $want, $scheme, $secret, $header, $body, @option) = @_;
	put('key', $secret);
	put('body', $body);
	my @h = map { ('-H', $_) } ref $header ? @$header : $header;
	my $pid = fork;
	if ($pid == 0) {
		open STDIN, '<', 'body';
		open STDOUT, '>', 'out';
		open STDERR, '>', 'err';
		exec 'hook-verify', '-s', $scheme, '-k', 'key', '-N', $t,
		    @h, @option;
	}
	waitpid $pid, 0;
	my $got = $? & 127 ? 'signal' : $? >> 8;
	$got .= ' changed' if $got eq '0' && -s 'out' != length $body;
	$got .= ' not one line of why' if $got eq '1' &&
	    (-s 'out' || `wc -l <err` != 1);
	print "$got\t$want\t$name\n";
}

my $v = hmac_sha256_hex("$t.$b", 's3');
sub stripe {
	my ($name, $want, $header, $body) = @_;
	verdict("stripe: $name", $want, 'stripe', 's3',
	    "Stripe-Signature: $header", $body // $b);
}
sub over { hmac_sha256_hex("$t.$_[0]", 's3') }
stripe('the time behind the signature', 0, "v1=$v,t=$t");
stripe('a comma at the end', 0, "t=$t,v1=$v,");
stripe('a comma before it', 0, ",t=$t,v1=$v");
stripe('v0 of test mode beside v1', 0, "t=$t,v0=$zero,v1=$v");
stripe('v0 alone', 1, "t=$t,v0=$v");
stripe('the twenty-first of many', 0, "t=$t," . "v1=$zero," x 20 . "v1=$v");
stripe('an empty one before the good', 0, "t=$t,v1=,v1=$v");
stripe('a tag in upper case', 1, "t=$t,V1=$v");
stripe('semicolons', 1, "t=$t;v1=$v");
stripe('quotes around all', 1, "\"t=$t,v1=$v\"");
stripe('padding behind hex', 1, "t=$t,v1=$v=");
stripe('a digit too many', 1, "t=$t,v1=${v}0");
stripe('a digit too few', 1, "t=$t,v1=" . substr($v, 1));
stripe('64 characters of two bytes', 1, "t=$t,v1=" . "\xc3\xa9" x 32);
stripe('digits of another script', 1, "t=\xd9\xa1,v1=$v");
stripe('100,000 bytes of signatures', 1, "t=$t," . "v1=$zero," x 1500);
stripe('a NUL in the body', 0, "t=$t,v1=" . over("a\0b"), "a\0b");
stripe('a body that is no UTF-8', 0, "t=$t,v1=" . over("\xff\xfe"),
    "\xff\xfe");
stripe('an empty body', 0, "t=$t,v1=" . over(''), '');
verdict('stripe: two halves in two headers', 1, 'stripe', 's3',
    ["Stripe-Signature: t=$t", "Stripe-Signature: v1=$v"], $b);
verdict('a secret beyond ASCII', 0, 'stripe', "p\xc3\xa4ss",
    "stripe-signature:t=$t,v1=" . hmac_sha256_hex("$t.$b", "p\xc3\xa4ss"),
    $b);
verdict('a secret longer than a block', 0, 'stripe', 'x' x 200,
    "Stripe-Signature: t=$t,v1=" . hmac_sha256_hex("$t.$b", 'x' x 200), $b);

my $raw = 'k?>' x 8;	# + and / in its base64
my $key = 'whsec_' . encode_base64($raw, '');
my $s;
for my $n (1 .. 200) {	# one with +, / and padding
	$b = "{\"n\":$n}";
	$s = encode_base64(hmac_sha256("m1.$t.$b", $raw), '');
	last if $s =~ m{[+]} && $s =~ m{/};
}
sub standard {
	my ($name, $want, $signature, $id, $secret) = @_;
	verdict("standard: $name", $want, 'standard', $secret // $key,
	    ['webhook-id: ' . ($id // 'm1'), "webhook-timestamp: $t",
	    "webhook-signature: $signature"], $b);
}
sub of { 'v1,' . encode_base64(hmac_sha256("$_[0].$t.$b", $raw), '') }
my ($bare, $safe) = ($s, $s);
$bare =~ s/=+$//;
$safe =~ tr!+/!-_!;
standard('one', 0, "v1,$s");
standard('a bad one first', 0, "v1,AAAA v1,$s");
standard('a version to come', 0, "v2,zz v1,$s");
standard('more spaces', 0, "v1,AA==  v1,$s ");
standard('commas between', 1, "v1,$s,v1,$s");
standard('= for the comma', 1, "v1=$s");
standard('no padding', 1, "v1,$bare");
standard('the alphabet of URLs', 1, "v1,$safe");
standard('no version', 1, $s);
standard('an id with a dot', 0, of('m.1'), 'm.1');
standard('an id of UTF-8', 0, of("\xc3\xa9"), "\xc3\xa9");
standard('an empty id', 1, of(''), '');
standard('a secret without its prefix', 0, "v1,$s", 'm1', substr $key, 6);
standard('a secret with CR LF behind', 0, "v1,$s", 'm1', "$key\r\n");
standard('a secret in the alphabet of URLs', 65, "v1,$s", 'm1',
    $key =~ tr!+/!-_!r);
standard('WHSEC_', 65, "v1,$s", 'm1', 'WHSEC_' . substr $key, 6);
my @both = ("svix-id: m1", "svix-timestamp: $t", "svix-signature: v1,$s",
    "webhook-id: m1", "webhook-timestamp: $t");
verdict('standard: both names', 0, 'standard', $key,
    [@both, "webhook-signature: v1,$s"], $b);
verdict('standard: both names, the newer one bad', 1, 'standard', $key,
    [@both, 'webhook-signature: v1,AAAA'], $b);

$v = hmac_sha256_hex($b, 's3');
verdict('github: the prefix in upper case', 1, 'github', 's3',
    "X-Hub-Signature-256: SHA256=$v", $b);
verdict('github: two that a proxy joined', 1, 'github', 's3',
    "X-Hub-Signature-256: sha256=$v, sha256=$v", $b);

my $u = 'https://ex.test/h';
sub twilio {
	my ($name, $want, $signs, $body, $url) = @_;
	verdict("twilio: $name", $want, 'twilio', 'tok', 'X-Twilio-Signature: '
	    . encode_base64(hmac_sha1($signs, 'tok'), ''), $body, '-u', $url);
}
twilio('a list of values', 0, "${u}a[]1a[]2", 'a%5B%5D=2&a%5B%5D=1', $u);
twilio('a pair that comes twice', 0, "${u}a1a2", 'a=2&a=1&a=1', $u);
twilio('upper case before lower', 0, "${u}B1a2", 'a=2&B=1', $u);
twilio('UTF-8', 0, "${u}Body\xe2\x9c\x93", 'Body=%E2%9C%93', $u);
twilio('a port in ours', 0, "${u}a1", 'a=1', 'https://ex.test:8443/h');
twilio('a port in theirs', 0, 'https://ex.test:443/ha1', 'a=1', $u);
twilio('a user in the URL', 0, 'https://u:p@ex.test/ha1', 'a=1',
    'https://u:p@ex.test/h');
twilio('IPv6', 0, 'https://[::1]/ha1', 'a=1', 'https://[::1]:99/h');
twilio('a query in another order', 1, "$u?a=1&b=2", '', "$u?b=2&a=1");
my $hash = '?bodySHA256=' . sha256_hex($b);
twilio('JSON, its hash in the URL', 0, $u . $hash, $b, $u . $hash);
twilio('... and another body', 1, $u . $hash, "$b ", $u . $hash);
for (['\'', '%27'], ['@', '%40'], [':', '%3A'], ['(', '%28']) {
	twilio("$_->[1] in a query, signed as $_->[0]", 0, "$u?a=$_->[0]", '',
	    "$u?a=$_->[1]");
	twilio("... not the other way", 1, "$u?a=$_->[1]", '',
	    "$u?a=$_->[0]");
}
twilio('%26 in a query is no &', 1, "$u?a=&b", '', "$u?a=%26b");
twilio('%2F in a path is no /', 1, "$u/a/b", '', "$u/a%2Fb");

verdict('paddle: the second of two', 0, 'paddle', 's3',
    "Paddle-Signature: ts=$t;h1=$zero;h1=" . hmac_sha256_hex("$t:$b", 's3'),
    $b);
verdict('pagerduty: the second of two', 0, 'pagerduty', 's3',
    "X-PagerDuty-Signature: v1=$zero,v1=$v", $b);
my $m = sub { "{\"signature\":{\"timestamp\":$_[0],\"token\":\"t\","
    . '"signature":"' . hmac_sha256_hex("${t}t", 's3') . "\"}$_[1]}" };
verdict('mailgun: the time a number', 0, 'mailgun', 's3', [], $m->($t, ''));
verdict('mailgun: the time a text', 0, 'mailgun', 's3', [],
    $m->("\"$t\"", ''));
verdict('mailgun: a second signature', 1, 'mailgun', 's3', [],
    $m->($t, ',"signature":{}'));
verdict("gitlab: $_->[0]", $_->[1], 'gitlab', 'tok', "X-Gitlab-Token: $_->[0]",
    $b) for ['tok', 0], ['to', 1], ['tokk', 1], ['TOK', 1];

$v = hmac_sha256_hex("$t.$b", 's3');
verdict("-t $_->[0]", $_->[1], 'stripe', 's3', "Stripe-Signature: t=$t,v1=$v",
    $b, '-t', $_->[0]) for ['1e3', 64], ['+5', 64], ['-1', 64], ['', 64],
    ['500ms', 0], ['0', 0], ['off', 0], ['OFF', 64];
verdict('-u without a URL', 1, 'twilio', 'tok', 'X-Twilio-Signature: AA==',
    'a=1', '-u', '');
verdict('-H without a name', 64, 'stripe', 's3', ': x', $b);
verdict('-H with a folded line', 64, 'stripe', 's3',
    "Stripe-Signature: t=$t,\n v1=$v", $b);
EOT
perl cases.pl >cases 2>perl.err
check 'the cases were tried' || note "$(cat perl.err)"
tab=$(printf '\t')
while IFS="$tab" read -r got want name; do
	is "$got" "$want" "$name"
done <cases
[ "$(wc -l <cases)" -gt 80 ]
check '... and they are more than 80'
done_testing
