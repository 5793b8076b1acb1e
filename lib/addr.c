/*
 * addr.c - may we connect to this address?
 *
 * One form for all: 16 bytes, IPv4 as ::ffff:a.b.c.d.
 */
#include <sys/socket.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "addr.h"

#define MAX_HOST	255	/* bytes of a literal's spelling */
#define MAPPED_BITS	96	/* ::ffff:0:0/96 */

/* IANA IPv4 Special-Purpose Address Registry, multicast, reserved. */
static const struct {
	uint32_t	net;
	int		bits;
} closed4[] = {
	{ 0x00000000,  8 },	/* 0.0.0.0/8		this network */
	{ 0x0a000000,  8 },	/* 10.0.0.0/8		private */
	{ 0x64400000, 10 },	/* 100.64.0.0/10	carrier NAT */
	{ 0x7f000000,  8 },	/* 127.0.0.0/8		loopback */
	{ 0xa9fe0000, 16 },	/* 169.254.0.0/16	link-local, metadata */
	{ 0xac100000, 12 },	/* 172.16.0.0/12	private */
	{ 0xc0000000, 24 },	/* 192.0.0.0/24		IETF protocols */
	{ 0xc0000200, 24 },	/* 192.0.2.0/24		documentation */
	{ 0xc01fc400, 24 },	/* 192.31.196.0/24	AS112 */
	{ 0xc034c100, 24 },	/* 192.52.193.0/24	AMT */
	{ 0xc0586300, 24 },	/* 192.88.99.0/24	6to4 relays */
	{ 0xc0a80000, 16 },	/* 192.168.0.0/16	private */
	{ 0xc0af3000, 24 },	/* 192.175.48.0/24	AS112 */
	{ 0xc6120000, 15 },	/* 198.18.0.0/15	benchmarks */
	{ 0xc6336400, 24 },	/* 198.51.100.0/24	documentation */
	{ 0xcb007100, 24 },	/* 203.0.113.0/24	documentation */
	{ 0xe0000000,  4 },	/* 224.0.0.0/4		multicast */
	{ 0xf0000000,  4 },	/* 240.0.0.0/4		reserved, broadcast */
};

/* Global unicast; whatever is outside it is closed. */
static const struct addr_net unicast6 = { { 0x20 }, 3 };

/* :: and ::1 embed nothing, though ::/96 would say so. */
static const struct addr_net own6 = { { 0 }, 120 };

/* IANA IPv6 Special-Purpose Address Registry, what lies in 2000::/3. */
static const struct addr_net closed6[] = {
	{ { 0x20, 0x01 }, 23 },		/* IETF protocols, Teredo, ORCHID */
	{ { 0x20, 0x01, 0x0d, 0xb8 }, 32 },		/* documentation */
	{ { 0x26, 0x20, 0x00, 0x4f, 0x80 }, 48 },	/* AS112 */
	{ { 0x3f, 0xff }, 20 },				/* documentation */
};

/* Where IPv6 embeds IPv4. */
static const struct {
	struct addr_net	net;
	size_t		at;	/* first byte of the IPv4 address */
	int		open;	/* open where that address is */
} embed[] = {
	{ { { [10] = 0xff, [11] = 0xff }, MAPPED_BITS }, 12, 1 },
	{ { { 0 }, 96 }, 12, 0 },				/* compatible */
	{ { { 0x00, 0x64, 0xff, 0x9b }, 96 }, 12, 1 },		/* NAT64 */
	{ { { 0x00, 0x64, 0xff, 0x9b, 0x00, 0x01 }, 48 }, 12, 0 },
	{ { { 0x20, 0x02 }, 16 }, 2, 1 },			/* 6to4 */
};

#define NELEM(a)	(sizeof(a) / sizeof((a)[0]))

static int	 judge(const struct addr_allow *, const unsigned char *);
static int	 within(const unsigned char *, const struct addr_net *);
static int	 allowed(const struct addr_allow *, const unsigned char *);
static int	 public4(const unsigned char *);
static int	 public6(const unsigned char *);
static void	 mapped(unsigned char *, const unsigned char *);
static int	 parse_net(struct addr_net *, const char *, size_t);
static int	 literal6(const char *, unsigned char *);
static int	 literal4(const char *, unsigned char *);
static int	 number(const char **, uint64_t *);
static int	 looks_numeric(const char *);
static int	 is_localhost(const char *);

int
addr_allow_parse(struct addr_allow *a, const char *s, const char **bad)
{
	size_t	 len;

	memset(a, 0, sizeof(*a));
	if (s == NULL)
		return 0;
	for (s += strspn(s, ", "); *s != '\0'; s += len, s += strspn(s, ", ")) {
		len = strcspn(s, ", ");
		if (a->n == NELEM(a->net) ||
		    parse_net(&a->net[a->n], s, len) == -1) {
			a->n = 0;
			*bad = s;
			return -1;
		}
		a->n++;
	}
	return 0;
}

