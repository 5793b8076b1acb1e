/*
 * message.h - what a message says of itself, by its scheme: for whoever
 * keeps it.  hook-signature(5) has where each scheme says it.
 *
 * Ask after sign_check() said yes; before that anybody may have written it.
 * And where message_id_signed() says no, anybody who saw one good message can
 * send it again with another id.  All header lines are given as they came,
 * in their order; a name that comes twice is taken for none.
 */
#ifndef MESSAGE_H
#define MESSAGE_H

#include <stddef.h>

#include "buf.h"
#include "sign.h"

/*
 * Append the sender's id of a message, the same each time it is sent; the
 * type of event.  1; 0 and nothing appended where the scheme has none or the
 * message does not say, or says it with nothing; -1 without memory or room
 * (errno EFBIG).  Any bytes, of any length up to the message's: NUL, bad
 * UTF-8.
 */
int	 message_id(const struct sign_scheme *, const struct sign_message *,
	    struct buf *out) BUF_CHECKED;
int	 message_type(const struct sign_scheme *, const struct sign_message *,
	    struct buf *out) BUF_CHECKED;
int	 message_id_signed(const struct sign_scheme *);

/*
 * Does a header of this name (either case) carry the secret itself, or what
 * else must not be kept: GitLab's token, cookies, authorization?  Such are
 * neither stored nor logged.
 */
int	 message_secret_header(const struct sign_scheme *, const char *name);

/* Does the scheme sign these?  Then sign_message.url, .method are needed. */
int	 message_signs_url(const struct sign_scheme *);
int	 message_signs_method(const struct sign_scheme *);

/* There is no id, and the same body may be another message: again.h. */
int	 message_anew(const struct sign_scheme *);

/*
 * Does the signature stand in the body, and cover some of it only?  Then
 * sign_make() makes the whole body, not header lines.  Does that need an id?
 * May there be more than one signature, by several keys?
 */
int	 message_needs_id(const struct sign_scheme *);
int	 message_signed_inside(const struct sign_scheme *);
int	 message_many_signatures(const struct sign_scheme *);

/*
 * Append the HMAC of these bytes under a key, in hex: a handshake's answer
 * (Zoom's encryptedToken).  -1 if the key is none of HMAC.
 */
int	 message_hmac(const struct sign_key *, const void *, size_t len,
	    struct buf *out) BUF_CHECKED;

#endif /* MESSAGE_H */
