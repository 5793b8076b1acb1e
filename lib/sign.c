/*
 * sign.c - webhook signatures: make and check.
 *
 * Nothing here knows one scheme from another but by its row in scheme.c.
 */
#include <openssl/crypto.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base64.h"
#include "scheme.h"
#include "sign.h"

#define ID_MAX		64	/* bytes; webhook_outbox.event_id's too */
#define ED25519_TRIES	16	/* signatures looked at for each key */

const char	 SIGN_TOO_OLD[] = "timestamp is too old";
const char	 SIGN_TOO_NEW[] = "timestamp is in the future";
const char	 SIGN_DIFFERENT[] = "signature does not match";
const char	 SIGN_OTHER_KIND[] = "no signature for this kind of secret";

/* What came of a key, the best first. */
enum verdict {
	MATCH, DIFFERENT, MALFORMED, OTHER_KIND, UNKNOWN, BROKEN, NO_KEY
};

static const char	*const reason[] = {
	[DIFFERENT] = SIGN_DIFFERENT,
	[MALFORMED] = "signature is malformed",
	[OTHER_KIND] = SIGN_OTHER_KIND,
	[UNKNOWN] = "no signature that this scheme knows",
	[BROKEN] = "signature can't be computed",
	[NO_KEY] = "no secret to check with",
};

static size_t	 content(const struct sign_scheme *,
		    const struct scheme_found *, const void *, size_t,
		    struct scheme_part *);
static enum verdict try_key(const struct sign_scheme *,
		    const struct sign_key *, const char *,
		    const struct scheme_part *, size_t);
static int	 known_tag(const struct sign_scheme *,
		    const struct scheme_element *);
static ssize_t	 decode(enum scheme_code, const struct scheme_element *,
		    unsigned char *);
static int	 add_signature(const struct sign_scheme *,
		    struct sign_key *const *, size_t, const char *, int64_t,
		    const void *, size_t, int, struct buf *);
static int	 add_value(const struct sign_scheme *,
		    const struct sign_key *, const struct scheme_part *,
		    size_t, struct buf *);
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
	size_t				 before = out->len;

	if (nkey == 0 || (name->id != NULL && !sign_id(id)))
		return -1;
	if (name->id != NULL &&
	    buf_addf(out, "%s: %s\n", name->id, id) == -1)
		return cut(out, before);
	if (name->timestamp != NULL &&
	    buf_addf(out, "%s: %" PRId64 "\n", name->timestamp, now) == -1)
		return cut(out, before);
	if (buf_addf(out, "%s: ", name->signature) == -1 ||
	    add_signature(s, key, nkey, id, now, m->body, m->body_len, 0,
	    out) == -1 || buf_adds(out, "\n") == -1)
		return cut(out, before);
	return 0;
}

int
sign_standard(const struct sign_key *key, const char *id, int64_t now,
    const void *body, size_t len, struct buf *out)
{
	struct sign_key	*one = (struct sign_key *)key;

	if (!sign_id(id))
		return -1;
	return add_signature(sign_scheme_at(SCHEME_STANDARD), &one, 1, id,
	    now, body, len, 0, out);
}

int
sign_legacy(const struct sign_key *key, int64_t now, const void *body,
    size_t len, int more, struct buf *out)
{
	struct sign_key	 text = { .alg = SCHEME_HMAC_SHA256, .can_sign = 1 };
	struct sign_key	*one = &text;

	if ((text.mac = key->legacy) == NULL)
		return -1;
	return add_signature(sign_scheme_at(SCHEME_LEGACY), &one, 1, NULL,
	    now, body, len, more, out);
}

int
sign_check(const struct sign_scheme *s, struct sign_key *const *key,
    size_t nkey, const struct sign_message *m, int64_t now,
    int64_t tolerance, size_t *which, const char **why)
{
	struct scheme_part	 part[SCHEME_PARTS];
	struct scheme_found	 f;
	enum verdict		 v, best = NO_KEY;
	size_t			 i, n;

	if (scheme_find(s, m, &f, why) == 1)
		return 1;
	n = content(s, &f, m->body, m->body_len, part);
	for (i = 0; i < nkey; i++) {
		v = try_key(s, key[i], f.signature, part, n);
		if (v < best)
			best = v;
		if (v == MATCH)
			break;
	}
	if (best != MATCH) {
		*why = reason[best];
		return 1;
	}
	if (which != NULL)
		*which = i;

	if (f.at == -1 || tolerance == SIGN_NO_TOLERANCE)
		return 0;
	if (f.at < now && (uint64_t)now - (uint64_t)f.at >
	    (uint64_t)tolerance) {
		*why = SIGN_TOO_OLD;
		return 1;
	}
	if (f.at > now && (uint64_t)f.at - (uint64_t)now >
	    (uint64_t)tolerance) {
		*why = SIGN_TOO_NEW;
		return 1;
	}
	return 0;
}

