/*
 * hint.c - the likely cause of a refused signature.
 */
#include <inttypes.h>
#include <string.h>

#include "hint_int.h"
#include "sign_int.h"

#define OTHERS_MAX	4	/* schemes named in a hint */

static int	 add_time(const struct hint *, struct buf *);
static int	 add_different(const struct hint *, struct buf *);
static int	 add_other_key(const struct hint *, struct buf *);
static int	 add_other_scheme(const struct hint *, struct buf *);
static int	 add_phrase(const char *, struct buf *);

int
hint_add(const struct hint *h, const char *why, struct buf *out)
{
	if (why == SIGN_TOO_OLD || why == SIGN_TOO_NEW)
		return add_time(h, out);
	if (why == SIGN_DIFFERENT)
		return add_different(h, out);
	if (why == SIGN_OTHER_KIND)
		return buf_adds(out, ": whsec_ secrets check v1, whpk_ keys "
		    "check v1a");
	if (why == SIGN_NO_HEADER)
		return add_other_scheme(h, out);
	if (why == SIGN_MALFORMED || why == SIGN_UNKNOWN)
		return add_phrase(hint_form(h), out);
	return add_phrase(hint_time(h), out);
}

int
hint_good(const struct hint *h)
{
	const char	*why;

	return sign_check(h->scheme, h->key, h->nkey, &h->message, h->now,
	    SIGN_NO_TOLERANCE, NULL, &why) == 0;
}

static int
add_time(const struct hint *h, struct buf *out)
{
	const char	*id, *why;
	int64_t		 at;

	if (sign_read(h->scheme, &h->message, &id, &at, &why) != 0)
		return 0;
	return buf_addf(out, ": %" PRId64 " s %s, tolerance %" PRId64 " s: %s",
	    at < h->now ? h->now - at : at - h->now,
	    at < h->now ? "old" : "ahead", h->tolerance,
	    at < h->now ? "an old message sent again, or a wrong clock" :
	    "a wrong clock");
}

static int
add_different(const struct hint *h, struct buf *out)
{
	const char	*found;
	int		 rc;

	if ((found = hint_body(h)) == NULL && (found = hint_url(h)) == NULL &&
	    (found = hint_secret(h)) == NULL) {
		if ((rc = add_other_key(h, out)) != 0)
			return rc == 1 ? 0 : -1;
		found = hint_time(h);
	}
	if (found == NULL && h->message.body_len == 0 &&
	    scheme_signs(h->scheme, 'b'))
		found = "another secret, or the body is lost: it is empty "
		    "(read before by something else?)";
	if (found == NULL && scheme_signs(h->scheme, 'u'))
		found = "another secret, or another URL than the sender "
		    "knows (behind a proxy?), or the body was changed";
	if (found == NULL && h->scheme->kind[0].alg == SCHEME_TOKEN)
		found = "another secret";
	return add_phrase(found != NULL ? found : "another secret, or the "
	    "body was changed (parsed and written again?)", out);
}

/* 1 if another secret than the accepted ones would do. */
static int
add_other_key(const struct hint *h, struct buf *out)
{
	struct hint	 try = *h;
	size_t		 i;

	for (i = 0; i < h->nother; i++) {
		try.scheme = h->other[i].scheme;
		try.key = &h->other[i].key;
		try.nkey = 1;
		if (hint_good(&try))
			return buf_addf(out, ": good with the secret of %s",
			    h->other[i].name) == -1 ? -1 : 1;
	}
	return 0;
}

/* Of several that have the same header, those whose form it has. */
static int
add_other_scheme(const struct hint *h, struct buf *out)
{
	const struct sign_scheme	*s;
	struct hint			 try = *h;
	const char			*id, *why;
	int64_t				 at;
	size_t				 i;
	int				 n = 0;

	if (h->message.nheader == 0)
		return buf_adds(out, ": no header was given");
	for (i = 0; n < OTHERS_MAX && (s = sign_scheme_at(i)) != NULL; i++) {
		try.scheme = s;
		if (s == h->scheme || s->kind[0].alg == SCHEME_TOKEN ||
		    *s->names[0].signature == '.' ||
		    sign_read(s, &h->message, &id, &at, &why) != 0 ||
		    hint_form(&try) != NULL)
			continue;
		if (buf_addf(out, "%s%s", n == 0 ? ": the headers are " :
		    " or ", sign_scheme_name(s)) == -1)
			return -1;
		n++;
	}
	return 0;
}

static int
add_phrase(const char *phrase, struct buf *out)
{
	return phrase == NULL ? 0 : buf_addf(out, ": %s", phrase);
}
