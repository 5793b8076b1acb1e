/*
 * sign_key.c - secrets in their published form.  A key is prepared once and
 * used for many messages.
 */
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdlib.h>
#include <string.h>

#include "base64.h"
#include "sign_int.h"

/* Bytes of a symmetric key: the specification's; and others' (Svix's most). */
#define SIGN_MIN	24
#define SIGN_MAX	64
#define CHECK_MIN	16
#define CHECK_MAX	75

#define SEED		32		/* bytes of each half of a whsk_ */
#define TEXT_MAX	1024		/* bytes of a secret that is text */
#define PEM_MAX		4096		/* bytes of one that is PEM */

static int	 read_any(const struct sign_scheme *, struct sign_key *,
		    const char *, int, const char **);
static int	 read_bytes(struct sign_key *, const void *, size_t,
		    const char **);
static int	 read_hex(struct sign_key *, const char *, const char **);
static int	 read_wh(struct sign_key *, const char *, int, const char **);
static int	 read_whsec(struct sign_key *, const char *, int,
		    const char **);
static int	 read_whsk(struct sign_key *, const char *, const char **);
static int	 read_whpk(struct sign_key *, const char *, const char **);
static int	 refuse(const char **, const char *);

struct sign_key *
sign_key(const struct sign_scheme *s, const char *secret, int for_signing,
    const char **why)
{
	struct sign_key	*key;
	size_t		 len = strlen(secret);
	int		 rc = -1;

	if ((key = calloc(1, sizeof(*key))) == NULL) {
		refuse(why, "out of memory");
		return NULL;
	}
	key->alg = s->kind[0].alg;
	key->can_sign = for_signing;
	key->text.max = TEXT_MAX;
	if (len == 0)
		refuse(why, "empty");
	else if (len > (strncmp(secret, "-----BEGIN ", 11) == 0 ? PEM_MAX :
	    TEXT_MAX))
		refuse(why, "too long");
	else
		rc = read_any(s, key, secret, for_signing, why);
	if (rc == -1) {
		sign_key_free(key);
		return NULL;
	}
	return key;
}

struct sign_key *
sign_key_bytes(const struct sign_scheme *s, const void *secret, size_t len)
{
	struct sign_key	*key;
	const char	*why;

	if (len == 0 || len > TEXT_MAX ||
	    s->kind[0].alg == SCHEME_ED25519 ||
	    s->kind[0].alg == SCHEME_ECDSA_P256 ||
	    (key = calloc(1, sizeof(*key))) == NULL)
		return NULL;
	key->alg = s->kind[0].alg;
	key->text.max = TEXT_MAX;
	if (read_bytes(key, secret, len, &why) == -1) {
		sign_key_free(key);
		return NULL;
	}
	return key;
}

void
sign_key_free(struct sign_key *key)
{
	if (key == NULL)
		return;
	EVP_MAC_CTX_free(key->mac);
	EVP_MAC_CTX_free(key->legacy);
	EVP_PKEY_free(key->pkey);
	buf_wipe(&key->text);
	free(key);
}

int
sign_new_secret(int ed25519, struct buf *out)
{
	unsigned char	 raw[2 * SEED];
	EVP_PKEY	*pkey = NULL;
	size_t		 n = SEED;
	int		 rc = -1;

	if (RAND_priv_bytes(raw, SEED) != 1)
		return -1;
	if (ed25519 && ((pkey = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519,
	    NULL, raw, SEED)) == NULL ||
	    EVP_PKEY_get_raw_public_key(pkey, raw + SEED, &n) != 1))
		goto out;
	if (buf_adds(out, ed25519 ? "whsk_" : "whsec_") == 0 &&
	    base64_add(out, raw, ed25519 ? sizeof(raw) : SEED) == 0)
		rc = 0;
out:
	EVP_PKEY_free(pkey);
	explicit_bzero(raw, sizeof(raw));
	return rc;
}

int
sign_public(const struct sign_key *key, struct buf *out)
{
	unsigned char	 raw[SEED];
	size_t		 n = sizeof(raw);

	if (key->pkey == NULL || key->alg != SCHEME_ED25519 ||
	    EVP_PKEY_get_raw_public_key(key->pkey, raw, &n) != 1 ||
	    buf_adds(out, "whpk_") == -1)
		return -1;
	return base64_add(out, raw, n);
}

