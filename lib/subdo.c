#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "stmt.h"
#include "sub.h"
#include "subdo.h"

static int	 begin(struct subdo *);
static int	 fail(struct subdo *, int, const char *, ...)
		    __attribute__((__format__(printf, 3, 4)));
static int	 fail_db(struct subdo *);
static int	 finish(struct subdo *);
static int	 not_found(struct subdo *, const char *);
static int	 put_secret(struct subdo *, const char *, struct subkey *,
		    const char *);
static int	 put_settings(struct subdo *, const char *, struct subopt *,
		    const char *);
static int	 show(struct subdo *, const char *);

int
subdo_add(struct subdo *s, struct subopt *o, struct subkey *k,
    const char *secret)
{
	char	 id[24];

	if (begin(s) == -1)
		return -1;
	if (db_run(s->db, &stmt_sub_add, DB_ARGS(o->url)) == -1)
		return fail_db(s);
	snprintf(id, sizeof(id), "%s", db_col(s->db, 0, 0));
	if (put_settings(s, id, o, "add") == -1 ||
	    put_secret(s, id, k, secret) == -1)
		return -1;
	return show(s, id);
}

int
subdo_set(struct subdo *s, const char *id, struct subopt *o)
{
	if (begin(s) == -1 || put_settings(s, id, o, "set") == -1)
		return -1;
	return show(s, id);
}

int
subdo_rotate(struct subdo *s, const char *id, int64_t grace_ms,
    struct subkey *k, const char *secret)
{
	char	 grace[24];

	snprintf(grace, sizeof(grace), "%" PRId64, grace_ms);
	if (begin(s) == -1)
		return -1;
	if (db_run(s->db, &stmt_sub_lock, DB_ARGS(id)) == -1 ||
	    db_run(s->db, &stmt_sub_rotate, DB_ARGS(id, grace, s->who,
	    s->reason)) == -1)
		return fail_db(s);
	if (db_rows(s->db) == 0)
		return not_found(s, id);
	if (db_int(s->db, 0, 1) >= SUB_KEYS)
		return fail(s, EX_DATAERR, "subscription %s: %d secrets sign"
		    " already, the first ends %s: wait, or end them now with"
		    " -g 0", id, SUB_KEYS, db_col(s->db, 0, 2));
	if (put_secret(s, id, k, secret) == -1)
		return -1;
	return show(s, id);
}

int
subdo_change(struct subdo *s, const char *what, const struct ids *ids)
{
	struct buf	 array = BUF_INIT((size_t)IDS_MAX * 24);
	int		 i, rows;

	if (begin(s) == -1)
		return -1;
	if (ids_array(ids, 0, ids->n, &array) == -1)
		return fail(s, EX_TEMPFAIL, "out of memory");
	if (strcmp(what, "rm") == 0)
		rows = db_run(s->db, &stmt_sub_rm, DB_ARGS(array.s, s->who,
		    s->reason));
	else
		rows = db_run(s->db, &stmt_sub_state, DB_ARGS(array.s,
		    strcmp(what, "pause") == 0 ? "paused" : "active", s->who,
		    s->reason));
	buf_free(&array);
	if (rows == -1)
		return fail_db(s);
	for (i = 0; i < rows; i++)
		if (db_col(s->db, i, 3) == NULL)
			return not_found(s, db_col(s->db, i, 0));
	return finish(s);
}

int
subdo_test(struct subdo *s, const char *id, const char *payload,
    char event[80])
{
	if (begin(s) == -1)
		return -1;
	if (db_run(s->db, &stmt_sub_test, DB_ARGS(id, payload, s->who,
	    s->reason)) == -1)
		return fail_db(s);
	if (db_rows(s->db) == 0)
		return not_found(s, id);
	if (db_col(s->db, 0, 1) == NULL)
		return fail(s, 1, "subscription %s: %s: resume it first", id,
		    db_col(s->db, 0, 0));
	snprintf(event, 80, "%s", db_col(s->db, 0, 1));
	return finish(s);
}

static int
begin(struct subdo *s)
{
	return db_exec(s->db, "begin") == -1 ? fail_db(s) : 0;
}

static int
finish(struct subdo *s)
{
	return s->dry_run || db_commit(s->db) != -1 ? 0 : fail_db(s);
}

/* Leave the subscription as it is now for the last result. */
static int
show(struct subdo *s, const char *id)
{
	if (db_run(s->db, &stmt_sub_show, DB_ARGS(id, "f")) == -1)
		return fail_db(s);
	return finish(s);
}

static int
put_settings(struct subdo *s, const char *id, struct subopt *o,
    const char *action)
{
	switch (subopt_store(o, s->db, id, action, s->who, s->reason)) {
	case -1:
		return fail(s, o->code, "%s", o->why);
	case 0:
		return not_found(s, id);
	}
	return 0;
}

static int
put_secret(struct subdo *s, const char *id, struct subkey *k,
    const char *secret)
{
	return subkey_store(k, s->db, id, secret) == -1 ?
	    fail(s, k->code, "%s", k->why) : 0;
}

static int
not_found(struct subdo *s, const char *id)
{
	return fail(s, 1, "subscription %s: not found", id);
}

static int
fail_db(struct subdo *s)
{
	return fail(s, db_exitcode(s->db), "%s", db_error(s->db));
}

static int
fail(struct subdo *s, int code, const char *fmt, ...)
{
	va_list	 ap;

	va_start(ap, fmt);
	vsnprintf(s->why, sizeof(s->why), fmt, ap);
	va_end(ap);
	s->code = code;
	return -1;
}
