#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "out.h"
#include "secret.h"
#include "sign.h"
#include "stmt.h"
#include "subkey.h"

static struct sign_key *key_of(struct subkey *, const char *, const char *);
static int	 fail(struct subkey *, int, const char *, ...)
		    __attribute__((__format__(printf, 3, 4)));
static int	 list_one(struct subkey *, struct db *, const char *, int,
		    struct buf *);

int
subkey_load(struct subkey *k)
{
	const char	*why;

	if (seal_load(&k->seal, &why) == -1)
		return fail(k, EX_UNAVAILABLE, "HOOK_KEY_FILE: %s", why);
	return 0;
}

void
subkey_wipe(struct subkey *k)
{
	seal_wipe(&k->seal);
}

int
subkey_make(struct subkey *k, const char *path, int ed25519,
    struct buf *secret)
{
	struct sign_key	*key;
	const char	*why;

	if (path == NULL)
		return sign_new_secret(ed25519, secret) == -1 ?
		    fail(k, EX_TEMPFAIL, "no random bytes") : 0;
	if (secret_read(path, secret, &why) == -1)
		return fail(k, EX_DATAERR, "-k %s: %s", path, why);
	if ((key = key_of(k, path, secret->s)) == NULL)
		return -1;
	sign_key_free(key);
	return 0;
}

int
subkey_store(struct subkey *k, struct db *db, const char *id,
    const char *secret)
{
	struct buf	 sealed = BUF_INIT(4 * SECRET_MAX);
	const char	*why;
	int		 rc = -1;

	if (seal_close(&k->seal, id, secret, &sealed, &why) == -1)
		fail(k, EX_TEMPFAIL, "sealing: %s", why);
	else if (db_run(db, &stmt_sub_secret, DB_ARGS(id, sealed.s)) == -1)
		fail(k, db_exitcode(db), "%s", db_error(db));
	else
		rc = 0;
	buf_wipe(&sealed);
	return rc;
}

int
subkey_json(struct subkey *k, const char *secret, struct buf *out)
{
	struct sign_key	*key;
	int		 failed = 0;

	failed |= buf_adds(out, "\"secret\":") == -1 ||
	    out_string(out, secret, strlen(secret)) == -1;
	if (strncmp(secret, "whsk_", 5) == 0) {
		if ((key = key_of(k, "the secret", secret)) == NULL)
			return -1;
		failed |= buf_adds(out, ",\"public_key\":\"") == -1 ||
		    sign_public(key, out) == -1 || buf_adds(out, "\"") == -1;
		sign_key_free(key);
	}
	return failed ? fail(k, EX_TEMPFAIL, "out of memory") : 0;
}

int
subkey_list(struct subkey *k, struct db *db, const char *id, int reveal,
    struct buf *out)
{
	int	 i, n;

	n = db_run(db, &stmt_sub_secrets, DB_ARGS(id, reveal ? "t" : "f"));
	if (n == -1)
		return fail(k, db_exitcode(db), "%s", db_error(db));
	if (buf_adds(out, "\"secrets\":[") == -1)
		return fail(k, EX_TEMPFAIL, "out of memory");
	for (i = 0; i < n; i++)
		if ((i > 0 && buf_adds(out, ",") == -1) ||
		    list_one(k, db, id, i, out) == -1)
			return k->code != 0 ? -1 :
			    fail(k, EX_TEMPFAIL, "out of memory");
	return buf_adds(out, "]") == -1 ?
	    fail(k, EX_TEMPFAIL, "out of memory") : 0;
}

/* Row i of sub_secrets. */
static int
list_one(struct subkey *k, struct db *db, const char *id, int i,
    struct buf *out)
{
	struct buf	 secret = BUF_INIT(SECRET_MAX);
	const char	*expires = db_col(db, i, 2), *stored, *why;
	int		 rc = -1;

	if (buf_addf(out, "{\"id\":%s,\"created_at\":\"%s\",\"expires_at\":",
	    db_col(db, i, 0), db_col(db, i, 1)) == -1 ||
	    (expires == NULL ? buf_adds(out, "null") :
	    buf_addf(out, "\"%s\"", expires)) == -1)
		return -1;
	if ((stored = db_col(db, i, 3)) == NULL)
		return buf_adds(out, "}");
	if (seal_open(&k->seal, id, stored, &secret, &why) == -1)
		fail(k, EX_UNAVAILABLE, "subscription %s: secret %s: %s", id,
		    db_col(db, i, 0), why);
	else if (buf_adds(out, ",") != -1 &&
	    subkey_json(k, secret.s, out) != -1)
		rc = buf_adds(out, "}");
	buf_wipe(&secret);
	return rc;
}

/* A secret that can sign, or NULL. */
static struct sign_key *
key_of(struct subkey *k, const char *name, const char *secret)
{
	struct sign_key	*key;
	const char	*why;

	key = sign_key(sign_scheme("standard_webhooks"), secret, 1, &why);
	if (key == NULL)
		fail(k, EX_DATAERR, "%s: %s", name, why);
	return key;
}

static int
fail(struct subkey *k, int code, const char *fmt, ...)
{
	va_list	 ap;

	va_start(ap, fmt);
	vsnprintf(k->why, sizeof(k->why), fmt, ap);
	va_end(ap);
	k->code = code;
	return -1;
}
