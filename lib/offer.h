/*
 * offer.h - the token that Notion offers before it signs anything: an
 * unsigned POST of {"verification_token":"secret_..."}.  All later messages
 * are signed with it, and its page asks the operator for it.
 *
 * Nothing proves who sent it, so it is trusted with nothing: it is kept in a
 * file for the operator, whom Notion then tells whether it is the right one.
 */
#ifndef OFFER_H
#define OFFER_H

#include "buf.h"
#include "sign.h"

#define OFFER_MAX	256	/* bytes of a token */

/* Does this message offer one?  1 and it is appended; 0 not. */
int	 offer_token(const struct sign_scheme *, const struct sign_message *,
	    struct buf *) BUF_CHECKED;

/*
 * Put it into the file folder/name, in place of an older one, readable to us
 * alone and safe from a crash.  -1 with errno; EAGAIN: not more than one a
 * second.
 */
int	 offer_keep(const char *folder, const char *name, const struct buf *)
	    BUF_CHECKED;

#endif /* OFFER_H */
