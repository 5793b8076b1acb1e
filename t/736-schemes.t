#!/bin/sh
# hook-receive: every case of t/vectors over HTTP, at the case's own time;
# and signatures that are none, in every header of every scheme.
. "${0%/*}/lib.sh"
need_db
. "$top/t/receive.sh"

# The receiver's clock is the number in a file.
echo 1700000000 >"$work/clock"
cat >"$work/clock.c" <<'EOT'
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
time_t
time(time_t *p)
{
	FILE	*f = fopen(getenv("TEST_CLOCK"), "r");
	long	 n = 0;

	if (f != NULL) {
		if (fscanf(f, "%ld", &n) != 1)
			n = 0;
		fclose(f);
	}
	if (p != NULL)
		*p = n;
	return n;
}
EOT
cc -shared -fPIC -o "$work/clock.so" "$work/clock.c" || exit

cat >"$work/cases.pl" <<'EOT'
use JSON::PP;
our (@case, %ours);
sub bytes { my $s = shift; utf8::encode($s) if defined $s; $s }
for my $f (sort glob "$ENV{TOP}/t/vectors/[a-z]*.json") {
	open my $h, '<', $f or die;
	my $v = decode_json(join '', <$h>);
	next if $v->{scheme} eq 'hmac_raw';
	for my $c (@{$v->{cases}}) {
		my %h = %{$c->{headers}};
		push @case, { scheme => $v->{scheme}, name => $c->{name},
		    method => $c->{method} // 'POST', valid => $c->{valid}, policy => $c->{policy},
		    now => $c->{now} // 1700000000, url => $c->{url},
		    tolerance => $c->{tolerance_s} // -1,
		    secret => [map { bytes($_) } ref $c->{secret} ?
			@{$c->{secret}} : $c->{secret} // ''],
		    body => defined $c->{body_base64} ?
			decode_base64($c->{body_base64}) :
			bytes($c->{body_utf8} // ''),
		    header => [map { my $k = $_; map { [bytes($k), bytes($_)] }
			ref $h{$k} ? @{$h{$k}} : $h{$k} } sort keys %h] };
	}
}
sub wire {
	my ($i, @header) = @_;
	my $c = $case[$i];
	my ($query) = ($c->{url} // '') =~ /(\?[^#]*)/;
	$query //= '';
	@header = @{$c->{header}} if !@header;
	return "$c->{method} /webhooks/s$i$query HTTP/1.1\r\nHost: example.test\r\n"
	    . join('', map { "$_->[0]: $_->[1]\r\n" }
	    grep { lc $_->[0] ne 'host' && lc $_->[0] ne 'content-length' }
	    @header)
	    . 'Content-Length: ' . length($c->{body}) . "\r\n\r\n$c->{body}";
}
sub clock { open my $f, '>', $ENV{TEST_CLOCK}; print $f "$_[0]\n" }
1;
EOT
export TOP="$top" TEST_CLOCK="$work/clock" WORK="$work"

# A source for each case, by SQL: hook-source refuses some of these secrets.
cat >"$work/try.pl" <<'EOT'
require "$ENV{WORK}/cases.pl";
our @case;
sub q { my $s = shift; $s =~ s/'/''/g; "'$s'" }
for my $i (0 .. $#case) {
	my $c = $case[$i];
	my ($url) = ($c->{url} // '') =~ /^([^?#]*)/;
	print "insert into webhook_sources (id, name, scheme, tolerance_s,"
	    . " public_url) values ($i, 's$i', ", main::q($c->{scheme}),
	    ", $c->{tolerance}, ", $url ? main::q($url) : 'null', ");\n";
	print "insert into webhook_source_secrets (source_id, secret)"
	    . " values ($i, ", main::q($_), ");\n" for @{$c->{secret}};
}
1
EOT
perl -w "$top/t/receive.pl" "$work/try.pl" >"$work/sources.sql" || exit
psql -X -q -v ON_ERROR_STOP=1 -1 -f "$work/sources.sql" || exit
ASAN_OPTIONS="$ASAN_OPTIONS:verify_asan_link_order=0"
# shellcheck disable=SC2209 # the words of env
start env LD_PRELOAD="$work/clock.so" hook-receive -l 127.0.0.1:0
rcv_pid=$pid rcv_log=$log
wait_for 10 'grep -q address= "$rcv_log"'
RCV_PORT=$(sed -n 's/.*address=.*:\([0-9]*\)$/\1/p' "$rcv_log" | head -n 1)
export RCV_PORT
rcv=http://127.0.0.1:$RCV_PORT
ready

try 'every case has the verdict that it should' <<'EOT'
require "$ENV{WORK}/cases.pl";
our @case;
my ($bad, $n) = (0, 0);
my $c = dial();
for my $i (0 .. $#case) {
	my $case = $case[$i];
	clock($case->{now});
	put($c, wire($i));
	my $status = answer($c);
	$c = dial() if $status <= 0 || $head =~ /^Connection: close/m;
	my $yes = $status =~ /^20[024]$/;
	# A secret that can't be one is told to try again.
	my $no = $status == 401 || $status == 400 || $status == 503;
	$n++;
	next if $yes && ($case->{valid} || $case->{policy} eq 'either');
	next if $no && (!$case->{valid} || $case->{policy} eq 'either');
	$bad++;
	print "$case->{scheme} $case->{name}: $status\n";
}
print "$n cases\n";
$bad == 0 && $n > 403 && grep { $_->{method} eq 'GET' } @case
EOT
note "$(tail -n 1 "$work/try.out")"

try 'signatures that are none are 401 or 400, and the next is good' <<'EOT'
require "$ENV{WORK}/cases.pl";
our @case;
my @junk = ('', 'x', 'a' x 63, 'a' x 64, 'a' x 65, 'z' x 64, "\xc3\xa9" x 32,
    'a' x 60000, '=', ',', 't=', 'v1,', 'v0=', 'sha256=', 'sha256=' . 'a' x 63,
    'abc', 'YWJj=', 'YW=Jj', 'YWJjZA', join('', map { chr } 0x80 .. 0xff),
    '%s%n', '-1', '99999999999999999999', "' or 1=1--");
my (%done, $n, $bad);
my $c = dial();
for my $i (0 .. $#case) {
	my $case = $case[$i];
	next if !$case->{valid} || $done{$case->{scheme}};
	clock($case->{now});
	put($c, wire($i));
	next if answer($c) !~ /^20/;
	$done{$case->{scheme}} = 1;
	my @h = @{$case->{header}};
	my $refused = 0;
	for my $at (0 .. $#h) {
		for my $junk (@junk, undef, 'twice') {
			my @try = map { [@$_] } @h;
			if (!defined $junk) {
				splice @try, $at, 1;
			} elsif ($junk eq 'twice') {
				push @try, [$h[$at][0], 'other'];
			} else {
				$try[$at][1] = $junk;
			}
			push @try, ['X-None', 1];
			put($c, wire($i, @try));
			my $s = answer($c);
			$n++;
			$refused++ if $s == 401;
			if ($s !~ /^(20[024]|400|401)$/) {
				$bad++;
				print "$case->{scheme} $h[$at][0]: $s\n";
				$c = dial();
			}
		}
	}
	put($c, wire($i));
	my $s = answer($c);
	if ($s !~ /^20/ || (@h && $refused < 20)) {
		$bad++;
		print "$case->{scheme}: then $s, refused $refused\n";
	}
}
print "$n requests, ", scalar(keys %done), " schemes\n";
!$bad && keys %done >= 40
EOT
note "$(tail -n 1 "$work/try.out")"

# A window has two ends, both of them inside.
try 'the window' <<'EOT'
require "$ENV{WORK}/cases.pl";
my ($got, $want) = ('', '');
my $i = (grep { $main::case[$_]{scheme} eq 'stripe' && $main::case[$_]{valid}
    && $main::case[$_]{tolerance} == 300 } 0 .. $#main::case)[0];
my $key = $main::case[$i]{secret}[0];
my $now = 1700000000;
clock($now);
my $c = dial();
for my $t ($now - 301, $now - 300, $now + 300, $now + 301, 0, -1,
    "${now}abc", "+$now", " $now", "$now.0", '0x6553f100', '2147483648',
    '4611686018427387904', '9223372036854775808', '18446744073709551616',
    '1' x 30, $now . '000', '') {
	$main::case[$i]{body} = "{\"t\":\"$t\"}";
	put($c, wire($i, ['Stripe-Signature', "t=$t,v1=" . hmac_sha256_hex(
	    "$t.$main::case[$i]{body}", $key)]));
	$got .= "$t " . answer($c) . "\n";
	$want .= "$t " . ($t =~ /^1[67]00000[23]00$|^1699999700$/ ? 202 : 401)
	    . "\n";
}
same($got, $want)
EOT
sql 'select secret from webhook_source_secrets where length(secret) > 11' |
    grep -E '.{12}' >"$work/secrets"
stop "$rcv_pid"
is "$rc" 0 'it lived through all of that'
is "$(grep -cF -f "$work/secrets" "$rcv_log")" 0 'no secret is in its log'
is "$(grep -c . "$rcv_log" | awk '{ print ($1 < 400) }')" 1 \
    '... and refusals do not fill it'
done_testing
