/*
 * seal.c - secrets at rest: AES-256-GCM under the key in HOOK_KEY_FILE.
 */
#include <sys/stat.h>

#include <openssl/evp.h>
#include <openssl/rand.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base64.h"
#include "seal.h"

#define NONCE		12		/* bytes */
#define TAG		16		/* bytes */
#define PLAIN_MAX	4096		/* bytes of a secret */
#define SEALED_MAX	(NONCE + PLAIN_MAX + TAG)
#define FILE_MAX	256		/* bytes of a key file */

static const char *credential(void);
static int	 read_key(int, struct seal *, const char **);
static int	 key_of(const struct buf *, struct seal *);
static int	 private_file(int);
static int	 encrypt(const struct seal *, const char *, const char *,
		    size_t, unsigned char *);
static int	 decrypt(const struct seal *, const char *,
		    const unsigned char *, size_t, unsigned char *);
static int	 is_sealed(const char *);
static int	 fail(const char **, const char *);

int
seal_load(struct seal *s, const char **why)
{
	const char	*path = getenv("HOOK_KEY_FILE");
	int		 fd, rc;

	memset(s, 0, sizeof(*s));
	if (path == NULL || *path == '\0')
		path = credential();
	if (path == NULL)
		return 0;
	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) == -1)
		return fail(why, errno == ENOENT ? "no such file" :
		    errno == EACCES ? "permission denied" :
		    "can't be opened");
	rc = private_file(fd) ? read_key(fd, s, why) :
	    fail(why, "others have access to it: chmod 600");
	close(fd);
	return rc;
}

/* What LoadCredential=hook.key of a unit brought, if it did. */
static const char *
credential(void)
{
	static char	 path[PATH_MAX];
	const char	*dir = getenv("CREDENTIALS_DIRECTORY");
	int		 n;

	if (dir == NULL)
		return NULL;
	n = snprintf(path, sizeof(path), "%s/hook.key", dir);
	if (n < 0 || (size_t)n >= sizeof(path) || access(path, F_OK) == -1)
		return NULL;
	return path;
}

void
seal_wipe(struct seal *s)
{
	explicit_bzero(s, sizeof(*s));
}

int
seal_close(const struct seal *s, const char *context, const char *plain,
    struct buf *out, const char **why)
{
	unsigned char	 raw[SEALED_MAX];
	size_t		 len = strlen(plain), before = out->len;

	if (is_sealed(plain))
		return fail(why, "secret is sealed already");
	if (len > PLAIN_MAX)
		return fail(why, "secret is too long");
	if (!s->set)
		return buf_add(out, plain, len) == 0 ? 0 :
		    fail(why, "out of memory");

	if (encrypt(s, context, plain, len, raw) == -1)
		return fail(why, "secret can't be sealed");
	if (buf_adds(out, SEAL_PREFIX) == -1 ||
	    base64_add(out, raw, NONCE + len + TAG) == -1) {
		out->len = before;
		return fail(why, "out of memory");
	}
	return 0;
}

int
seal_open(const struct seal *s, const char *context, const char *stored,
    struct buf *out, const char **why)
{
	unsigned char	 raw[SEALED_MAX], plain[PLAIN_MAX];
	const char	*text = stored + strlen(SEAL_PREFIX);
	ssize_t		 n;
	int		 len, rc;

	if (!is_sealed(stored))
		return buf_adds(out, stored) == 0 ? 0 :
		    fail(why, "out of memory");
	if (!s->set)
		return fail(why, "secret is sealed, and HOOK_KEY_FILE not set");
	n = base64_decode(text, strlen(text), raw, sizeof(raw));
	if (n < NONCE + TAG)
		return fail(why, "sealed secret is damaged");
	len = decrypt(s, context, raw, (size_t)n, plain);
	if (len == -1)
		return fail(why, "sealed secret does not open: another "
		    "HOOK_KEY_FILE, another row, or damaged");
	rc = buf_add(out, plain, (size_t)len);
	explicit_bzero(plain, sizeof(plain));
	return rc == 0 ? 0 : fail(why, "out of memory");
}