/* What is signed, in at most SCHEME_PARTS pieces. */
static size_t
content(const struct sign_scheme *s, const struct scheme_found *f,
    const void *body, size_t len, struct scheme_part *part)
{
	const char	*p;
	size_t		 n;

	for (p = s->content, n = 0; *p != '\0' && n < SCHEME_PARTS; n++) {
		if (*p != '%') {
			part[n].p = p;
			part[n].len = strcspn(p, "%");
			p += part[n].len;
			continue;
		}
		part[n].p = "";
		part[n].len = 0;
		switch (p[1]) {
		case 'b':
			if (len == 0)
				break;
			part[n].p = body;
			part[n].len = len;
			break;
		case 'i':
			part[n].p = f->id;
			part[n].len = strlen(f->id);
			break;
		case 't':
			part[n].p = f->timestamp;
			part[n].len = f->timestamp_len;
			break;
		}
		p += 2;
	}
	return n;
}

/* Is one of the signatures this key's? */
static enum verdict
try_key(const struct sign_scheme *s, const struct sign_key *key,
    const char *signature, const struct scheme_part *part, size_t n)
{
	const struct scheme_kind	*kind = scheme_kind_of(s, key);
	unsigned char			 ours[SCHEME_SIG_MAX];
	unsigned char			 theirs[SCHEME_SIG_MAX];
	struct scheme_element		 e;
	enum verdict			 best = UNKNOWN, v;
	size_t				 want = scheme_sig_len(key->alg);
	int				 tries = 0, hmac;

	hmac = key->alg == SCHEME_HMAC_SHA256;
	if (kind == NULL ||
	    (hmac && scheme_hmac(key->mac, part, n, ours) == -1))
		return BROKEN;
	while (best != MATCH && scheme_next(s, &signature, &e)) {
		v = DIFFERENT;
		if (!scheme_has_tag(&e, kind->tag))
			v = known_tag(s, &e) ? OTHER_KIND : UNKNOWN;
		else if (decode(kind->code, &e, theirs) != (ssize_t)want)
			v = MALFORMED;
		else if (hmac && CRYPTO_memcmp(ours, theirs, want) == 0)
			v = MATCH;
		else if (!hmac && ++tries <= ED25519_TRIES &&
		    scheme_ed25519_good(key, part, n, theirs) == 1)
			v = MATCH;
		if (v < best)
			best = v;
	}
	OPENSSL_cleanse(ours, sizeof(ours));
	return best;
}

static int
known_tag(const struct sign_scheme *s, const struct scheme_element *e)
{
	size_t	 i;

	for (i = 0; i < SCHEME_KINDS && s->kind[i].tag != NULL; i++)
		if (scheme_has_tag(e, s->kind[i].tag))
			return 1;
	return 0;
}

static ssize_t
decode(enum scheme_code code, const struct scheme_element *e,
    unsigned char *sig)
{
	switch (code) {
	case SCHEME_BASE64:
		return base64_decode(e->value, e->value_len, sig,
		    SCHEME_SIG_MAX);
	case SCHEME_HEX:
		return hex_decode(e->value, e->value_len, sig,
		    SCHEME_SIG_MAX);
	}
	return -1;
}

/* The value of a signature header; with more, what is added to one. */
static int
add_signature(const struct sign_scheme *s, struct sign_key *const *key,
    size_t nkey, const char *id, int64_t now, const void *body, size_t len,
    int more, struct buf *out)
{
	struct scheme_part	 part[SCHEME_PARTS];
	struct scheme_found	 f = { .id = id };
	char			 at[32];
	size_t			 before = out->len, i, n;

	if (now < 1 || now > SIGN_TIME_MAX)
		return -1;
	snprintf(at, sizeof(at), "%" PRId64, now);
	f.timestamp = at;
	f.timestamp_len = strlen(at);
	n = content(s, &f, body, len, part);
	if (s->time_tag != NULL && !more && buf_addf(out, "%s%c%s%c",
	    s->time_tag, s->sep, at, s->list[0]) == -1)
		return cut(out, before);
	for (i = 0; i < nkey; i++)
		if (((i > 0 || more) && buf_add(out, s->list, 1) == -1) ||
		    add_value(s, key[i], part, n, out) == -1)
			return cut(out, before);
	return 0;
}

static int
add_value(const struct sign_scheme *s, const struct sign_key *key,
    const struct scheme_part *part, size_t n, struct buf *out)
{
	const struct scheme_kind	*kind = scheme_kind_of(s, key);
	unsigned char			 sig[SCHEME_SIG_MAX];
	size_t				 len;

	if (kind == NULL || !key->can_sign)
		return -1;
	len = scheme_sig_len(key->alg);
	if ((key->alg == SCHEME_ED25519 ? scheme_ed25519(key, part, n, sig) :
	    scheme_hmac(key->mac, part, n, sig)) == -1)
		return -1;
	if (buf_adds(out, kind->tag) == -1 || buf_add(out, &s->sep, 1) == -1)
		return -1;
	return kind->code == SCHEME_HEX ? hex_add(out, sig, len) :
	    base64_add(out, sig, len);
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
