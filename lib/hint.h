/*
 * hint.h - the likely cause of a refused signature, for the person who reads
 * the log.  A guess; it never tells what would have been right.
 */
#ifndef HINT_H
#define HINT_H

#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "sign.h"

/* What sign_check() was asked. */
struct hint {
	const struct sign_scheme	*scheme;
	struct sign_key *const		*key;
	size_t				 nkey;
	struct sign_message		 message;
	int64_t				 now;
	int64_t				 tolerance;
};

/*
 * Append ": " and a phrase to sign_check()'s *why, or nothing where that says
 * it all.  Tries up to four other readings of the body.  -1 without memory.
 */
int	 hint_add(const struct hint *, const char *why, struct buf *out)
	    BUF_CHECKED;

#endif /* HINT_H */
