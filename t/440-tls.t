#!/bin/sh
# TLS is verified, each failure has a reason of its own that a person can
# read, and no byte of the request is sent before; an authority of one's own
# (HOOK_CA_FILE), a proxy of one's own (HOOK_PROXY), and nobody else's.
. "${0%/*}/lib.sh"
. "${0%/*}/wire.sh"
need_db
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY all_proxy ALL_PROXY
unset no_proxy NO_PROXY

# Two authorities, one between, and what they have signed.
pki=$work/pki
mkdir "$pki"
: >"$pki/index"
cat >"$pki/conf" <<EOT
[req]
distinguished_name = dn
[dn]
[ca]
default_ca = own
[own]
database = $pki/index
new_certs_dir = $pki
rand_serial = yes
default_md = sha256
policy = any
unique_subject = no
[any]
commonName = supplied
[authority]
basicConstraints = critical,CA:TRUE
[names]
subjectAltName = DNS:localhost,IP:127.0.0.1
[dns]
subjectAltName = DNS:localhost
[other]
subjectAltName = DNS:other.example,IP:192.0.2.1
EOT
key() {		# NAME [genpkey options]
	name=$1
	shift
	[ $# -gt 0 ] || set -- -algorithm EC -pkeyopt ec_paramgen_curve:P-256
	openssl genpkey "$@" -out "$pki/$name.key" 2>/dev/null
	openssl req -new -config "$pki/conf" -key "$pki/$name.key" \
	    -subj "/CN=$name" -out "$pki/$name.csr"
}
signed() {	# NAME BY EXTENSIONS [ca options]
	name=$1 by=$2 section=$3
	shift 3
	[ -e "$pki/$name.key" ] || key "$name"
	openssl ca -batch -notext -config "$pki/conf" -days 30 \
	    -cert "$pki/$by.pem" -keyfile "$pki/$by.key" \
	    -extensions "$section" -in "$pki/$name.csr" \
	    -out "$pki/$name.pem" "$@" 2>"$pki/$name.log" ||
	    { cat "$pki/$name.log" >&2; exit 1; }
}
for ca in root system; do
	key $ca
	openssl req -x509 -config "$pki/conf" -extensions authority -days 30 \
	    -key "$pki/$ca.key" -subj "/CN=test $ca" -out "$pki/$ca.pem"
done
signed between root authority
signed good root names
signed public system names
signed expired root names -startdate 20200101000000Z -enddate 20200201000000Z
signed early root names -startdate 20700101000000Z -enddate 20720101000000Z
signed name root other
signed address root dns
signed halfway between names
key weak -algorithm RSA -pkeyopt rsa_keygen_bits:1024
signed weak root names
signed sha1 root names -md sha1
key alone
openssl req -x509 -config "$pki/conf" -extensions names -days 30 \
    -key "$pki/alone.key" -subj /CN=localhost -out "$pki/alone.pem"
cp "$pki/halfway.key" "$pki/chain.key"
cat "$pki/halfway.pem" "$pki/between.pem" >"$pki/chain.pem"

# A server for each; all that is shown of it is a port.
for name in good public expired early name address halfway alone chain; do
	sink -c "$pki/$name.pem" -k "$pki/$name.key" </dev/null
	eval "dir_$name=$sink_dir"
	echo "$name https://localhost:$sink_port/hook"
done >"$work/servers"
sed -i 's,^address https://localhost,address https://127.0.0.1,' \
    "$work/servers"
s_server() {	# NAME CERTIFICATE [options]
	name=$1 cert=$2
	shift 2
	start openssl s_server -www -accept 127.0.0.1:0 -cert "$pki/$cert.pem" \
	    -key "$pki/$cert.key" -cipher ALL:@SECLEVEL=0 "$@"
	s_out="$s_out $out"
	wait_for 5 'grep -q "^ACCEPT" "$out"'
	echo "$name https://localhost:$(sed -n 's/^ACCEPT.*://p' "$out")/hook" \
	    >>"$work/servers"
}
s_out=
s_server old good -tls1
s_server weak weak
s_server sha1 sha1
s_server client good -Verify 1 -verify_return_error
listener 'sysread($c, my $b, 65536); open(my $o, ">>", "'"$work"'/plain.in");
	print $o $b; close $o;
	syswrite($c, "HTTP/1.1 400 Bad Request\r\n\r\n");'
echo "plain https://localhost:$port/hook" >>"$work/servers"
listener '$c->close'
echo "closed https://localhost:$port/hook" >>"$work/servers"
while read -r name url; do
	sub "$name" "$url" "retry_ms='{300000,900000}'"
	event "$name" '{"payload":"confidential"}'
done <"$work/servers"

HOOK_CA_FILE=$pki/root.pem deliver
exits 0 'HOOK_CA_FILE names an authority'
while IFS='|' read -r name why says; do
	like "$(went "$name")" "^pending 1 - tls: .*$why" "$says"
	went "$name" >>"$work/reasons"
done <<'EOT'
expired|certificate has expired$|expired
early|certificate is not yet valid$|not yet valid
alone|self.signed certificate$|signed by itself
name|subject name matches target host name 'localhost'$|another name
address|subject name matches target host name '127.0.0.1'$|an IP address
halfway|unable to get local issuer certificate$|none in between
old|alert protocol version$|TLS 1.0 only
weak|key too weak$|a 1024-bit key
sha1|digest algorithm too weak$|a SHA-1 signature
plain|wrong version number$|HTTP where TLS should be
closed|connection closed in the handshake$|closed in the handshake
EOT
is "$(sort "$work/reasons" | uniq -d)" '' '... each with its own reason'
is "$(went public)" 'pending 1 - tls: SSL certificate problem: '\
'unable to get local issuer certificate' 'an unknown authority'
like "$(went client)" 'pending 1 - .* certificate required' \
    'a client certificate is wanted'
is "$(went good)" 'delivered 1 200 -' "the own authority's is delivered to"
is "$(went chain)" 'delivered 1 200 -' '... also with one between'
for name in public expired early name address halfway alone; do
	eval "dir=\$dir_$name"
	cat "$dir/log"
done >"$work/heard"
# shellcheck disable=SC2086 # several words
grep -l -a -e confidential -e webhook-id -e POST "$work/plain.in" $s_out \
    >>"$work/heard"
is "$(cat "$work/heard")" '' 'where TLS fails, nothing is sent'
[ -s "$work/plain.in" ]
check '... but the handshake'
is "$(sql "select count(*), count(*) filter (where d.next_attempt_at - a.at
	between '239 s' and '370 s')
    from webhook_deliveries d join webhook_attempts a on a.delivery_id = d.id
    where state = 'pending'")" '13|13' '... and it is tried again as usual'

# Without the file; and with it, besides the system's.
event good
deliver
is "$(went good | tail -n 1)" 'pending 1 - tls: SSL certificate problem: '\
'unable to get local issuer certificate' 'nobody else trusts it'
for name in good public; do
	event $name
done
hook-fanout
user=
[ "$(id -u)" = 0 ] || user=-r
# shellcheck disable=SC2016,SC2086 # dollars are for the inner shell
HOOK_CA_FILE=$pki/root.pem run unshare $user -m sh -c '
	mount --bind "$1" "$(curl-config --ca)" && exec hook-deliver' sh \
    "$pki/system.pem"
exits 0 "where the system's authorities are others"
is "$(went good | tail -n 1) $(went public | tail -n 1)" \
    'delivered 1 200 - delivered 1 200 -' \
    '... HOOK_CA_FILE is trusted besides them'
for file in "$pki/good.key" "$work/nothing" /dev/null; do
	HOOK_CA_FILE=$file run hook-deliver
	is "$rc $(cat "$work/err")" '64 hook-deliver: HOOK_CA_FILE: '\
'not a file of certificates' "no authority: ${file##*/}"
done

# A proxy: names are its business, and so is the tunnel.
listener '
	my ($q, $up, $n) = ("");
	return if fork;
	exit if !sysread($c, $q, 65536);
	open(my $o, ">>", "'"$work"'/proxy.in"); print $o "$q\n"; close $o;
	if ($q !~ m,^CONNECT \S+:(\d+) ,) {
		$n = $q =~ /(\r\n\r\n.*)/s ? length($1) - 4 : 0;
		$n = 0 if $q !~ /^content-length: (\d+)/im;
		while ($n < $1 && sysread($c, $q, 65536)) { $n += length $q }
		syswrite($c, "HTTP/1.1 204 Proxied\r\n\r\n");
		exit;
	}
	if ($1 == 1) {
		syswrite($c, "HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n");
		exit;
	}
	$up = IO::Socket::INET->new("127.0.0.1:$1") or exit;
	syswrite($c, "HTTP/1.1 200 Go\r\n\r\n");
	while (1) {
		my ($r, $b) = ("");
		vec($r, fileno($c), 1) = vec($r, fileno($up), 1) = 1;
		select($r, undef, undef, 10) > 0 or exit;
		for ([$c, $up], [$up, $c]) {
			next if !vec($r, fileno($_->[0]), 1);
			sysread($_->[0], $b, 65536) or exit;
			syswrite($_->[1], $b);
		}
	}'
proxy=http://user:pr0xypass@127.0.0.1:$port
good=$(sed -n 's/^good //p' "$work/servers")
sub by-http http://nosuch.example/hook "headers='{Authorization,own}'"
sub by-tunnel "$good" "headers='{Authorization,own}'"
sub by-no https://nosuch.example:1/ "retry_ms='{900000}'"
sub by-literal http://10.0.0.1/
for name in by-http by-tunnel by-no by-literal; do
	event $name
done
hook-fanout
no_proxy='*' NO_PROXY='*' HOOK_CA_FILE=$pki/root.pem HOOK_PROXY=$proxy \
    run hook-deliver
exits 0 'HOOK_PROXY, whatever no_proxy says'
is "$(went by-http)" 'delivered 1 204 -' '... is asked for http, by name'
like "$(cat "$work/proxy.in")" '^POST http://nosuch.example/hook HTTP/1.1' \
    '... and gets the whole URL'
is "$(went by-tunnel)" 'delivered 1 200 -' '... and makes a tunnel for https'
sed -n '/^CONNECT/,/^.$/p' "$work/proxy.in" >"$work/connect"
at=${good#*://}
grep -q "^CONNECT ${at%/hook} HTTP/1.1" "$work/connect"
check '... to the host and port'
is "$(grep -i -e webhook -e own -e hook "$work/connect" | wc -l)" 0 \
    '... and sees nothing of the request'
like "$(went by-no)" '^pending 1 - connect: .*403' \
    'a tunnel refused is a connection that failed'
is "$(went by-literal)" \
    'failed 1 - url: blocked destination, not a public address' \
    'a literal address is refused all the same'
is "$(sql 'select * from webhook_attempts, webhook_deliveries' |
    grep -c pr0xypass)" 0 'its password is in no reason'

# Nobody else's proxy.
sink </dev/null
sub direct "$sink/"
sink </dev/null
event direct
event good
hook-fanout
http_proxy=$sink https_proxy=$sink HTTP_PROXY=$sink HTTPS_PROXY=$sink \
    all_proxy=$sink ALL_PROXY=$sink HOOK_CA_FILE=$pki/root.pem \
    run hook-deliver
exits 0 'proxies of the environment'
is "$(cat "$sink_dir/log")" '' '... see nothing'
is "$(went direct) $(went good | tail -n 1)" \
    'delivered 1 200 - delivered 1 200 -' '... and are not needed'
for bad in proxy:3128x socks5://127.0.0.1:1080 http:// http://a/b ftp://a; do
	HOOK_PROXY=$bad run hook-deliver
	is "$rc $(cat "$work/err")" '64 hook-deliver: HOOK_PROXY: '\
'not of the form http://host:port' "no proxy: $bad"
done
HOOK_PROXY=http://127.0.0.1:1 run hook-deliver -n
exits 0 'a proxy that is down is no reason not to start'
done_testing
