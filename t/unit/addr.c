/*
 * addr: each block of the registries at its first and last address, and the
 * neighbours that must stay open; every spelling of a literal.
 */
#include <sys/socket.h>
#include <sys/un.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "addr.h"
#include "tap.h"

static struct addr_allow	 none;

static int
may(const struct addr_allow *a, const char *ip)
{
	struct sockaddr_in	 sin = { .sin_family = AF_INET };
	struct sockaddr_in6	 sin6 = { .sin6_family = AF_INET6 };

	if (inet_pton(AF_INET, ip, &sin.sin_addr) == 1)
		return addr_may(a, (struct sockaddr *)&sin);
	if (inet_pton(AF_INET6, ip, &sin6.sin6_addr) == 1)
		return addr_may(a, (struct sockaddr *)&sin6);
	abort();
}

static void
closed_addresses(void)
{
	static const char	*const ip[] = {
		"0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255",
		"100.64.0.0", "100.127.255.255", "127.0.0.0",
		"127.255.255.255", "169.254.0.0", "169.254.169.254",
		"169.254.255.255", "172.16.0.0", "172.31.255.255",
		"192.0.0.0", "192.0.0.255", "192.0.2.0", "192.0.2.255",
		"192.31.196.1", "192.52.193.1", "192.88.99.0",
		"192.88.99.255", "192.168.0.0", "192.168.255.255",
		"192.175.48.1", "198.18.0.0", "198.19.255.255",
		"198.51.100.0", "198.51.100.255", "203.0.113.0",
		"203.0.113.255", "224.0.0.0", "239.255.255.255",
		"240.0.0.0", "255.255.255.255",
		"::", "::1", "::2", "::ff", "::127.0.0.1", "::8.8.8.8",
		"::ffff:0.0.0.0", "::ffff:127.0.0.1", "::ffff:10.1.2.3",
		"::ffff:169.254.169.254", "::ffff:0:127.0.0.1",
		"::ffff:0:8.8.8.8", "64:ff9b::127.0.0.1",
		"64:ff9b::a9fe:a9fe", "64:ff9b::10.0.0.1",
		"64:ff9b:1::7f00:1", "64:ff9b:1::8.8.8.8",
		"64:ff9b:1:ffff:ffff:ffff:808:808", "64:ff9b:0:1::808:808",
		"100::", "100::1", "100:0:0:1::1", "2001::", "2001::1",
		"2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:2::1",
		"2001:3::1", "2001:10::1", "2001:1f:ffff::", "2001:20::1",
		"2001:30::1", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff",
		"2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
		"2002:7f00:1::", "2002:7f00:1::1", "2002:a00:1::1",
		"2002:a9fe:a9fe::1", "2002:e000:1::", "2620:4f:8000::1",
		"3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "4000::",
		"5f00::1", "8000::1", "fc00::", "fc00::1", "fd00:ec2::254",
		"fdff:ffff::1", "fe00::1", "fe80::", "fe80::1", "febf::1",
		"fec0::", "feff::1", "ff00::", "ff02::1", "ffff::1",
		"1fff::1", "1::1",
		"2606:4700::5efe:7f00:1", "2606:4700::200:5efe:a00:1",
		"2002:808:808::5efe:10.0.0.1",
	};
	size_t	 i;

	for (i = 0; i < sizeof(ip) / sizeof(ip[0]); i++)
		okf(!may(&none, ip[i]), "%s is closed", ip[i]);
}

static void
open_addresses(void)
{
	static const char	*const ip[] = {
		"1.0.0.0", "9.255.255.255", "11.0.0.0", "11.0.0.1",
		"100.63.255.255", "100.128.0.0", "100.128.0.1",
		"126.255.255.255", "128.0.0.0", "169.253.255.255",
		"169.253.0.1", "169.255.0.0", "172.15.255.255", "172.32.0.0",
		"172.32.0.1", "191.255.255.255", "192.0.1.0", "192.0.3.0",
		"192.31.195.255", "192.31.197.0", "192.52.192.255",
		"192.52.194.0", "192.88.98.255", "192.88.100.0",
		"192.167.255.255", "192.169.0.0", "192.175.47.255",
		"192.175.49.0", "198.17.255.255", "198.20.0.0",
		"198.51.99.255", "198.51.101.0", "203.0.112.255",
		"203.0.114.0", "223.255.255.255", "8.8.8.8",
		"::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2000::1",
		"2001:200::", "2001:db7:ffff::1", "2001:db9::1",
		"2001:4860:4860::8888", "2002:808:808::1", "2606:4700::1",
		"2620:4f:7fff::1", "2620:4f:8001::1", "3ffe::1",
		"3fff:1000::1", "2606:4700::5efe:8.8.8.8",
		"2606:4700::5efd:7f00:1",
	};
	size_t	 i;

	for (i = 0; i < sizeof(ip) / sizeof(ip[0]); i++)
		okf(may(&none, ip[i]), "%s is open", ip[i]);
}

