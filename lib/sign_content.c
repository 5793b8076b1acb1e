/*
 * sign_content.c - what is signed, by the template of a scheme's row.
 */
#include <stdint.h>
#include <string.h>

#include "sign_int.h"

static int	 add_values(struct scheme_making *);

/* Make what is the same for each key. */
int
scheme_start(struct scheme_making *k, const char **why)
{
	const struct sign_scheme	*s = k->scheme;
	const struct sign_message	*m = k->message;

	k->url.max = k->fields.max = k->values.max = SIZE_MAX - 1;
	if (scheme_signs(s, 'u') && (m->url == NULL || *m->url == '\0')) {
		*why = "no URL to check with";
		return -1;
	}
	*why = "out of memory";
	if (scheme_signs(s, 'f') &&
	    scheme_form(m, &k->fields, why) == -1)
		return -1;
	return k->found->names.p != NULL ? add_values(k) : 0;
}

void
scheme_end(struct scheme_making *k)
{
	buf_free(&k->url);
	buf_free(&k->fields);
	buf_free(&k->values);
}

/* Of the named headers, with dots between; one that is not there is empty. */
static int
add_values(struct scheme_making *k)
{
	const char	*p = k->found->names.p, *end = p + k->found->names.len;
	const char	*space, *value;

	for (;; p = space + 1) {
		if ((space = memchr(p, ' ', (size_t)(end - p))) == NULL)
			space = end;
		if (scheme_header(k->message, p, (size_t)(space - p),
		    &value) > 0 && buf_adds(&k->values, value) == -1)
			return -1;
		if (space == end)
			return 0;
		if (buf_adds(&k->values, ".") == -1)
			return -1;
	}
}

/* The URL in another way of writing; 1, 0 no more, -1. */
int
scheme_form_url(struct scheme_making *k, int form)
{
	if (!k->scheme->made)
		return form == 0;
	buf_reset(&k->url);
	if (k->scheme->url != NULL)
		return k->scheme->url(k->message->url, form, &k->url);
	if (form > 0)
		return 0;
	return k->message->url == NULL ||
	    buf_adds(&k->url, k->message->url) == 0 ? 1 : -1;
}

/* What is signed, in at most SCHEME_PARTS pieces. */
size_t
scheme_content(const struct scheme_making *k, const char *p,
    struct scheme_part *part)
{
	const struct sign_message	*m = k->message;
	size_t				 n;

	for (n = 0; *p != '\0' && n < SCHEME_PARTS; n++) {
		if (*p != '%') {
			part[n].p = p;
			part[n].len = strcspn(p, "%");
			p += part[n].len;
			continue;
		}
		part[n].p = NULL;
		part[n].len = 0;
		switch (p[1]) {
		case 'b':
			part[n].p = m->body;
			part[n].len = m->body_len;
			break;
		case 'f':
			part[n].p = k->fields.s;
			part[n].len = k->fields.len;
			break;
		case 'h':
			part[n] = k->found->names;
			break;
		case 'i':
			part[n] = k->found->id;
			break;
		case 'm':
			part[n].p = m->method == NULL ? "POST" : m->method;
			part[n].len = strlen(part[n].p);
			break;
		case 's':
			part[n].p = k->key->text.s;
			part[n].len = k->key->text.len;
			break;
		case 't':
			part[n] = k->found->timestamp;
			break;
		case 'u':
			part[n].p = k->url.s;
			part[n].len = k->url.len;
			break;
		case 'v':
			part[n].p = k->values.s;
			part[n].len = k->values.len;
			break;
		}
		if (part[n].len == 0)
			part[n].p = "";
		p += 2;
	}
	return n;
}

/* What is compared; nothing for a pair of keys. */
int
scheme_compute(const struct sign_key *key, const struct scheme_part *part,
    size_t n, unsigned char *sig)
{
	struct scheme_part	 secret = { key->text.s, key->text.len };

	if (key->pkey != NULL)
		return 0;
	if (key->alg == SCHEME_TOKEN)
		return scheme_hash(&secret, 1, sig);
	return key->alg == SCHEME_SHA256 ? scheme_hash(part, n, sig) :
	    scheme_hmac(key->mac, part, n, sig);
}
