/*
 * addr.h - may we connect to this address?  Pure.
 *
 * Forbidden: everything that is not globally reachable unicast: the IANA
 * IPv4 and IPv6 special-purpose registries (RFC 6890 and successors), and
 * every IPv6 form that embeds a forbidden IPv4 address (mapped, compatible,
 * 64:ff9b::/96, 64:ff9b:1::/48, 6to4, Teredo).  An operator re-opens chosen
 * ranges with HOOK_ALLOW_NET, CIDRs with commas or spaces between; a range
 * re-opens an embedded form of its addresses too.
 */
#ifndef ADDR_H
#define ADDR_H

#include <stddef.h>

struct sockaddr;

struct addr_net {
	unsigned char	net[16];	/* IPv4 as ::ffff:a.b.c.d */
	int		bits;		/* 0..128 */
};

struct addr_allow {
	struct addr_net	net[64];
	size_t		n;
};

/* Read HOOK_ALLOW_NET's form; NULL or "" is none.  -1 with the bad item. */
int	 addr_allow_parse(struct addr_allow *, const char *,
	    const char **bad);

/* 1 may, 0 may not.  Any family but IPv4 and IPv6 may not. */
int	 addr_may(const struct addr_allow *, const struct sockaddr *);

/*
 * The same for the host of a URL as typed, brackets included: every
 * spelling of a literal that a resolver would take (127.1, 0x7f000001,
 * 0177.0.0.1, 2130706433, [::ffff:127.0.0.1], [fe80::1%25lo]), and
 * "localhost" with its subdomains.  Names are 1: they are judged at connect.
 */
int	 addr_host_may(const struct addr_allow *, const char *host);

#endif /* ADDR_H */