static void
other_families(void)
{
	struct sockaddr_un	 un = { .sun_family = AF_UNIX };
	struct sockaddr		 zero = { 0 };

	ok(!addr_may(&none, (struct sockaddr *)&un) && !addr_may(&none, &zero),
	    "other families are closed");
	ok(!may(NULL, "127.0.0.1") && may(NULL, "8.8.8.8"),
	    "no list of allowed ranges is none");
}

static void
allowing(void)
{
	struct addr_allow	 a;
	const char		*bad = NULL;
	int			 rc;

	rc = addr_allow_parse(&a, "127.0.0.0/8, ::1 10.1.2.3/32,,fd00::/8 ",
	    &bad);
	ok(rc == 0 && a.n == 4, "commas and spaces stand between ranges");
	ok(may(&a, "127.0.0.1") && may(&a, "127.255.255.255") &&
	    may(&a, "10.1.2.3") && may(&a, "::1") && may(&a, "fd00:ec2::254"),
	    "what is in a range is open");
	ok(!may(&a, "10.1.2.4") && may(&a, "126.0.0.1") &&
	    !may(&a, "::2") && !may(&a, "fc00::1") && !may(&a, "0.0.0.0"),
	    "what is next to it is not");
	ok(may(&a, "::ffff:127.0.0.1") && may(&a, "::127.0.0.1") &&
	    may(&a, "64:ff9b::7f00:1") && may(&a, "64:ff9b:1::7f00:1") &&
	    may(&a, "2002:7f00:1::5"), "embedded forms are open with it");
	ok(!may(&a, "2001:0:7f00:1::1") &&
	    !may(&a, "2001:0:808:808:0:0:80ff:fffe"), "Teredo is not");

	rc = addr_allow_parse(&a, "::/0", &bad);
	ok(rc == 0 && may(&a, "fe80::1") && may(&a, "::1") &&
	    !may(&a, "127.0.0.1") && !may(&a, "::ffff:127.0.0.1"),
	    "all of IPv6 opens no IPv4");
	rc = addr_allow_parse(&a, "0.0.0.0/0", &bad);
	ok(rc == 0 && may(&a, "127.0.0.1") && may(&a, "255.255.255.255") &&
	    !may(&a, "::1") && !may(&a, "fe80::1"),
	    "all of IPv4 opens no IPv6");
	rc = addr_allow_parse(&a, "0.0.0.0/8", &bad);
	ok(rc == 0 && may(&a, "0.0.0.1") && !may(&a, "::1") && !may(&a, "::"),
	    "::1 is not 0.0.0.1 in another form");
	rc = addr_allow_parse(&a, "::ffff:10.0.0.0/104", &bad);
	ok(rc == 0 && may(&a, "10.9.9.9") && may(&a, "11.0.0.1") &&
	    !may(&a, "127.0.0.1"), "a mapped range is the IPv4 one");
}

static void
bad_ranges(void)
{
	static const char	*const item[] = {
		"10.0.0.0/33", "10.0.0.1/8", "10.0.0.0/", "10.0.0.0/-1",
		"10.0.0.0/8x", "10.0.0.0/0008", "10.0.0/8", "10", "localhost",
		"::1/129", "fe80::1/10", "[::1]", "::g", "0x7f.0.0.1",
		"127.0.0.1;::1", "/8", "10.0.0.0/8/8", "fe80::1%lo",
		"1111:2222:3333:4444:5555:6666:7777:8888:9999",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	};
	struct addr_allow	 a;
	const char		*bad;
	char			 text[128], many[65 * 9 + 1];
	size_t			 i;

	for (i = 0; i < sizeof(item) / sizeof(item[0]); i++) {
		snprintf(text, sizeof(text), "::1, %s", item[i]);
		bad = NULL;
		okf(addr_allow_parse(&a, text, &bad) == -1 &&
		    bad == text + 5 && a.n == 0,
		    "range '%s' is refused, and nothing allowed", item[i]);
	}
	for (*many = '\0', i = 0; i < 65; i++)
		strcat(many, "10.0.0.1 ");
	ok(addr_allow_parse(&a, many, &bad) == -1 && bad == many + 64 * 9,
	    "a 65th range is one too many");
	many[64 * 9] = '\0';
	ok(addr_allow_parse(&a, many, &bad) == 0 && a.n == 64, "64 are not");
	ok(addr_allow_parse(&a, NULL, &bad) == 0 && a.n == 0 &&
	    addr_allow_parse(&a, "", &bad) == 0 && a.n == 0, "none is none");
}

