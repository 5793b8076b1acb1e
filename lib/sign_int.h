/*
 * sign_int.h - what the files sign*.c have in common, and no others.
 */
#ifndef SIGN_INT_H
#define SIGN_INT_H

#include "scheme.h"
#include "sign.h"
#include "sign_math.h"

struct scheme_element {
	const char	*tag, *value;
	size_t		 tag_len, value_len;
};

/* What a message carries, found but not believed; NULL: none. */
struct scheme_found {
	struct scheme_part	 id, timestamp, signature;
	struct scheme_part	 names;		/* as the signature has them */
	int64_t			 at;		/* read; -1: none */
	const char		*no_time;	/* why it is not signed */
	int			 id_is_header;	/* so a C string */
};

/* Each part once, all of one family of names; 0, or 1 with *why. */
int	 scheme_find(const struct sign_scheme *, const struct sign_message *,
	    struct scheme_found *, const char **why);

/* How often a header came; *value is the first. */
size_t	 scheme_header(const struct sign_message *, const char *name,
	    size_t name_len, const char **value);

/*
 * The next element with a tag of what is left of a signature, which moves on;
 * 0 at the end.  What is no list is one element, whose tag is at its value's
 * start until scheme_has_tag() said yes.
 */
int	 scheme_next(const struct sign_scheme *, struct scheme_part *rest,
	    struct scheme_element *);
int	 scheme_has_tag(const struct sign_scheme *,
	    struct scheme_element *, const char *tag);

/* Seconds since 1970 of a timestamp: 0 or -1.  And back: its length. */
#define SCHEME_TIME_MAX	96		/* bytes with the NUL */
int	 scheme_time_read(enum scheme_clock, const char *, size_t, int64_t *);
size_t	 scheme_time_write(enum scheme_clock, int64_t, char *);

/* What is made for one check or signature, and the message it is made of. */
struct scheme_making {
	const struct sign_scheme	*scheme;
	const struct sign_message	*message;
	const struct scheme_found	*found;
	const struct sign_key		*key;
	struct buf			 url, fields, values;
};

/* What is the same for each key: 0, or -1 with *why; and its end. */
int	 scheme_start(struct scheme_making *, const char **why);
void	 scheme_end(struct scheme_making *);

/* The URL in its form'th way of writing: 1, 0 no more, -1. */
int	 scheme_form_url(struct scheme_making *, int form);

/* Fill in at most SCHEME_PARTS parts of a template; how many. */
size_t	 scheme_content(const struct scheme_making *, const char *,
	    struct scheme_part *);

/* Ways to write a URL; the fields of a form, as Twilio signs them. */
int	 scheme_url_port(const char *, int form, struct buf *);
int	 scheme_url_hubspot(const char *, int form, struct buf *);
int	 scheme_form(const struct sign_message *, struct buf *, const char **);

/* Signatures inside the body. */
int	 scheme_adyen_check(const struct sign_scheme *,
	    struct sign_key *const *, size_t, const struct sign_message *,
	    size_t *, const char **);
int	 scheme_adyen_make(const struct sign_scheme *,
	    const struct sign_key *, const char *, int64_t,
	    const struct sign_message *, struct buf *);
int	 scheme_mailgun_make(const struct sign_scheme *,
	    const struct sign_key *, const char *, int64_t,
	    const struct sign_message *, struct buf *);

/* The one of HMAC and SHA-256 that is the key's; nothing for a pair. */
int	 scheme_compute(const struct sign_key *, const struct scheme_part *,
	    size_t n, unsigned char *sig);

/* The key that the bytes are, to check with, for hints; NULL: can't be. */
struct sign_key *sign_key_bytes(const struct sign_scheme *, const void *,
	    size_t);

#endif /* SIGN_INT_H */