static int
read_any(const struct sign_scheme *s, struct sign_key *key,
    const char *secret, int for_signing, const char **why)
{
	switch (s->secret) {
	case SCHEME_SECRET_WH:
		return read_wh(key, secret, for_signing, why);
	case SCHEME_SECRET_TEXT:
		return read_bytes(key, secret, strlen(secret), why);
	case SCHEME_SECRET_HEX:
		return read_hex(key, secret, why);
	case SCHEME_SECRET_ED25519:
		return scheme_read_ed25519(key, secret, for_signing, why);
	case SCHEME_SECRET_P256:
		return scheme_read_p256(key, secret, for_signing, why);
	}
	return refuse(why, "of no known kind");
}

static int
read_bytes(struct sign_key *key, const void *secret, size_t len,
    const char **why)
{
	if (key->alg == SCHEME_SHA256 || key->alg == SCHEME_TOKEN) {
		if (buf_add(&key->text, secret, len) == -1)
			return refuse(why, "out of memory");
	} else if ((key->mac = scheme_hmac_new(key->alg, secret, len)) == NULL)
		return refuse(why, "out of memory");
	return 0;
}

static int
read_hex(struct sign_key *key, const char *s, const char **why)
{
	unsigned char	 raw[TEXT_MAX / 2];
	ssize_t		 n;
	int		 rc;

	n = hex_decode(s, strlen(s), raw, sizeof(raw));
	if (n < CHECK_MIN)
		rc = refuse(why, n == -1 ? "not hex digits, two for each byte" :
		    "shorter than 16 bytes");
	else
		rc = read_bytes(key, raw, (size_t)n, why);
	explicit_bzero(raw, sizeof(raw));
	return rc;
}

static int
read_wh(struct sign_key *key, const char *s, int for_signing,
    const char **why)
{
	if (strncmp(s, "whsk_", 5) == 0)
		return read_whsk(key, s + 5, why);
	if (strncmp(s, "whpk_", 5) != 0)
		return read_whsec(key, s, for_signing, why);
	if (for_signing)
		return refuse(why, "a public key (whpk_) can't sign");
	return read_whpk(key, s + 5, why);
}

/* Symmetric.  The prefix is optional, and so is the padding. */
static int
read_whsec(struct sign_key *key, const char *text, int for_signing,
    const char **why)
{
	unsigned char	 raw[TEXT_MAX];
	const char	*s = text;
	ssize_t		 n;
	int		 rc = -1;

	if (strncmp(s, "whsec_", 6) == 0)
		s += 6;
	n = base64_decode_lax(s, strlen(s), raw, sizeof(raw));
	if (n == -1)
		refuse(why, "not base64");
	else if (n < (for_signing ? SIGN_MIN : CHECK_MIN))
		refuse(why, for_signing ? "shorter than 24 bytes" :
		    "shorter than 16 bytes");
	else if (n > (for_signing ? SIGN_MAX : CHECK_MAX))
		refuse(why, for_signing ? "longer than 64 bytes" :
		    "longer than 75 bytes");
	else if ((key->mac = scheme_hmac_new(SCHEME_HMAC_SHA256, raw,
	    (size_t)n)) == NULL || (for_signing &&
	    (key->legacy = scheme_hmac_new(SCHEME_HMAC_SHA256, text,
	    strlen(text))) == NULL))
		refuse(why, "out of memory");
	else
		rc = 0;
	explicit_bzero(raw, sizeof(raw));
	key->alg = SCHEME_HMAC_SHA256;
	return rc;
}

/* An ed25519 pair: the seed, then the public key that belongs to it. */
static int
read_whsk(struct sign_key *key, const char *s, const char **why)
{
	unsigned char	 raw[2 * SEED], public[SEED];
	size_t		 n = sizeof(public);
	int		 rc = -1;

	key->alg = SCHEME_ED25519;
	if (base64_decode(s, strlen(s), raw, sizeof(raw)) != sizeof(raw))
		refuse(why, "not base64 of 64 bytes behind whsk_");
	else if ((key->pkey = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519,
	    NULL, raw, SEED)) == NULL ||
	    EVP_PKEY_get_raw_public_key(key->pkey, public, &n) != 1)
		refuse(why, "out of memory");
	else if (memcmp(public, raw + SEED, sizeof(public)) != 0)
		refuse(why, "halves of the key pair do not belong together");
	else
		rc = 0;
	explicit_bzero(raw, sizeof(raw));
	return rc;
}

static int
read_whpk(struct sign_key *key, const char *s, const char **why)
{
	unsigned char	 raw[SEED];

	key->alg = SCHEME_ED25519;
	if (base64_decode(s, strlen(s), raw, sizeof(raw)) != sizeof(raw))
		return refuse(why, "not base64 of 32 bytes behind whpk_");
	key->pkey = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, raw,
	    sizeof(raw));
	return key->pkey == NULL ? refuse(why, "out of memory") : 0;
}

static int
refuse(const char **why, const char *what)
{
	*why = what;
	return -1;
}
