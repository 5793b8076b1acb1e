/*
 * hint_form.c - what is odd about how a signature or a time is written.
 */
#include <string.h>

#include "base64.h"
#include "hint_int.h"
#include "sign_int.h"

#define TEXT_MAX	128		/* bytes of a signature's text */

static const char *odd(const struct scheme_kind *,
		    const struct scheme_element *);

const char *
hint_form(const struct hint *h)
{
	const struct sign_scheme	*s = h->scheme;
	struct scheme_found		 f;
	struct scheme_element		 e;
	const char			*why, *found = NULL;
	size_t				 i;

	if (scheme_find(s, &h->message, &f, &why) != 0)
		return NULL;
	while (scheme_next(s, &f.signature, &e))
		for (i = 0; i < SCHEME_KINDS && s->kind[i].tag != NULL; i++)
			if (scheme_has_tag(s, &e, s->kind[i].tag) &&
			    (found = odd(&s->kind[i], &e)) == NULL)
				return NULL;
	if (found != NULL)
		return found;
	return s->list != NULL ?
	    "it has none of the tags of this scheme: of another one?" :
	    "it does not begin as this scheme's do: of another one?";
}

/* A time of the other unit is out of range in its own. */
const char *
hint_time(const struct hint *h)
{
	struct scheme_found	 f;
	const char		*why;
	int64_t			 at;

	if (scheme_find(h->scheme, &h->message, &f, &why) != 0) {
		if (f.timestamp.len == 0)
			return NULL;
		if (h->scheme->clock == SCHEME_SECONDS &&
		    scheme_time_read(SCHEME_MS, f.timestamp.p,
		    f.timestamp.len, &at) == 0)
			return "milliseconds, or of another scheme";
		return NULL;
	}
	if (h->scheme->clock == SCHEME_MS && f.at >= 0 && f.at < 10000000)
		return "the timestamp is in seconds, where milliseconds are "
		    "due: written again, or of another scheme?";
	return NULL;
}

/* NULL if it has the form that is due. */
static const char *
odd(const struct scheme_kind *kind, const struct scheme_element *e)
{
	unsigned char	 raw[TEXT_MAX];
	ssize_t		 hex, base64, want = scheme_sig_len(kind->alg);

	if (kind->code == SCHEME_AS_IS)
		return NULL;
	hex = hex_decode(e->value, e->value_len, raw, sizeof(raw));
	base64 = base64_decode(e->value, e->value_len, raw, sizeof(raw));
	if (kind->code == SCHEME_HEX) {
		if (hex == want)
			return NULL;
		if (base64 == want)
			return "base64, where hex is due";
		return hex > 0 ? "too long or too short: cut off, or of "
		    "another digest?" : "it is not hex";
	}
	if (base64 > 0 && (base64 == want || want == -1))
		return NULL;
	if (hex > 0 && hex == want)
		return "hex, where base64 is due";
	if (base64_decode_lax(e->value, e->value_len, raw, sizeof(raw)) > 0 &&
	    base64 == -1)
		return "base64 without its padding or with bits to spare";
	return base64 > 0 ? "too long or too short: cut off, or of another "
	    "digest?" : "it is not base64";
}
