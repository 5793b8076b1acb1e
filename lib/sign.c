/*
 * sign.c - webhook signatures: check.
 *
 * Nothing here knows one scheme from another but by its row in scheme.c.
 */
#include <openssl/crypto.h>
#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "base64.h"
#include "sign_int.h"

#define PAIR_TRIES	16	/* signatures of pairs looked at for a key */

const char	 SIGN_TOO_OLD[] = "timestamp is too old";
const char	 SIGN_TOO_NEW[] = "timestamp is in the future";
const char	 SIGN_DIFFERENT[] = "signature does not match";
const char	 SIGN_OTHER_KIND[] = "no signature for this kind of secret";
const char	 SIGN_MALFORMED[] = "signature is malformed";
const char	 SIGN_UNKNOWN[] = "no signature that this scheme knows";

/* What came of a key, the best first. */
enum verdict {
	MATCH, DIFFERENT, MALFORMED, OTHER_KIND, UNKNOWN, BROKEN, NO_KEY
};

static const char	*const reason[] = {
	[DIFFERENT] = SIGN_DIFFERENT,
	[MALFORMED] = SIGN_MALFORMED,
	[OTHER_KIND] = SIGN_OTHER_KIND,
	[UNKNOWN] = SIGN_UNKNOWN,
	[BROKEN] = "signature can't be computed",
	[NO_KEY] = "no secret to check with",
};

static enum verdict try_key(struct scheme_making *);
static enum verdict try_kind(const struct scheme_making *,
		    const struct scheme_kind *);
static enum verdict try_element(const struct scheme_making *,
		    const struct scheme_kind *, const struct scheme_part *,
		    size_t, const unsigned char *, struct scheme_element *,
		    int *);
static int	 known_tag(const struct sign_scheme *,
		    const struct scheme_element *);
static ssize_t	 decode(enum scheme_code, const struct scheme_element *,
		    unsigned char *);
static int	 judge_time(const struct scheme_found *, int64_t, int64_t,
		    const char **);

int
sign_check(const struct sign_scheme *s, struct sign_key *const *key,
    size_t nkey, const struct sign_message *m, int64_t now,
    int64_t tolerance, size_t *which, const char **why)
{
	struct scheme_found	 f;
	struct scheme_making		 k = { .scheme = s, .message = m,
				    .found = &f };
	enum verdict		 v, best = NO_KEY;
	size_t			 i;

	if (s->check != NULL)
		return s->check(s, key, nkey, m, which, why);
	if (scheme_find(s, m, &f, why) == 1)
		return 1;
	if (s->made && scheme_start(&k, why) == -1) {
		scheme_end(&k);
		return 1;
	}
	for (i = 0; i < nkey; i++) {
		k.key = key[i];
		v = try_key(&k);
		if (v < best)
			best = v;
		if (v == MATCH)
			break;
	}
	if (s->made)
		scheme_end(&k);
	if (best != MATCH) {
		*why = reason[best];
		return 1;
	}
	if (which != NULL)
		*which = i;
	return tolerance == SIGN_NO_TOLERANCE ? 0 :
	    judge_time(&f, now, tolerance, why);
}

static int
judge_time(const struct scheme_found *f, int64_t now, int64_t tolerance,
    const char **why)
{
	if (f->at == -1) {
		*why = f->no_time;
		return *why != NULL;
	}
	if (f->at < now && (uint64_t)now - (uint64_t)f->at >
	    (uint64_t)tolerance) {
		*why = SIGN_TOO_OLD;
		return 1;
	}
	if (f->at > now && (uint64_t)f->at - (uint64_t)now >
	    (uint64_t)tolerance) {
		*why = SIGN_TOO_NEW;
		return 1;
	}
	return 0;
}

/* Is one of the signatures this key's? */
static enum verdict
try_key(struct scheme_making *k)
{
	const struct scheme_kind	*kind = k->scheme->kind;
	enum verdict			 best = BROKEN, v;
	int				 form, i;

	for (form = 0; scheme_form_url(k, form) == 1; form++)
		for (i = 0; i < SCHEME_KINDS && kind[i].tag != NULL; i++) {
			if (kind[i].alg != k->key->alg)
				continue;
			v = try_kind(k, &kind[i]);
			if (v < best)
				best = v;
			if (v == MATCH)
				return v;
		}
	return best;
}

static enum verdict
try_kind(const struct scheme_making *k, const struct scheme_kind *kind)
{
	struct scheme_part	 part[SCHEME_PARTS];
	struct scheme_part	 rest = k->found->signature;
	struct scheme_element	 e;
	unsigned char		 ours[SCHEME_SIG_MAX] = { 0 };
	enum verdict		 best = UNKNOWN, v;
	size_t			 n;
	int			 tries = 0;

	n = scheme_content(k, kind->content == NULL ? k->scheme->content :
	    kind->content, part);
	if (scheme_compute(k->key, part, n, ours) == -1)
		return BROKEN;
	while (best != MATCH && scheme_next(k->scheme, &rest, &e)) {
		v = try_element(k, kind, part, n, ours, &e, &tries);
		if (v < best)
			best = v;
	}
	OPENSSL_cleanse(ours, sizeof(ours));
	return best;
}

static enum verdict
try_element(const struct scheme_making *k, const struct scheme_kind *kind,
    const struct scheme_part *part, size_t n, const unsigned char *ours,
    struct scheme_element *e, int *tries)
{
	unsigned char	 theirs[SCHEME_SIG_MAX];
	ssize_t		 len, want = scheme_sig_len(kind->alg);

	if (!scheme_has_tag(k->scheme, e, kind->tag))
		return known_tag(k->scheme, e) ? OTHER_KIND : UNKNOWN;
	if ((len = decode(kind->code, e, theirs)) < 1 ||
	    (want != -1 && len != want))
		return MALFORMED;
	if (k->key->pkey == NULL)
		return CRYPTO_memcmp(ours, theirs, (size_t)len) == 0 ? MATCH :
		    DIFFERENT;
	return ++*tries <= PAIR_TRIES && scheme_pair_good(k->key, part, n,
	    theirs, (size_t)len) == 1 ? MATCH : DIFFERENT;
}

static int
known_tag(const struct sign_scheme *s, const struct scheme_element *e)
{
	struct scheme_element	 copy = *e;
	size_t			 i;

	for (i = 0; i < SCHEME_KINDS && s->kind[i].tag != NULL; i++)
		if (scheme_has_tag(s, &copy, s->kind[i].tag))
			return 1;
	return 0;
}

/* A secret is compared by its hash, so that its length does not show. */
static ssize_t
decode(enum scheme_code code, const struct scheme_element *e,
    unsigned char *sig)
{
	struct scheme_part	 value = { e->value, e->value_len };

	switch (code) {
	case SCHEME_BASE64:
		return base64_decode(e->value, e->value_len, sig,
		    SCHEME_SIG_MAX);
	case SCHEME_HEX:
		return hex_decode(e->value, e->value_len, sig,
		    SCHEME_SIG_MAX);
	case SCHEME_AS_IS:
		return scheme_hash(&value, 1, sig) == -1 ? -1 : 32;
	}
	return -1;
}