/* An address as 16 bytes; -1: of another family. */
static int
bytes_of(const struct sockaddr *sa, unsigned char *ip)
{
	struct sockaddr_in	 sin;
	struct sockaddr_in6	 sin6;

	switch (sa->sa_family) {
	case AF_INET:
		memcpy(&sin, sa, sizeof(sin));
		mapped(ip, (const unsigned char *)&sin.sin_addr);
		return 0;
	case AF_INET6:
		memcpy(&sin6, sa, sizeof(sin6));
		memcpy(ip, sin6.sin6_addr.s6_addr, 16);
		return 0;
	default:
		return -1;
	}
}

int
addr_may(const struct addr_allow *a, const struct sockaddr *sa)
{
	unsigned char	 ip[16];

	return bytes_of(sa, ip) == -1 ? 0 : judge(a, ip);
}

int
addr_listed(const struct addr_allow *a, const struct sockaddr *sa)
{
	unsigned char	 ip[16];

	return bytes_of(sa, ip) == -1 ? 0 : allowed(a, ip);
}

int
addr_host_may(const struct addr_allow *a, const char *host)
{
	static const unsigned char	 loop4[4] = { 127, 0, 0, 1 };
	static const unsigned char	 loop6[16] = { [15] = 1 };
	unsigned char			 ip[16];
	char				 name[MAX_HOST + 1];
	size_t				 i, len = strlen(host);

	if (len == 0 || len > MAX_HOST)
		return 0;
	if (strchr(host, ':') != NULL || *host == '[')
		return literal6(host, ip) == 0 && judge(a, ip);

	for (i = 0; i < len; i++)
		if ((unsigned char)host[i] >= 0x80 || host[i] == '%')
			return 0;
	while (len > 0 && host[len - 1] == '.')
		len--;
	memcpy(name, host, len);
	name[len] = '\0';
	if (len == 0)
		return 0;
	if (looks_numeric(name))
		return literal4(name, ip) == 0 && judge(a, ip);
	if (is_localhost(name)) {
		mapped(ip, loop4);
		return allowed(a, ip) || allowed(a, loop6);
	}
	return 1;
}

static int
judge(const struct addr_allow *a, const unsigned char *ip)
{
	static const unsigned char	 isatap[4] = { 0x00, 0x00, 0x5e, 0xfe };
	unsigned char			 v4[16];
	size_t				 i;

	if (allowed(a, ip))
		return 1;
	if (within(ip, &own6))
		return 0;
	if ((ip[8] & ~0x02) == isatap[0] &&
	    memcmp(ip + 9, isatap + 1, 3) == 0) {
		mapped(v4, ip + 12);
		if (!allowed(a, v4) && !public4(ip + 12))
			return 0;
	}
	for (i = 0; i < NELEM(embed); i++) {
		if (!within(ip, &embed[i].net))
			continue;
		mapped(v4, ip + embed[i].at);
		if (allowed(a, v4))
			return 1;
		return embed[i].open && public4(ip + embed[i].at);
	}
	return public6(ip);
}

static int
within(const unsigned char *ip, const struct addr_net *n)
{
	int	 bytes = n->bits / 8, rest = n->bits % 8;

	if (memcmp(ip, n->net, (size_t)bytes) != 0)
		return 0;
	return rest == 0 || ((ip[bytes] ^ n->net[bytes]) >> (8 - rest)) == 0;
}

static int
allowed(const struct addr_allow *a, const unsigned char *ip)
{
	size_t	 i;
	int	 is4 = within(ip, &embed[0].net);

	for (i = 0; a != NULL && i < a->n; i++)
		if (within(ip, &a->net[i]) &&
		    (!is4 || a->net[i].bits >= MAPPED_BITS))
			return 1;
	return 0;
}

static int
public4(const unsigned char *v4)
{
	uint32_t	 ip;
	size_t		 i;

	ip = (uint32_t)v4[0] << 24 | (uint32_t)v4[1] << 16 |
	    (uint32_t)v4[2] << 8 | v4[3];
	for (i = 0; i < NELEM(closed4); i++)
		if ((ip ^ closed4[i].net) >> (32 - closed4[i].bits) == 0)
			return 0;
	return 1;
}

static int
public6(const unsigned char *ip)
{
	size_t	 i;

	if (!within(ip, &unicast6))
		return 0;
	for (i = 0; i < NELEM(closed6); i++)
		if (within(ip, &closed6[i]))
			return 0;
	return 1;
}

