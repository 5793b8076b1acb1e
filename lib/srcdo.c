#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "secret.h"
#include "sources.h"
#include "srcdo.h"
#include "stmt.h"

#define NAME_MAX_BYTES	64
#define URL_MAX_BYTES	2048

static int	 begin(struct srcdo *);
static int	 end_secrets(struct srcdo *, const char *, const char *,
		    const char *, int, char [24]);
static int	 fail(struct srcdo *, int, const char *, ...)
		    __attribute__((__format__(printf, 3, 4)));
static int	 fail_db(struct srcdo *);
static int	 finish(struct srcdo *);
static int	 not_found(struct srcdo *, const char *);
static int	 put_secret(struct srcdo *, const char *, const char *,
		    const char *);
static int	 show(struct srcdo *, const char *);

int
srcdo_name(const char *s)
{
	static const char	 first[] = "0123456789abcdefghijklmnopqrstuv"
				    "wxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-";
	size_t			 n = strspn(s, first);

	return n >= 1 && n <= NAME_MAX_BYTES && s[n] == '\0' &&
	    strchr("._-", *s) == NULL;
}

int
srcdo_url(const char *s, const char **why)
{
	const char	*host = NULL;
	size_t		 i;

	*why = "invalid";
	if (strncmp(s, "http://", 7) == 0)
		host = s + 7;
	else if (strncmp(s, "https://", 8) == 0)
		host = s + 8;
	if (host == NULL || *host == '\0' || strchr("/:?#", *host) != NULL)
		return -1;
	for (i = 0; s[i] != '\0'; i++)
		if (s[i] <= ' ' || s[i] > '~')
			return -1;
	if (strcspn(s, "?#") != i) {
		*why = "has a query, which is the request's, or a fragment";
		return -1;
	}
	if (strchr(host, '@') != NULL &&
	    strcspn(host, "@") < strcspn(host, "/")) {
		*why = "has credentials";
		return -1;
	}
	if (i > URL_MAX_BYTES) {
		*why = "too long";
		return -1;
	}
	return 0;
}

int
srcdo_add(struct srcdo *s, const char *name, const struct srcopt *o,
    char *const *secret, size_t n, const char *word)
{
	char	 id[24];
	size_t	 i;

	if (begin(s) == -1)
		return -1;
	if (db_run(s->db, &stmt_source_add, DB_ARGS(name,
	    sign_scheme_name(o->scheme), o->tolerance, o->public_url,
	    o->unpack == NULL ? "f" : o->unpack, s->who, s->reason)) == -1)
		return fail_db(s);
	if (db_rows(s->db) == 0)
		return fail(s, EX_DATAERR, "source %s: there is one", name);
	snprintf(id, sizeof(id), "%s", db_col(s->db, 0, 0));
	/* The first given is to be the newest. */
	for (i = n; i > 0; i--)
		if (put_secret(s, id, "signature", secret[i - 1]) == -1)
			return -1;
	if (word != NULL && put_secret(s, id, "handshake", word) == -1)
		return -1;
	return show(s, name);
}

int
srcdo_set(struct srcdo *s, const char *name, const struct srcopt *o,
    const char *word)
{
	char	 id[24];

	if (begin(s) == -1)
		return -1;
	if (db_run(s->db, &stmt_source_set, DB_ARGS(name, o->tolerance,
	    o->public_url, o->unpack, s->who, s->reason)) == -1)
		return fail_db(s);
	if (db_rows(s->db) == 0)
		return not_found(s, name);
	if (word != NULL &&
	    (end_secrets(s, name, "0", "handshake", 1, id) == -1 ||
	    put_secret(s, id, "handshake", word) == -1))
		return -1;
	return show(s, name);
}

