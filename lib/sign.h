/*
 * sign.h - webhook signatures: make and check, by scheme.
 *
 * A scheme is a row of the table in scheme.c, not a function: where
 * signature, timestamp and id stand, what is signed, which digest or key,
 * which encoding.  Facts: hook-signature(5).
 *
 * Secrets come in their published form (whsec_..., hex, PEM, text); what is
 * compared with them is compared in constant time, and they are wiped before
 * they are freed.  Times and tolerances are seconds.  Every byte of
 * headers and body is hostile.  A key is for one thread at a time.
 */
#ifndef SIGN_H
#define SIGN_H

#include <stddef.h>
#include <stdint.h>

#include "buf.h"

#define SIGN_NO_TOLERANCE	(-1)	/* do not check the timestamp */
#define SIGN_TIME_MAX		INT64_C(253402300799)	/* end of 9999 */

/* One message as it came, or as it will go. */
struct sign_message {
	const struct sign_header {
		const char	*name;		/* of either case */
		const char	*value;		/* no spaces around it */
	}		*header;
	size_t		 nheader;
	const void	*body;
	size_t		 body_len;	/* bytes */
	const char	*url;		/* or NULL */
	const char	*method;	/* or NULL: POST */
};

struct sign_scheme;
struct sign_key;

/* By name ("-" is "_") or short name; by number; NULL: no such scheme. */
const struct sign_scheme *sign_scheme(const char *name);
const struct sign_scheme *sign_scheme_at(size_t n);
const char *sign_scheme_name(const struct sign_scheme *);
int64_t	 sign_scheme_tolerance(const struct sign_scheme *);

/*
 * Read a secret for a scheme; NULL with *why (static, names no secret) if it
 * can't be one.  for_signing refuses what can only verify, and whsec_ of less
 * than 24 or more than 64 bytes; a verifier takes 16..75.
 */
struct sign_key *sign_key(const struct sign_scheme *, const char *secret,
	    int for_signing, const char **why);
void	 sign_key_free(struct sign_key *);

/* May this be the id of a message of ours: [A-Za-z0-9_-]{1,64}? */
int	 sign_id(const char *);

/*
 * Append header lines "name: value\n" for a body sent at time now under id
 * (NULL where none is signed), or a body with its signature in it; several
 * keys give several signatures, in that order.  -1, and nothing appended, for
 * a bad id or time, no URL, or a key that can't sign; so below.
 */
int	 sign_make(const struct sign_scheme *, struct sign_key *const *key,
	    size_t nkey, const char *id, int64_t now,
	    const struct sign_message *, struct buf *out);

/* Standard Webhooks, the value alone: append one "v1,..." or "v1a,...". */
int	 sign_standard(const struct sign_key *, const char *id, int64_t now,
	    const void *body, size_t len, struct buf *out);

/* hook-sub -L: "t=...,v1=<hex>", or for more keys the ",v1=<hex>" alone. */
int	 sign_legacy(const struct sign_key *, int64_t now, const void *body,
	    size_t len, int more, struct buf *out);

/*
 * Check.  0 good, with *which the index of the key that matched (may be
 * NULL); 1 no, with *why a static phrase that gives away nothing.  now is the
 * receiver's clock, tolerance SIGN_NO_TOLERANCE or seconds either way.  The
 * time is judged last: SIGN_TOO_OLD, SIGN_TOO_NEW mean the rest was good.
 */
int	 sign_check(const struct sign_scheme *, struct sign_key *const *key,
	    size_t nkey, const struct sign_message *, int64_t now,
	    int64_t tolerance, size_t *which, const char **why);
extern const char SIGN_TOO_OLD[], SIGN_TOO_NEW[], SIGN_DIFFERENT[],
	    SIGN_OTHER_KIND[], SIGN_NO_HEADER[], SIGN_MALFORMED[],
	    SIGN_UNKNOWN[];

/* Read *id (NULL: no header) and *at (-1: none).  0, or 1 with *why. */
int	 sign_read(const struct sign_scheme *, const struct sign_message *,
	    const char **id, int64_t *at, const char **why);

/*
 * A new secret of 32 random bytes: "whsec_..." or, ed25519, "whsk_...".
 * The caller wipes out.  sign_public() appends "whpk_..." of a whsk_ key.
 */
int	 sign_new_secret(int ed25519, struct buf *out);
int	 sign_public(const struct sign_key *, struct buf *out);

#endif /* SIGN_H */
