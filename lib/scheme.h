/*
 * scheme.h - a row of the table of schemes, and a key; for sign*.c alone.
 *
 * A signature header is a list of elements: "list" are the characters between
 * them, "sep" stands between an element's tag and its value.  "v1,AA v1a,BB"
 * has list " " and sep ','.  Unknown tags are skipped.  What is signed is a
 * template: %i the id, %t the timestamp as it came, %b the body.
 */
#ifndef SCHEME_H
#define SCHEME_H

#include <stddef.h>
#include <stdint.h>

#define SCHEME_SIG_MAX	64		/* bytes of a signature */
#define SCHEME_PARTS	8		/* pieces of what is signed */
#define SCHEME_KINDS	2		/* of signatures in a scheme */

enum { SCHEME_STANDARD, SCHEME_LEGACY };	/* rows that we name */

enum scheme_alg { SCHEME_HMAC_SHA256, SCHEME_ED25519 };
enum scheme_code { SCHEME_BASE64, SCHEME_HEX };
enum scheme_secret { SCHEME_SECRET_WH /* whsec_ ... */, SCHEME_SECRET_TEXT };

struct sign_scheme {
	const char		*name;
	const char		*also;		/* a short name, or NULL */
	struct scheme_names {			/* of headers, or NULL */
		const char	*id;
		const char	*timestamp;
		const char	*signature;
	}			 names[2];	/* the second only read */
	const char		*content;
	const char		*list;
	char			 sep;
	const char		*time_tag;	/* element with the time */
	struct scheme_kind {
		const char	*tag;		/* NULL: no more */
		enum scheme_alg	 alg;
		enum scheme_code code;
	}			 kind[SCHEME_KINDS];
	enum scheme_secret	 secret;
	int64_t			 tolerance;	/* seconds */
};

struct sign_key {
	enum scheme_alg		 alg;
	int			 can_sign;
	struct evp_mac_ctx_st	*mac;		/* HMAC, key set */
	struct evp_mac_ctx_st	*legacy;	/* HMAC, key the text */
	struct evp_pkey_st	*pkey;		/* ed25519 */
};

struct scheme_part {
	const void	*p;
	size_t		 len;
};

struct scheme_element {
	const char	*tag, *value;
	size_t		 tag_len, value_len;
};

/* What a message carries, found but not believed. */
struct scheme_found {
	const char	*id;		/* NULL: none */
	const char	*signature;
	const char	*timestamp;	/* as it came; NULL: none */
	size_t		 timestamp_len;
	int64_t		 at;		/* the same read; -1: none */
};

struct sign_message;

/* Each header once, all of one family of names; 0, or 1 with *why. */
int	 scheme_find(const struct sign_scheme *, const struct sign_message *,
	    struct scheme_found *, const char **why);

/* The next element with a tag at *p, which moves on; 0 at the end. */
int	 scheme_next(const struct sign_scheme *, const char **p,
	    struct scheme_element *);
int	 scheme_has_tag(const struct scheme_element *, const char *tag);

/* The kind of signature that a key makes under a scheme; NULL: none. */
const struct scheme_kind *scheme_kind_of(const struct sign_scheme *,
	    const struct sign_key *);
size_t	 scheme_sig_len(enum scheme_alg);	/* bytes */

/* HMAC, or ed25519, of the parts one after the other; -1: OpenSSL fails. */
int	 scheme_hmac(struct evp_mac_ctx_st *, const struct scheme_part *,
	    size_t n, unsigned char *sig);
int	 scheme_ed25519(const struct sign_key *, const struct scheme_part *,
	    size_t n, unsigned char *sig);

/* Is this 64-byte signature good?  1 yes, 0 no, -1. */
int	 scheme_ed25519_good(const struct sign_key *,
	    const struct scheme_part *, size_t n, const unsigned char *sig);

#endif /* SCHEME_H */
