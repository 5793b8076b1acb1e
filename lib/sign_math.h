/*
 * sign_math.h - what keys compute; for the files sign*.c.
 */
#ifndef SIGN_MATH_H
#define SIGN_MATH_H

#include <sys/types.h>

#include "scheme.h"

/* Bytes of what is signed. */
struct scheme_part {
	const void	*p;
	size_t		 len;
};

/* A key of these bytes for an HMAC; NULL without memory. */
struct evp_mac_ctx_st *scheme_hmac_new(enum scheme_alg, const void *, size_t);

/* Read the key of a pair: 0, or -1 with *why. */
int	 scheme_read_ed25519(struct sign_key *, const char *, int for_signing,
	    const char **why);
int	 scheme_read_p256(struct sign_key *, const char *, int for_signing,
	    const char **why);

/* Over the parts, one after the other: 0 or -1; the bytes of sig or -1. */
int	 scheme_hmac(struct evp_mac_ctx_st *, const struct scheme_part *,
	    size_t n, unsigned char *sig);
int	 scheme_hash(const struct scheme_part *, size_t n, unsigned char *sig);
ssize_t	 scheme_pair_sign(const struct sign_key *,
	    const struct scheme_part *, size_t n, unsigned char *sig);

/* Is this signature good?  1 yes, 0 no, -1. */
int	 scheme_pair_good(const struct sign_key *, const struct scheme_part *,
	    size_t n, const unsigned char *sig, size_t len);

#endif /* SIGN_MATH_H */