static void
hosts(void)
{
	static const char	*const closed[] = {
		"127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001",
		"0X7F000001", "0177.0.0.1", "0177.1", "017700000001", "0",
		"0.0.0.0", "0x", "00", "0x0", "127.0.0.1.", "127.1.",
		"127.0.0.1..", "localhost", "LOCALHOST", "localhost.",
		"a.localhost", "a.b.LocalHost.", "[::1]", "[::]",
		"[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::FFFF:7F00:1]",
		"[::7f00:1]", "[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::7f00:1]",
		"[2002:7f00:1::1]", "[fe80::1]", "[fe80::1%25lo]",
		"[fe80::1%lo]", "[fc00::1]", "[fd00:ec2::254]", "::1",
		"169.254.169.254", "0xa9fea9fe", "2852039166",
		"0xa9.0xfe.0xa9.0xfe", "0251.0376.0251.0376", "169.254.43518",
		"169.16689662", "10.0.0.1", "012.0.0.1", "172.16.0.1",
		"172.31.255.255", "192.168.0.1", "100.64.0.1", "192.0.0.1",
		"198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
		"4294967295", "0xffffffff", "037777777777",
		/* No literal, and no name that anybody may have. */
		"4294967296", "18446744073709551617", "256.0.0.1",
		"1.2.3.256", "1.2.65536", "1.16777216", "1.2.3.4.5", "1..2",
		".1", "08.0.0.1", "0x7g.1", "127.0.0.0x", "a.1", "264.8.8.8",
		"8.264.8.8", "8.8.8.99999999999", "a.0x7f",
		"8.8.8.8.8.8.8.8", "[127.0.0.1]", "[", "[]", "[::1",
		"::1]", "[::1]x", "[v1.a]", "[::g]", "a:b", "", ".", "...",
		"%31%32%37.0.0.1", "ex%61mple.com",
		"\xe2\x91\xa0\xe2\x91\xa1\xe2\x91\xa6.0.0.1",
		"127\343\200\2020.0.1", "m\xc3\xbcller.example", "\xff",
		"[1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb:cc]",
	};
	static const char	*const open[] = {
		"172.32.0.1", "100.128.0.1", "169.253.0.1", "11.0.0.1",
		"[2002:808:808::1]", "8.8.8.8", "8.8.8.8.", "134744072",
		"0x08080808", "010.010.010.010", "8.8.2056", "example.com",
		"example.com.", "localhost.example.com", "notlocalhost",
		"local-host", "127.0.0.1.example.com", "1.example", "0x.a",
		"xn--mller-kva.example", "a_b.example", "cafe", "0xg",
		"[2606:4700::1]", "[64:ff9b::808:808]",
	};
	char	 big[400];
	size_t	 i;

	for (i = 0; i < sizeof(closed) / sizeof(closed[0]); i++)
		okf(!addr_host_may(&none, closed[i]), "host '%s' is closed",
		    closed[i]);
	for (i = 0; i < sizeof(open) / sizeof(open[0]); i++)
		okf(addr_host_may(&none, open[i]), "host '%s' is open",
		    open[i]);
	memset(big, 'a', sizeof(big));
	big[sizeof(big) - 1] = '\0';
	ok(!addr_host_may(&none, big), "a host of 399 bytes is closed");
	memset(big, '1', sizeof(big) - 1);
	ok(!addr_host_may(&none, big), "... of digits too");
	memcpy(big, "0x", 2);
	big[255] = '\0';
	ok(!addr_host_may(&none, big), "... and of hex digits");
}

static void
allowed_hosts(void)
{
	struct addr_allow	 a;
	const char		*bad;

	if (addr_allow_parse(&a, "127.0.0.0/8", &bad) == -1)
		abort();
	ok(addr_host_may(&a, "127.1") && addr_host_may(&a, "localhost") &&
	    addr_host_may(&a, "a.localhost.") &&
	    addr_host_may(&a, "[::ffff:7f00:1]"),
	    "an allowed range opens its spellings, and localhost");
	ok(!addr_host_may(&a, "[::1]") && !addr_host_may(&a, "10.0.0.1"),
	    "... and nothing else");
	if (addr_allow_parse(&a, "::1", &bad) == -1)
		abort();
	ok(addr_host_may(&a, "localhost") && addr_host_may(&a, "[::1]") &&
	    !addr_host_may(&a, "127.0.0.1"), "so does ::1");
}

int
main(void)
{
	closed_addresses();
	open_addresses();
	other_families();
	allowing();
	bad_ranges();
	hosts();
	allowed_hosts();
	return done_testing();
}
