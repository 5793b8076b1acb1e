#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include <libpq-fe.h>

#include "db.h"
#include "db_async.h"
#include "db_int.h"

static int	 failed_result(struct db *, PGresult *);
static int	 classify(const char *);
static void	 one_line(char *);
static void	 split(const struct db_arg *, size_t, const char **, int *,
		    int *);

#define MAX_ARGS	32

int
db_prepare(struct db *db, const struct stmt *st)
{
	size_t	 i;

	for (i = 0; i < db->nready; i++)
		if (db->ready[i] == st)
			return 0;
	if (db->nready == sizeof(db->ready) / sizeof(*db->ready))
		abort();
	if (db_keep(db, db_await(db, PQsendPrepare(db->conn, st->name,
	    st->text, 0, NULL))) == -1)
		return -1;
	db->ready[db->nready++] = st;
	return 0;
}

int
db_run(struct db *db, const struct stmt *st, size_t narg,
    const char *const *arg)
{
	if (narg != st->nparam)
		abort();
	if (db_prepare(db, st) == -1)
		return -1;
	return db_keep(db, db_await(db, PQsendQueryPrepared(db->conn, st->name,
	    (int)narg, arg, NULL, NULL, 0)));
}

int
db_runv(struct db *db, const struct stmt *st, size_t narg,
    const struct db_arg *arg)
{
	const char	*val[MAX_ARGS];
	int		 len[MAX_ARGS], form[MAX_ARGS];

	if (narg != st->nparam)
		abort();
	if (db_prepare(db, st) == -1)
		return -1;
	split(arg, narg, val, len, form);
	return db_keep(db, db_await(db, PQsendQueryPrepared(db->conn, st->name,
	    (int)narg, val, len, form, 0)));
}

int
db_send(struct db *db, const struct stmt *st, size_t narg,
    const struct db_arg *arg, int binary)
{
	const char	*val[MAX_ARGS];
	int		 len[MAX_ARGS], form[MAX_ARGS];

	if (narg != st->nparam || db->sending)
		abort();
	split(arg, narg, val, len, form);
	if (PQsetnonblocking(db->conn, 1) == -1 ||
	    PQsendQueryPrepared(db->conn, st->name, (int)narg, val, len, form,
	    binary) == 0)
		return db_failed_conn(db);
	db->sending = db->wants_write = 1;
	return 0;
}

/* It counts as ready at once: if it fails, so does what is sent next. */
int
db_send_prepare(struct db *db, const struct stmt *st)
{
	if (db->sending ||
	    db->nready == sizeof(db->ready) / sizeof(*db->ready))
		abort();
	if (PQsetnonblocking(db->conn, 1) == -1 ||
	    PQsendPrepare(db->conn, st->name, st->text, 0, NULL) == 0)
		return db_failed_conn(db);
	db->ready[db->nready++] = st;
	db->sending = db->wants_write = 1;
	return 0;
}

int
db_send_exec(struct db *db, const char *sql)
{
	if (db->sending)
		abort();
	if (PQsetnonblocking(db->conn, 1) == -1 ||
	    PQsendQuery(db->conn, sql) == 0)
		return db_failed_conn(db);
	db->sending = db->wants_write = 1;
	return 0;
}

static void
split(const struct db_arg *arg, size_t n, const char **val, int *len,
    int *form)
{
	size_t	 i;

	if (n > MAX_ARGS)
		abort();
	for (i = 0; i < n; i++) {
		val[i] = arg[i].val;
		len[i] = arg[i].len == DB_TEXT ? 0 : arg[i].len;
		form[i] = arg[i].len != DB_TEXT;
	}
}

int
db_exec(struct db *db, const char *sql)
{
	return db_keep(db, db_await(db, PQsendQuery(db->conn, sql)));
}

int
db_commit(struct db *db)
{
	PGresult	*r = db_await(db, PQsendQuery(db->conn, "commit"));

	if (r == NULL)
		return db_failed_conn(db);
	if (PQresultStatus(r) != PGRES_COMMAND_OK)
		return failed_result(db, r);
	PQclear(r);
	return 0;
}

int
db_rows(const struct db *db)
{
	return db->res == NULL ? 0 : PQntuples(db->res);
}

const char *
db_col(const struct db *db, int row, int col)
{
	if (PQgetisnull(db->res, row, col))
		return NULL;
	return PQgetvalue(db->res, row, col);
}

