/*
 * sign_pair.c - keys of pairs as services print them: hex, base64, PEM.
 */
#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <string.h>

#include "base64.h"
#include "sign_int.h"

#define SEED		32	/* bytes of either half of an ed25519 key */
#define DER_MAX		2048	/* bytes */

static EVP_PKEY	*read_pem(const char *, int);
static int	 no_password(char *, int, int, void *);
static int	 is_p256(const EVP_PKEY *);
static int	 refuse(const char **, const char *);

/*
 * 64 hex digits are the public key, or, to sign, the seed; 128 are both; or
 * PEM.
 */
int
scheme_read_ed25519(struct sign_key *key, const char *s, int for_signing,
    const char **why)
{
	unsigned char	 raw[2 * SEED], public[SEED];
	size_t		 n = sizeof(public);
	ssize_t		 len;
	int		 rc = -1;

	key->alg = SCHEME_ED25519;
	if (strncmp(s, "-----BEGIN ", 11) == 0) {
		if ((key->pkey = read_pem(s, for_signing)) == NULL ||
		    EVP_PKEY_get_base_id(key->pkey) != EVP_PKEY_ED25519)
			return refuse(why, for_signing ?
			    "not the PEM of an ed25519 private key" :
			    "not the PEM of an ed25519 key");
		return 0;
	}
	len = hex_decode(s, strlen(s), raw, sizeof(raw));
	if (len == SEED && !for_signing)
		key->pkey = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519,
		    NULL, raw, SEED);
	else if (len == SEED || len == 2 * SEED)
		key->pkey = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519,
		    NULL, raw, SEED);
	else {
		refuse(why, for_signing ? "not a private key: 64 hex digits "
		    "of the seed, 128 with the public key, or PEM" :
		    "not a public key: 64 hex digits, or PEM");
		goto out;
	}
	if (key->pkey == NULL)
		refuse(why, "out of memory");
	else if (len == 2 * SEED && (EVP_PKEY_get_raw_public_key(key->pkey,
	    public, &n) != 1 || memcmp(public, raw + SEED, SEED) != 0))
		refuse(why, "halves of the key pair do not belong together");
	else
		rc = 0;
out:
	explicit_bzero(raw, sizeof(raw));
	return rc;
}

/* The base64 of a public key in DER (SubjectPublicKeyInfo), or PEM. */
int
scheme_read_p256(struct sign_key *key, const char *s, int for_signing,
    const char **why)
{
	unsigned char		 der[DER_MAX];
	const unsigned char	*p = der;
	ssize_t			 n;

	key->alg = SCHEME_ECDSA_P256;
	if (strncmp(s, "-----BEGIN ", 11) == 0)
		key->pkey = read_pem(s, for_signing);
	else if (for_signing)
		return refuse(why, "not a private key: PEM");
	else if ((n = base64_decode(s, strlen(s), der, sizeof(der))) > 0) {
		key->pkey = d2i_PUBKEY(NULL, &p, n);
		ERR_clear_error();
		if (p != der + n) {
			EVP_PKEY_free(key->pkey);
			key->pkey = NULL;
		}
	}
	if (key->pkey != NULL && is_p256(key->pkey))
		return 0;
	return refuse(why, for_signing ?
	    "not the PEM of a P-256 private key" :
	    "not a P-256 public key: base64 of its DER, or PEM");
}

/* A public one will do to verify; a private one does both. */
static EVP_PKEY *
read_pem(const char *s, int for_signing)
{
	BIO		*bio = BIO_new_mem_buf(s, -1);
	EVP_PKEY	*pkey = NULL;

	if (bio == NULL)
		return NULL;
	if (strstr(s, "PRIVATE KEY-----") != NULL)
		pkey = PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL);
	else if (!for_signing)
		pkey = PEM_read_bio_PUBKEY(bio, NULL, no_password, NULL);
	BIO_free(bio);
	ERR_clear_error();
	return pkey;
}

/* OpenSSL would ask the terminal. */
static int
no_password(char *text, int size, int writing, void *arg)
{
	(void)text;
	(void)size;
	(void)writing;
	(void)arg;
	return -1;
}

static int
is_p256(const EVP_PKEY *pkey)
{
	char	 group[64];
	size_t	 n;

	return EVP_PKEY_get_base_id(pkey) == EVP_PKEY_EC &&
	    EVP_PKEY_get_utf8_string_param(pkey, OSSL_PKEY_PARAM_GROUP_NAME,
	    group, sizeof(group), &n) == 1 &&
	    strcmp(group, "prime256v1") == 0;
}

static int
refuse(const char **why, const char *what)
{
	*why = what;
	return -1;
}
