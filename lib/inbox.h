/*
 * inbox.h - a verified message as a row of webhook_inbox.
 *
 * Errors: -1 without memory.
 */
#ifndef INBOX_H
#define INBOX_H

#include "buf.h"
#include "sign.h"

#define INBOX_ID_MAX	255	/* bytes of an id or type that is kept */

/*
 * Append what the message is known by: the sender's id; "sha256:" and the
 * hex digest of that where it is long or no printable ASCII, and of the body
 * where there is none.
 */
int	 inbox_id(const struct sign_scheme *, const struct sign_message *,
	    struct buf *out) BUF_CHECKED;

/* 1; 0 and nothing appended where there is none, or none that is text. */
int	 inbox_type(const struct sign_scheme *, const struct sign_message *,
	    struct buf *out) BUF_CHECKED;

/*
 * Append the headers, name, value, ..., with line ends between: without
 * secrets, and without Content-Encoding if the body was unpacked, so that
 * one that is kept is true.  Bytes beyond ASCII are read as Latin-1.
 */
int	 inbox_headers(const struct sign_scheme *,
	    const struct sign_message *, int unpacked, struct buf *out)
	    BUF_CHECKED;

#endif /* INBOX_H */