int
srcdo_rotate(struct srcdo *s, const char *name, int64_t grace_ms,
    char *const *secret, size_t n)
{
	char	 grace[24], id[24];
	size_t	 i;

	snprintf(grace, sizeof(grace), "%" PRId64, grace_ms);
	if (begin(s) == -1 ||
	    end_secrets(s, name, grace, "signature", (int)n, id) == -1)
		return -1;
	for (i = n; i > 0; i--)
		if (put_secret(s, id, "signature", secret[i - 1]) == -1)
			return -1;
	return show(s, name);
}

int
srcdo_rm(struct srcdo *s, const char *name)
{
	if (begin(s) == -1)
		return -1;
	if (db_run(s->db, &stmt_source_rm, DB_ARGS(name, s->who,
	    s->reason)) == -1)
		return fail_db(s);
	if (db_rows(s->db) == 0)
		return not_found(s, name);
	return finish(s);
}

int
srcdo_show(struct srcdo *s, const char *name)
{
	if (db_run(s->db, &stmt_source_show, DB_ARGS(name)) == -1)
		return fail_db(s);
	return db_rows(s->db) == 0 ? not_found(s, name) : 0;
}

const struct sign_scheme *
srcdo_scheme(struct srcdo *s, const char *name)
{
	const struct sign_scheme	*scheme;

	if (srcdo_show(s, name) == -1)
		return NULL;
	if ((scheme = sign_scheme(db_col(s->db, 0, 2))) == NULL)
		fail(s, EX_UNAVAILABLE, "source %s: scheme %s is not known"
		    " here", name, db_col(s->db, 0, 2));
	else
		return scheme;
	return NULL;
}

static int
begin(struct srcdo *s)
{
	return db_exec(s->db, "begin") == -1 ? fail_db(s) : 0;
}

static int
finish(struct srcdo *s)
{
	return s->dry_run || db_commit(s->db) != -1 ? 0 : fail_db(s);
}

/* Leave the source as it is now for the last result. */
static int
show(struct srcdo *s, const char *name)
{
	return srcdo_show(s, name) == -1 ? -1 : finish(s);
}

/* To make room for n new ones. */
static int
end_secrets(struct srcdo *s, const char *name, const char *grace_ms,
    const char *purpose, int n, char id[24])
{
	if (db_run(s->db, &stmt_source_lock, DB_ARGS(name)) == -1 ||
	    db_run(s->db, &stmt_source_end, DB_ARGS(name, grace_ms, purpose,
	    s->who, s->reason)) == -1)
		return fail_db(s);
	if (db_rows(s->db) == 0)
		return not_found(s, name);
	if (db_int(s->db, 0, 1) + n > SOURCE_KEYS)
		return fail(s, EX_DATAERR, "source %s: %s secrets are taken"
		    " already, of %d; the first ends %s: wait, or end them now"
		    " with -g 0", name, db_col(s->db, 0, 1), SOURCE_KEYS,
		    db_col(s->db, 0, 2));
	snprintf(id, 24, "%s", db_col(s->db, 0, 0));
	return 0;
}

static int
put_secret(struct srcdo *s, const char *id, const char *purpose,
    const char *secret)
{
	struct buf	 sealed = BUF_INIT(4 * SECRET_MAX);
	const char	*why;
	int		 rc = 0;

	if (seal_close(&s->seal, source_context(id), secret, &sealed,
	    &why) == -1)
		rc = fail(s, EX_TEMPFAIL, "sealing: %s", why);
	else if (db_run(s->db, &stmt_source_secret, DB_ARGS(id, purpose,
	    sealed.s)) == -1)
		rc = fail_db(s);
	buf_wipe(&sealed);
	return rc;
}

static int
not_found(struct srcdo *s, const char *name)
{
	return fail(s, 1, "source %s: not found", name);
}

static int
fail_db(struct srcdo *s)
{
	return fail(s, db_exitcode(s->db), "%s", db_error(s->db));
}

static int
fail(struct srcdo *s, int code, const char *fmt, ...)
{
	va_list	 ap;

	va_start(ap, fmt);
	vsnprintf(s->why, sizeof(s->why), fmt, ap);
	va_end(ap);
	s->code = code;
	return -1;
}
