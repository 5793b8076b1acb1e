/*
 * handshake.h - requests by which a sender asks whether an address is ours,
 * before it sends messages there.  Pure.  hook-signature(5) lists them.
 *
 * An answer is only given to who has proved something, as far as the scheme
 * lets him: a GET knows the source's word (Meta) or nothing (Dropbox, which
 * signs none; what is echoed is text/plain and can do no harm); a POST comes
 * here after its signature was found good.
 */
#ifndef HANDSHAKE_H
#define HANDSHAKE_H

#include <stddef.h>

#include "buf.h"
#include "sign.h"

struct handshake {
	int		 status;
	const char	*type;		/* of the body */
	struct buf	 body;
};

#define HANDSHAKE_MAX	(8 * 1024)	/* bytes of an answer */
#define HANDSHAKE_INIT	{ 200, "text/plain", BUF_INIT(HANDSHAKE_MAX) }

/*
 * A GET with this query (NULL: none) of a source with these words: 1 answer
 * it so; 0 it is to be refused.
 */
int	 handshake_get(const struct sign_scheme *, const char *query,
	    char *const *word, size_t nword, struct handshake *);

/* Is this message, signed with key, one?  1 answer it so; 0 keep it. */
int	 handshake_post(const struct sign_scheme *,
	    const struct sign_message *, const struct sign_key *,
	    struct handshake *);

/* Does GET mean something in this scheme? */
int	 handshake_gets(const struct sign_scheme *);

/* Must every answer be 200 or 401 and empty (Xero)? */
int	 handshake_bare(const struct sign_scheme *);

#endif /* HANDSHAKE_H */
