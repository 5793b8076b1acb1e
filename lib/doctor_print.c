/*
 * Findings are printed as all lists are: as a result of libpq's, made here.
 */
#include <string.h>

#include <libpq-fe.h>

#include "doctor.h"

#define OID_TEXT	25

static int	 put(PGresult *, int, int, const char *);
static int	 put_found(PGresult *, int, int, const struct finding *);
static PGresult	*result_of(const struct doctor *, int);

static const char *const names[] = { "ok", "warn", "fail" };

int
doctor_print(const struct doctor *d, enum out_form form)
{
	struct db	 rows = DB_INIT;
	int		 rc = -1;

	if ((rows.res = result_of(d, form == OUT_TABLE)) != NULL)
		rc = out_rows(&rows, form);
	db_close(&rows);
	return rc;
}

/* In a table, a line is for people: what, and behind it how to mend it. */
static PGresult *
result_of(const struct doctor *d, int table)
{
	static char	 key[][8] = { "check", "status", "object", "message",
			    "mend" };
	static char	 heading[][8] = { "status", "check", "found" };
	PGresAttDesc	 attr[5];
	PGresult	*r;
	int		 i, rc = 0, n = table ? 3 : 5;

	memset(attr, 0, sizeof(attr));
	for (i = 0; i < n; i++) {
		attr[i].name = table ? heading[i] : key[i];
		attr[i].typid = OID_TEXT;
		attr[i].typlen = -1;
	}
	if ((r = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK)) == NULL)
		return NULL;
	if (PQsetResultAttrs(r, n, attr) == 0)
		rc = -1;
	for (i = 0; rc == 0 && i < (int)d->n; i++) {
		const struct finding	*f = &d->found[i];

		if (put(r, i, table, f->check) == -1 ||
		    put(r, i, !table, names[f->status]) == -1)
			rc = -1;
		else if (table)
			rc = put_found(r, i, 2, f);
		else if (put(r, i, 2, f->object) == -1 ||
		    put(r, i, 3, f->message) == -1 ||
		    put(r, i, 4, f->mend) == -1)
			rc = -1;
	}
	if (rc == 0)
		return r;
	PQclear(r);
	return NULL;
}

static int
put_found(PGresult *r, int row, int col, const struct finding *f)
{
	struct buf	 b = BUF_INIT(65536);
	int		 rc = -1;

	if ((f->object == NULL || buf_addf(&b, "%s: ", f->object) != -1) &&
	    buf_adds(&b, f->message) != -1 &&
	    (f->mend == NULL || buf_addf(&b, "; mend: %s", f->mend) != -1))
		rc = put(r, row, col, b.s);
	buf_free(&b);
	return rc;
}

static int
put(PGresult *r, int row, int col, const char *s)
{
	/* It is copied; the prototype forgot to say const. */
	return PQsetvalue(r, row, col, (char *)(uintptr_t)s,
	    s == NULL ? -1 : (int)strlen(s)) == 0 ? -1 : 0;
}