/* The 16-byte form of 4 bytes in network order. */
static void
mapped(unsigned char *ip, const unsigned char *v4)
{
	memcpy(ip, embed[0].net.net, 12);
	memcpy(ip + 12, v4, 4);
}

static int
parse_net(struct addr_net *n, const char *s, size_t len)
{
	struct addr_net	 cut;
	unsigned char	 v4[4];
	char		 text[INET6_ADDRSTRLEN + 4], *slash, *p;
	int		 bits = 128, base = 0, i;

	if (len == 0 || len >= sizeof(text))
		return -1;
	memcpy(text, s, len);
	text[len] = '\0';
	if ((slash = strchr(text, '/')) != NULL) {
		*slash++ = '\0';
		if (strlen(slash) < 1 || strlen(slash) > 3 ||
		    slash[strspn(slash, "0123456789")] != '\0')
			return -1;
		for (bits = 0, p = slash; *p != '\0'; p++)
			bits = bits * 10 + (*p - '0');
	}
	if (inet_pton(AF_INET, text, v4) == 1) {
		mapped(n->net, v4);
		base = MAPPED_BITS;
	} else if (inet_pton(AF_INET6, text, n->net) != 1)
		return -1;
	n->bits = slash == NULL ? 128 : base + bits;
	if (n->bits > 128)
		return -1;

	cut = *n;
	for (i = n->bits; i < 128; i++)
		cut.net[i / 8] &= (unsigned char)~(0x80 >> i % 8);
	return memcmp(cut.net, n->net, sizeof(cut.net)) == 0 ? 0 : -1;
}

/* An IPv6 literal with or without brackets; a zone is left aside. */
static int
literal6(const char *s, unsigned char *ip)
{
	char	 text[INET6_ADDRSTRLEN];
	size_t	 len = strlen(s);

	if (*s == '[') {
		if (s[len - 1] != ']')
			return -1;
		s++;
		len -= 2;
	}
	if (memchr(s, '%', len) != NULL)
		len = strcspn(s, "%");
	if (len >= sizeof(text))
		return -1;
	memcpy(text, s, len);
	text[len] = '\0';
	return inet_pton(AF_INET6, text, ip) == 1 ? 0 : -1;
}

/*
 * An IPv4 literal as inet_aton(3) reads it: one to four numbers, decimal,
 * octal or hexadecimal, the last filling the bytes that are left.
 */
static int
literal4(const char *s, unsigned char *ip)
{
	uint64_t	 part[4], v = 0;
	unsigned char	 v4[4];
	int		 i, n = 0;

	for (;;) {
		if (n == 4 || number(&s, &part[n++]) == -1)
			return -1;
		if (*s == '\0')
			break;
		if (*s++ != '.')
			return -1;
	}
	for (i = 0; i < n - 1; i++) {
		if (part[i] > 255)
			return -1;
		v = v << 8 | part[i];
	}
	if (part[n - 1] >= UINT64_C(1) << 8 * (5 - n))
		return -1;
	v = v << 8 * (5 - n) | part[n - 1];
	for (i = 0; i < 4; i++)
		v4[i] = (unsigned char)(v >> (24 - 8 * i));
	mapped(ip, v4);
	return 0;
}

/* Digits of one part, after its 0x or 0; at most 2^32. */
static int
number(const char **s, uint64_t *n)
{
	static const char	 digit[] = "0123456789abcdef";
	const char		*p, *d;
	uint64_t		 v = 0, base = 10;
	int			 any = 0;

	p = *s;
	if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X')) {
		base = 16;
		p += 2;
	} else if (p[0] == '0')
		base = 8;
	for (; *p != '\0' && *p != '.'; p++, any = 1) {
		d = strchr(digit, *p >= 'A' && *p <= 'F' ? *p + 32 : *p);
		if (d == NULL || (uint64_t)(d - digit) >= base)
			return -1;
		v = v * base + (uint64_t)(d - digit);
		if (v > UINT64_C(1) << 32)
			v = UINT64_C(1) << 32;
	}
	*s = p;
	*n = v;
	return any || base == 16 ? 0 : -1;
}

/* Is the last label a number?  Then no resolver may take it for a name. */
static int
looks_numeric(const char *s)
{
	const char	*last = strrchr(s, '.');

	last = last == NULL ? s : last + 1;
	if (last[0] == '0' && (last[1] == 'x' || last[1] == 'X'))
		return last[2 + strspn(last + 2, "0123456789abcdefABCDEF")] ==
		    '\0';
	return last[strspn(last, "0123456789")] == '\0';
}

static int
is_localhost(const char *s)
{
	static const char	 name[] = "localhost";
	size_t			 n = sizeof(name) - 1, len = strlen(s);

	return len >= n && strcasecmp(s + len - n, name) == 0 &&
	    (len == n || s[len - n - 1] == '.');
}
