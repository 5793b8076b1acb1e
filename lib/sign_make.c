/*
 * sign_make.c - webhook signatures: make.
 */
#include <inttypes.h>
#include <string.h>

#include "base64.h"
#include "sign_int.h"

#define ID_MAX		64	/* bytes; webhook_outbox.event_id's too */

static int	 add_header(const char *, const char *, struct buf *);
static int	 add_signature(const struct sign_scheme *,
		    struct sign_key *const *, size_t, const char *, int64_t,
		    const struct sign_message *, int, struct buf *);
static int	 add_value(const struct scheme_making *, struct buf *);
static int	 cut(struct buf *, size_t);

int
sign_id(const char *id)
{
	size_t	 n = strspn(id, "0123456789_-abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ");

	return id[n] == '\0' && n >= 1 && n <= ID_MAX;
}

int
sign_make(const struct sign_scheme *s, struct sign_key *const *key,
    size_t nkey, const char *id, int64_t now, const struct sign_message *m,
    struct buf *out)
{
	const struct scheme_names	*name = &s->names[0];
	char				 at[SCHEME_TIME_MAX];
	size_t				 before = out->len;

	if (nkey == 0 || (nkey > 1 && s->list == NULL) ||
	    (id == NULL && name->id != NULL) || (id != NULL && !sign_id(id)) ||
	    now < 1 || now > SIGN_TIME_MAX)
		return -1;
	if (s->make != NULL) {
		if (!key[0]->can_sign ||
		    s->make(s, key[0], id, now, m, out) == -1)
			return cut(out, before);
		return 0;
	}
	if (id != NULL && add_header(name->id != NULL ? name->id : s->id, id,
	    out) == -1)
		return cut(out, before);
	scheme_time_write(s->clock, now, at);
	if (add_header(name->timestamp, at, out) == -1 ||
	    buf_addf(out, "%s: ", name->signature) == -1 ||
	    add_signature(s, key, nkey, id, now, m, 0, out) == -1 ||
	    buf_adds(out, "\n") == -1)
		return cut(out, before);
	return 0;
}

int
sign_standard(const struct sign_key *key, const char *id, int64_t now,
    const void *body, size_t len, struct buf *out)
{
	struct sign_key		*one = (struct sign_key *)key;
	struct sign_message	 m = { .body = body, .body_len = len };

	if (!sign_id(id))
		return -1;
	return add_signature(sign_scheme_at(SCHEME_STANDARD), &one, 1, id,
	    now, &m, 0, out);
}

int
sign_legacy(const struct sign_key *key, int64_t now, const void *body,
    size_t len, int more, struct buf *out)
{
	struct sign_key		 text = { .alg = SCHEME_HMAC_SHA256,
				    .can_sign = 1 };
	struct sign_key		*one = &text;
	struct sign_message	 m = { .body = body, .body_len = len };

	if ((text.mac = key->legacy) == NULL)
		return -1;
	return add_signature(sign_scheme_at(SCHEME_LEGACY), &one, 1, NULL,
	    now, &m, more, out);
}

/* Of several places where it may stand the first, if it is a header. */
static int
add_header(const char *name, const char *value, struct buf *out)
{
	if (name == NULL || *name == '.')
		return 0;
	return buf_addf(out, "%.*s: %s\n", (int)strcspn(name, " "), name,
	    value);
}

/* The value of a signature header; with more, what is added to one. */
static int
add_signature(const struct sign_scheme *s, struct sign_key *const *key,
    size_t nkey, const char *id, int64_t now, const struct sign_message *m,
    int more, struct buf *out)
{
	struct scheme_found	 f = { .at = now };
	struct scheme_making		 k = { .scheme = s, .message = m,
				    .found = &f };
	char			 at[SCHEME_TIME_MAX];
	const char		*why;
	size_t			 before = out->len, i;
	int			 rc = -1;

	if (now < 1 || now > SIGN_TIME_MAX)
		return -1;
	f.id.p = id;
	f.id.len = id == NULL ? 0 : strlen(id);
	f.timestamp.p = at;
	f.timestamp.len = scheme_time_write(s->clock, now, at);
	if (s->made && (scheme_start(&k, &why) == -1 ||
	    scheme_form_url(&k, 0) != 1))
		goto out;
	if (s->time_tag != NULL && !more && buf_addf(out, "%s%c%s%c",
	    s->time_tag, s->sep, at, s->list[0]) == -1)
		goto out;
	for (i = 0; i < nkey; i++) {
		k.key = key[i];
		if (((i > 0 || more) && buf_add(out, s->list, 1) == -1) ||
		    add_value(&k, out) == -1)
			goto out;
	}
	rc = 0;
out:
	if (s->made)
		scheme_end(&k);
	return rc == -1 ? cut(out, before) : 0;
}

static int
add_value(const struct scheme_making *k, struct buf *out)
{
	const struct scheme_kind	*kind;
	struct scheme_part		 part[SCHEME_PARTS];
	unsigned char			 sig[SCHEME_SIG_MAX];
	size_t				 n;
	ssize_t				 len;

	if ((kind = scheme_kind_of(k->scheme, k->key)) == NULL ||
	    !k->key->can_sign || buf_adds(out, kind->tag) == -1 ||
	    (k->scheme->list != NULL && buf_add(out, &k->scheme->sep, 1) ==
	    -1))
		return -1;
	if (kind->code == SCHEME_AS_IS)
		return buf_add(out, k->key->text.s, k->key->text.len);
	n = scheme_content(k, k->scheme->content, part);
	if (k->key->pkey != NULL)
		len = scheme_pair_sign(k->key, part, n, sig);
	else
		len = scheme_compute(k->key, part, n, sig) == -1 ? -1 :
		    scheme_sig_len(kind->alg);
	if (len == -1)
		return -1;
	return kind->code == SCHEME_HEX ? hex_add(out, sig, (size_t)len) :
	    base64_add(out, sig, (size_t)len);
}

/* Take back what was appended. */
static int
cut(struct buf *out, size_t len)
{
	out->len = len;
	if (out->s != NULL)
		out->s[len] = '\0';
	return -1;
}
