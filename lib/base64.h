/*
 * base64.h - base64 and hex, read strictly: only the standard alphabet, no
 * white space.  OpenSSL's own decoder takes white space and wrong padding.
 *
 * Decoding returns the number of bytes, or -1 where the text is not of that
 * form or more than max bytes; out may have been written to.  Secrets may go
 * through here: nothing is left behind, and no branch depends on their value
 * but the one that refuses them.
 */
#ifndef BASE64_H
#define BASE64_H

#include <sys/types.h>

#include <stddef.h>

#include "buf.h"

/* Padding must be there and unused bits zero: one text for each value. */
ssize_t	 base64_decode(const char *, size_t len, unsigned char *out,
	    size_t max);

/* The same, but padding may be left out and unused bits are ignored. */
ssize_t	 base64_decode_lax(const char *, size_t len, unsigned char *out,
	    size_t max);

/* Hex digits of either case. */
ssize_t	 hex_decode(const char *, size_t len, unsigned char *out, size_t max);

/* Append the text of n bytes; hex in lower case. */
int	 base64_add(struct buf *, const unsigned char *, size_t n) BUF_CHECKED;
int	 hex_add(struct buf *, const unsigned char *, size_t n) BUF_CHECKED;

#endif /* BASE64_H */