static int
read_key(int fd, struct seal *s, const char **why)
{
	struct buf	 text = BUF_INIT(FILE_MAX);
	int		 rc;

	if (buf_readall(&text, fd) == -1)
		rc = fail(why, errno == EFBIG ? "too long" :
		    "can't be read");
	else if (key_of(&text, s) == -1)
		rc = fail(why, "not a key: 32 bytes, as 64 hex digits, "
		    "base64 or raw");
	else {
		s->set = 1;
		rc = 0;
	}
	buf_wipe(&text);
	return rc;
}

static int
key_of(const struct buf *text, struct seal *s)
{
	size_t	 len = text->len;

	if (len == SEAL_KEY) {
		memcpy(s->key, text->s, SEAL_KEY);
		return 0;
	}
	while (len > 0 && (text->s[len - 1] == '\n' ||
	    text->s[len - 1] == '\r'))
		len--;
	if (len == 0)
		return -1;
	if (hex_decode(text->s, len, s->key, SEAL_KEY) == SEAL_KEY ||
	    base64_decode(text->s, len, s->key, SEAL_KEY) == SEAL_KEY)
		return 0;
	explicit_bzero(s->key, sizeof(s->key));
	return -1;
}

/* As PostgreSQL wants its ssl_key_file. */
static int
private_file(int fd)
{
	struct stat	 st;

	if (fstat(fd, &st) == -1)
		return 0;
	return (st.st_mode & (st.st_uid == 0 ? 037 : 077)) == 0;
}

/* raw gets nonce, ciphertext and tag. */
static int
encrypt(const struct seal *s, const char *context, const char *plain,
    size_t len, unsigned char *raw)
{
	EVP_CIPHER_CTX	*ctx;
	unsigned char	*p = raw + NONCE;
	int		 n, rc = -1;

	if ((ctx = EVP_CIPHER_CTX_new()) == NULL)
		return -1;
	if (RAND_bytes(raw, NONCE) == 1 &&
	    EVP_EncryptInit_ex(ctx, EVP_aes_256_gcm(), NULL, s->key,
	    raw) == 1 &&
	    EVP_EncryptUpdate(ctx, NULL, &n, (const unsigned char *)context,
	    (int)strlen(context)) == 1 &&
	    EVP_EncryptUpdate(ctx, p, &n, (const unsigned char *)plain,
	    (int)len) == 1 &&
	    EVP_EncryptFinal_ex(ctx, p + n, &n) == 1 &&
	    EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, TAG,
	    p + len) == 1)
		rc = 0;
	EVP_CIPHER_CTX_free(ctx);
	return rc;
}

/* The length of plain, or -1. */
static int
decrypt(const struct seal *s, const char *context, const unsigned char *raw,
    size_t len, unsigned char *plain)
{
	EVP_CIPHER_CTX	*ctx;
	unsigned char	 tag[TAG];
	int		 n, m, rc = -1, text = (int)len - NONCE - TAG;

	if ((ctx = EVP_CIPHER_CTX_new()) == NULL)
		return -1;
	memcpy(tag, raw + NONCE + text, TAG);
	if (EVP_DecryptInit_ex(ctx, EVP_aes_256_gcm(), NULL, s->key,
	    raw) == 1 &&
	    EVP_DecryptUpdate(ctx, NULL, &n, (const unsigned char *)context,
	    (int)strlen(context)) == 1 &&
	    EVP_DecryptUpdate(ctx, plain, &n, raw + NONCE, text) == 1 &&
	    EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, TAG, tag) == 1 &&
	    EVP_DecryptFinal_ex(ctx, plain + n, &m) == 1)
		rc = n + m;
	else
		explicit_bzero(plain, PLAIN_MAX);
	EVP_CIPHER_CTX_free(ctx);
	return rc;
}

static int
is_sealed(const char *s)
{
	return strncmp(s, SEAL_PREFIX, strlen(SEAL_PREFIX)) == 0;
}

static int
fail(const char **why, const char *what)
{
	*why = what;
	return -1;
}
