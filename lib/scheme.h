/*
 * scheme.h - a row of the table of schemes, and a key; for sign*.c, facts.c
 * and message.c alone.
 *
 * Where a part of a message stands is a header's name, or ".path" of a member
 * of a JSON body.  A signature header is one tag and signature, or a list:
 * "list" are the characters between its elements, "sep" stands between an
 * element's tag and its value.  "v1,AA v1a,BB" has list " " and sep ','.
 * Unknown tags are skipped.  What is signed is a template: %i the id, %t the
 * timestamp as it came, %b the body, %u the URL, %m the method, %f the fields
 * of a form, %a those of an item, %s the secret; %h names of header lines that
 * the signature header tells, and %v their values.
 */
#ifndef SCHEME_H
#define SCHEME_H

#include <stddef.h>
#include <stdint.h>

#include "buf.h"

#define SCHEME_SIG_MAX	80		/* bytes of a signature */
#define SCHEME_PARTS	8		/* pieces of what is signed */
#define SCHEME_KINDS	2		/* of signatures in a scheme */

enum { SCHEME_STANDARD, SCHEME_LEGACY };	/* rows that we name */

enum scheme_alg {
	SCHEME_HMAC_SHA256, SCHEME_HMAC_SHA1, SCHEME_HMAC_SHA512,
	SCHEME_SHA256, SCHEME_TOKEN, SCHEME_ED25519, SCHEME_ECDSA_P256
};
enum scheme_code { SCHEME_BASE64, SCHEME_HEX, SCHEME_AS_IS };
enum scheme_secret {
	SCHEME_SECRET_WH /* whsec_ ... */, SCHEME_SECRET_TEXT,
	SCHEME_SECRET_HEX, SCHEME_SECRET_ED25519, SCHEME_SECRET_P256
};
enum scheme_clock {
	SCHEME_SECONDS, SCHEME_MS, SCHEME_RFC3339, SCHEME_HTTP_DATE
};

struct sign_message;
struct sign_key;

struct sign_scheme {
	const char		*name;
	const char		*also;		/* short names; NULL: none */
	struct scheme_names {			/* where, or NULL */
		const char	*id;
		const char	*timestamp;
		const char	*signature;
	}			 names[2];	/* the second only read */
	const char		*content;
	int			 made;		/* %u, %f or %v is signed */
	const char		*list;		/* NULL: one signature */
	char			 sep;
	const char		*time_tag;	/* element with the time */
	const char		*names_tag;	/* element with %h */
	enum scheme_clock	 clock;
	struct scheme_kind {
		const char	*tag;		/* NULL: no more */
		enum scheme_alg	 alg;
		enum scheme_code code;
		const char	*content;	/* NULL: the scheme's */
	}			 kind[SCHEME_KINDS];
	enum scheme_secret	 secret;
	int64_t			 tolerance;	/* seconds */
	const char		*id, *type;	/* where; several with ' ' */
	int			 anew;		/* equal bodies are two */

	/* The URL in its form'th way of writing: 1, 0 no more, -1. */
	int	(*url)(const char *, int form, struct buf *);
	/* Instead of what sign_check() and sign_make() do. */
	int	(*check)(const struct sign_scheme *, struct sign_key *const *,
		    size_t, const struct sign_message *, size_t *,
		    const char **);
	int	(*make)(const struct sign_scheme *, const struct sign_key *,
		    const char *, int64_t, const struct sign_message *,
		    struct buf *);
};

struct sign_key {
	enum scheme_alg		 alg;
	int			 can_sign;
	struct evp_mac_ctx_st	*mac;		/* HMAC, key set */
	struct evp_mac_ctx_st	*legacy;	/* HMAC, key the text */
	struct evp_pkey_st	*pkey;		/* ed25519, P-256 */
	struct buf		 text;		/* SHA256, TOKEN */
};

/* Bytes of a signature; -1: not always as many. */
int	 scheme_sig_len(enum scheme_alg);

/* Does the template, or another kind's, hold this %letter? */
int	 scheme_signs(const struct sign_scheme *, char);

/* The kind of signature that a key makes under a scheme; NULL: none. */
const struct scheme_kind *scheme_kind_of(const struct sign_scheme *,
	    const struct sign_key *);

#endif /* SCHEME_H */
