# receive.pl FILE: the words for talking to hook-receive on port RCV_PORT,
# and the Perl in FILE, whose last value says whether all went well.
#
#	signed(body => ..., id => ..., ...)	a request, as bytes; of the
#			source "gh" (scheme github, secret "topsecret") unless
#			source, secret say otherwise; raw: more header lines
#	dial()		a connection
#	put($c, $bytes)	send
#	answer($c, $wait, $method)	the next answer's status; 0 closed, -1
#			not within 10 s, or $wait; $head and $text are the
#			answer, to a $method
#	ended($c)	was it closed, without another byte?
#	post(...)	all of this with a connection of its own: the status
#	curl(path)	the status of a GET
use strict;
use IO::Socket::INET;
use IO::Select;
use Digest::SHA qw(hmac_sha256_hex hmac_sha1_hex hmac_sha256 sha256_hex);
use MIME::Base64;
use Time::HiRes qw(time sleep);

our $port = $ENV{RCV_PORT};
our ($head, $text, %rest);
my $n = 0;
$SIG{PIPE} = 'IGNORE';
$| = 1;

sub dial {
	my $c = IO::Socket::INET->new(PeerAddr => '127.0.0.1',
	    PeerPort => $port, Timeout => 10) or die "no connection: $!";
	binmode $c;
	$rest{$c} = '';
	return $c;
}

sub put {
	my ($c, $bytes) = @_;
	my $at = 0;
	while ($at < length $bytes) {
		my $w = syswrite $c, $bytes, length($bytes) - $at, $at;
		return 0 if !defined $w;
		$at += $w;
	}
	return 1;
}

sub more {
	my ($c, $wait) = @_;
	IO::Select->new($c)->can_read($wait) or return -1;
	my $r = sysread $c, $rest{$c}, 65536, length $rest{$c};
	return defined $r && $r > 0 ? 1 : 0;
}

sub answer {
	my ($c, $wait, $method) = @_;
	my $end = time + ($wait // 10);
	while ($rest{$c} !~ /\r\n\r\n/) {
		return -1 if time >= $end;
		my $m = more($c, $end - time);
		return $m if $m <= 0;
	}
	($head, $rest{$c}) = split /\r\n\r\n/, $rest{$c}, 2;
	my ($status) = $head =~ m{^HTTP/1\.1 (\d+)};
	my ($len) = $head =~ /^content-length: *(\d+)/mi;
	$len = 0 if !defined $len || ($method // '') eq 'HEAD';
	while (length $rest{$c} < $len) {
		return -1 if time >= $end || more($c, $end - time) != 1;
	}
	$text = substr $rest{$c}, 0, $len, '';
	return $status;
}

sub ended {
	my ($c, $wait) = @_;
	return length $rest{$c} == 0 && more($c, $wait // 10) == 0;
}

sub signed {
	my %o = (body => '{}', source => 'gh', secret => 'topsecret',
	    raw => '', @_);
	$o{id} //= "id-$$-" . ++$n;
	$o{length} //= 'Content-Length: ' . length($o{body}) . "\r\n";
	return "POST /webhooks/$o{source} HTTP/1.1\r\nHost: x\r\n"
	    . "X-GitHub-Delivery: $o{id}\r\nX-GitHub-Event: push\r\n"
	    . 'X-Hub-Signature-256: sha256='
	    . hmac_sha256_hex($o{signs} // $o{body}, $o{secret})
	    . "\r\n$o{raw}$o{length}\r\n" . ($o{wire} // $o{body});
}

sub chunked {
	my ($body, $size) = @_;
	my $out = '';
	for (my $i = 0; $i < length $body; $i += $size) {
		my $part = substr $body, $i, $size;
		$out .= sprintf("%x\r\n", length $part) . $part . "\r\n";
	}
	return $out . "0\r\n\r\n";
}
our $chunked = "Transfer-Encoding: chunked\r\n";

sub post {
	my $c = dial();
	put($c, signed(@_));
	return answer($c);
}

sub get {
	my ($path) = @_;
	my $c = dial();
	put($c, "GET $path HTTP/1.1\r\nHost: x\r\n\r\n");
	return answer($c);
}

# What was compared, where it was not equal.
sub same {
	my ($got, $want) = @_;
	return 1 if $got eq $want;
	print "got:  $got\nwant: $want\n";
	return 0;
}

my $file = shift;
my $good = do $file;
die $@ if $@;
exit !$good;
