/*
 * hint.h - the likely cause of a refused signature, for the person who reads
 * the log.  A guess; it never tells what would have been right, nor a secret,
 * a URL or what a header holds.
 */
#ifndef HINT_H
#define HINT_H

#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "sign.h"

/* A secret that is not accepted here, such as another source's. */
struct hint_other {
	const char			*name;
	const struct sign_scheme	*scheme;
	struct sign_key			*key;
};

/* What sign_check() was asked; the last four may be NULL and 0. */
struct hint {
	const struct sign_scheme	*scheme;
	struct sign_key *const		*key;
	size_t				 nkey;
	struct sign_message		 message;
	int64_t				 now;
	int64_t				 tolerance;
	const char *const		*secret;	/* the keys' texts */
	size_t				 nsecret;
	const struct hint_other		*other;
	size_t				 nother;
};

/*
 * Append ": " and a phrase to sign_check()'s *why, or nothing where that says
 * it all.  Tries other readings of body, URL and secrets, so it costs as much
 * as some thirty checks: who serves strangers limits how often he asks.  -1
 * without memory.
 */
int	 hint_add(const struct hint *, const char *why, struct buf *out)
	    BUF_CHECKED;

#endif /* HINT_H */