size_t
db_len(const struct db *db, int row, int col)
{
	return (size_t)PQgetlength(db->res, row, col);
}

int64_t
db_int(const struct db *db, int row, int col)
{
	const char	*s = db_col(db, row, col);

	return s == NULL ? 0 : strtoll(s, NULL, 10);
}

const char *
db_error(const struct db *db)
{
	return db->why;
}

int
db_exitcode(const struct db *db)
{
	return db->code == 0 ? EX_SOFTWARE : db->code;
}

/* Take over a result; its number of rows, or -1 with the error noted. */
int
db_keep(struct db *db, PGresult *r)
{
	if (r == NULL)
		return db_failed_conn(db);
	switch (PQresultStatus(r)) {
	case PGRES_COMMAND_OK:
	case PGRES_TUPLES_OK:
		PQclear(db->res);
		db->res = r;
		return PQntuples(r);
	default:
		return failed_result(db, r);
	}
}

static int
failed_result(struct db *db, PGresult *r)
{
	const char	*state, *what, *detail;
	int		 code;

	state = PQresultErrorField(r, PG_DIAG_SQLSTATE);
	what = PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY);
	detail = PQresultErrorField(r, PG_DIAG_MESSAGE_DETAIL);
	code = state == NULL ? EX_TEMPFAIL : classify(state);
	if (what == NULL)
		what = PQresultErrorMessage(r);
	if (code == EX_DATAERR && detail != NULL)
		db_fail(db, code, "%s: %s", what, detail);
	else
		db_fail(db, code, "%s", *what == '\0' ?
		    PQerrorMessage(db->conn) : what);
	if (state != NULL)
		snprintf(db->sqlstate, sizeof(db->sqlstate), "%s", state);
	PQclear(r);
	return -1;
}

int
db_failed_conn(struct db *db)
{
	const char	*s = PQerrorMessage(db->conn);

	return db_fail(db, EX_TEMPFAIL, "database: %s",
	    s == NULL || *s == '\0' ? "connection lost" : s);
}

int
db_fail(struct db *db, int code, const char *fmt, ...)
{
	va_list	 ap;

	va_start(ap, fmt);
	vsnprintf(db->why, sizeof(db->why), fmt, ap);
	va_end(ap);
	one_line(db->why);
	db->code = code;
	db->sqlstate[0] = '\0';
	return -1;
}

static void
one_line(char *s)
{
	size_t	 len = strlen(s);

	while (len > 0 && (s[len - 1] == '\n' || s[len - 1] == ' '))
		s[--len] = '\0';
	for (; *s != '\0'; s++)
		if ((unsigned char)*s < ' ')
			*s = ' ';
}

/*
 * PostgreSQL, appendix A: would the same statement succeed later, or with
 * other data?
 */
static int
classify(const char *state)
{
	static const struct {
		const char	*prefix;
		int		 code;
	} class[] = {
		{ "08", EX_TEMPFAIL },		/* connection */
		{ "0A000", EX_TEMPFAIL },		/* old plan */
		{ "25006", EX_TEMPFAIL },	/* read-only after fail-over */
		{ "25P03", EX_TEMPFAIL },	/* idle in transaction */
		{ "25P04", EX_TEMPFAIL },	/* transaction timeout */
		{ "40", EX_TEMPFAIL },		/* deadlock, serialization */
		{ "53", EX_TEMPFAIL },		/* out of resources */
		{ "55", EX_TEMPFAIL },		/* lock not available */
		{ "57", EX_TEMPFAIL },		/* shutdown, cancelled */
		{ "58", EX_TEMPFAIL },		/* system error */
		{ "22", EX_DATAERR },		/* data exception */
		{ "23", EX_DATAERR },		/* constraint */
		{ "42601", EX_DATAERR },	/* syntax of a jsonpath */
		{ "54", EX_DATAERR },		/* too deep, too large */
		{ "P0001", EX_DATAERR },	/* raise exception */
		{ "28", EX_UNAVAILABLE },	/* not let in */
		{ "3D", EX_UNAVAILABLE },	/* no such database */
		{ "42501", EX_UNAVAILABLE },	/* not allowed */
		{ "42P01", EX_UNAVAILABLE },	/* table missing */
	};
	size_t	 i;

	for (i = 0; i < sizeof(class) / sizeof(*class); i++)
		if (strncmp(state, class[i].prefix,
		    strlen(class[i].prefix)) == 0)
			return class[i].code;
	return EX_SOFTWARE;
}
