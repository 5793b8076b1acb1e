/*
 * addr.h - may we connect to this address?  Pure.
 *
 * Forbidden: everything that is not plain public unicast.  That is every
 * block of the IANA special-purpose registries (RFC 6890 and successors,
 * whether they call it reachable or not), multicast and unassigned space,
 * and every IPv6 form that embeds a forbidden IPv4 address: mapped, 6to4,
 * 64:ff9b::/96, ISATAP; compatible, Teredo and 64:ff9b:1::/48 always.
 * What a network's own NAT64 prefix embeds can't be known here.
 *
 * An operator re-opens chosen ranges with HOOK_ALLOW_NET, CIDRs with commas
 * or spaces between; a range re-opens the embedded forms of its addresses
 * too (Teredo excepted).  Ranges of IPv6 open no IPv4.
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

/*
 * Read HOOK_ALLOW_NET's form; NULL or "" is none; an address alone is a
 * range of one.  -1, with *bad pointing at the first bad item in the input:
 * no CIDR, bits set behind the prefix, or one too many.  Nothing is allowed
 * then.
 */
int	 addr_allow_parse(struct addr_allow *, const char *,
	    const char **bad);

/* 1 may, 0 may not.  Any family but IPv4 and IPv6 may not. */
int	 addr_may(const struct addr_allow *, const struct sockaddr *);

/* Is it in one of the ranges?  No other rule is asked. */
int	 addr_listed(const struct addr_allow *, const struct sockaddr *);

/*
 * addr_may() for the host of a URL as typed, brackets included: every
 * spelling of a literal that a resolver would take (127.1, 0x7f000001,
 * 0177.0.0.1, 2130706433, [::ffff:127.0.0.1], [fe80::1%25lo]), with or
 * without a last dot, and "localhost" with its subdomains.  What looks like
 * a literal but is none (256.0.0.1, 1.2.3.4.5) is 0, and so is a host with
 * bytes outside ASCII or a '%': what it maps to depends on the resolver.
 * Other names are 1: they are judged at connect.
 */
int	 addr_host_may(const struct addr_allow *, const char *host);

#endif /* ADDR_H */
