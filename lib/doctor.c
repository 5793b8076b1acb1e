#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include <libpq-fe.h>

#include "config.h"
#include "doctor_int.h"
#include "stmt.h"

/* Columns of a statement's findings. */
enum { COL_STATUS, COL_OBJECT, COL_MESSAGE, COL_MEND };

#define NO_TABLE	"42P01"		/* sqlstate */

static int	 cant_tell(struct doctor *);
static int	 end_check(struct doctor *);
static int	 session(struct doctor *);

const struct doctor_check doctor_checks[] = {
	{ "schema", "the schema is this version's", NULL, NULL, 0 },
	{ "indexes", "every index is valid", &stmt_doctor_indexes, NULL, 0 },
	{ "plans", "the hot statements find all by index", NULL, doctor_plans,
	    0 },
	{ "workers", "hook-fanout and hook-deliver were seen within ten"
	    " minutes", NULL, doctor_workers, 0 },
	{ "caps", "every active subscription has a cap and a rate",
	    &stmt_doctor_caps, NULL, 0 },
	{ "secrets", "every active subscription has a live secret of full"
	    " length", NULL, doctor_secrets, 0 },
	{ "rotation", "no secret signs beside a newer one for long",
	    &stmt_doctor_rotation, NULL, 0 },
	{ "sealed", "secrets are sealed", NULL, doctor_sealed, 0 },
	{ "sources", "every source verifies, and knows what comes twice",
	    NULL, doctor_sources, 0 },
	{ "retention", "events are kept for longer than they are tried",
	    NULL, doctor_retention, 0 },
	{ "partitions", "there are partitions for the coming days",
	    &stmt_doctor_partitions, NULL, 0 },
	{ "vacuum", "autovacuum runs, and often enough",
	    &stmt_doctor_vacuum, NULL, 0 },
	{ "snapshot", "nobody keeps an old snapshot", NULL, doctor_snapshot,
	    0 },
	{ "archive", "WAL is archived", &stmt_doctor_archive, NULL, 0 },
	{ "backup", "there is a recent base backup", NULL, doctor_backup, 0 },
	{ "alerts", "somebody would be told", NULL, doctor_alerts, 1 },
	{ "roles", "nobody may do more than is needed", &stmt_doctor_roles,
	    NULL, 0 },
	{ "grants", "every role has the rights that the schema gives it, no"
	    " more", &stmt_doctor_grants, NULL, 0 },
	{ "tls", "connections from elsewhere are encrypted", NULL, doctor_tls,
	    0 },
	{ "pooler", "no pooler stands between that breaks sessions up", NULL,
	    doctor_pooler, 0 },
	{ "clock", "this machine's clock is the database's", NULL,
	    doctor_clock, 0 },
	{ "files", "enough files may be open", NULL, doctor_files, 1 },
	{ "jq", "jq runs", NULL, doctor_jq, 1 },
	{ "net", "HOOK_ALLOW_NET opens no more than it should", NULL,
	    doctor_allow, 1 },
	{ "https", "every active subscription is https, where asked", NULL,
	    doctor_https, 0 },
	{ "nginx", "nginx takes no more than hook-receive", NULL,
	    doctor_nginx, 0 },
	{ NULL, NULL, NULL, NULL, 0 }
};

const struct doctor_check *
doctor_check(const char *name)
{
	const struct doctor_check	*c;

	for (c = doctor_checks; c->name != NULL; c++)
		if (strcmp(c->name, name) == 0)
			return c;
	return NULL;
}

int
doctor_open(struct doctor *d)
{
	char	 ours[24];
	int	 rc;

	d->db.any_schema = 1;
	if (db_open(&d->db, d->told.conninfo, "hook-doctor") == -1 ||
	    session(d) == -1)
		return -1;
	d->now = doctor_check("schema");
	snprintf(ours, sizeof(ours), "%d", SCHEMA_VERSION);
	rc = db_run(&d->db, &stmt_doctor_schema, DB_ARGS(ours));
	d->in_place = rc == 0;
	if (rc == -1 && strcmp(d->db.sqlstate, NO_TABLE) == 0)
		return doctor_say(d, DOCTOR_FAIL, NULL, "hook-migrate",
		    "there are no hookutils tables");
	return doctor_rows(d, rc);
}

/*
 * What is set behind a pooler may be what another client works with next, so
 * there nothing is; and what is prepared may be another's.
 */
static int
session(struct doctor *d)
{
	if (db_exec(&d->db, "select pg_backend_pid()") == -1)
		return -1;
	d->pooled = db_int(&d->db, 0, 0) != PQbackendPID(d->db.conn);
	return d->pooled ? db_exec(&d->db, "deallocate all") :
	    status_session(&d->db);
}

int
doctor_run(struct doctor *d, const struct doctor_check *c)
{
	int	 rc = 0;

	if (!c->apart && !d->in_place && strcmp(c->name, "schema") != 0)
		return 0;
	d->now = c;
	d->said = d->more = 0;
	d->more_status = DOCTOR_OK;
	if (c->stmt != NULL)
		rc = doctor_rows(d, db_run(&d->db, c->stmt, 0, NULL));
	else if (c->run != NULL)
		rc = c->run(d);
	if (rc == -1 && cant_tell(d) == -1)
		return -1;
	return end_check(d);
}

/*
 * A statement failed on a connection that lives: we may not see that, or this
 * server is of another kind.
 */
static int
cant_tell(struct doctor *d)
{
	char	 why[sizeof(d->db.why)];

	if (d->code != 0 || PQstatus(d->db.conn) != CONNECTION_OK)
		return -1;
	strlcpy(why, db_error(&d->db), sizeof(why));
	if (PQtransactionStatus(d->db.conn) != PQTRANS_IDLE &&
	    db_exec(&d->db, "rollback") == -1)
		return -1;
	return doctor_say(d, DOCTOR_WARN, NULL, "run it as the owner of the"
	    " tables, who is in pg_monitor", "can't tell: %s", why);
}

static int
end_check(struct doctor *d)
{
	int	 more = d->more;

	if (more > 0) {
		d->said = 0;
		return doctor_say(d, d->more_status, NULL, NULL,
		    "and %d more", more);
	}
	if (d->n > 0 && d->found[d->n - 1].check == d->now->name)
		return 0;
	return doctor_say(d, DOCTOR_OK, NULL, NULL, "%s", d->now->good);
}

int
doctor_rows(struct doctor *d, int rc)
{
	const char	*status;
	int		 i;

	if (rc == -1)
		return -1;
	for (i = 0; i < rc; i++) {
		status = db_col(&d->db, i, COL_STATUS);
		if (doctor_say(d, strcmp(status, "fail") == 0 ? DOCTOR_FAIL :
		    DOCTOR_WARN, db_col(&d->db, i, COL_OBJECT),
		    db_col(&d->db, i, COL_MEND), "%s",
		    db_col(&d->db, i, COL_MESSAGE)) == -1)
			return -1;
	}
	return 0;
}

int
doctor_say(struct doctor *d, enum doctor_status status, const char *object,
    const char *mend, const char *message, ...)
{
	struct finding	*f;
	va_list		 ap;
	int		 rc;

	d->fails += status == DOCTOR_FAIL;
	if (d->said++ >= DOCTOR_FINDINGS) {
		d->more++;
		if (status > d->more_status)
			d->more_status = status;
		return 0;
	}
	f = reallocarray(d->found, d->n + 1, sizeof(*f));
	if (f == NULL)
		return doctor_fail(d, EX_TEMPFAIL, "out of memory");
	d->found = f;
	f += d->n++;
	memset(f, 0, sizeof(*f));
	f->check = d->now->name;
	f->status = status;
	va_start(ap, message);
	rc = vasprintf(&f->message, message, ap);
	va_end(ap);
	if (rc == -1)
		f->message = NULL;
	if (rc == -1 ||
	    (object != NULL && (f->object = strdup(object)) == NULL) ||
	    (mend != NULL && (f->mend = strdup(mend)) == NULL))
		return doctor_fail(d, EX_TEMPFAIL, "out of memory");
	return 0;
}

int
doctor_fail(struct doctor *d, int code, const char *why)
{
	d->code = code;
	strlcpy(d->why, why, sizeof(d->why));
	return -1;
}

const char *
doctor_error(const struct doctor *d)
{
	return d->code != 0 ? d->why : db_error(&d->db);
}

int
doctor_exitcode(const struct doctor *d)
{
	return d->code != 0 ? d->code : db_exitcode(&d->db);
}

void
doctor_free(struct doctor *d)
{
	size_t	 i;
	int	 rc = 0;

	for (i = 0; i < d->n; i++) {
		free(d->found[i].object);
		free(d->found[i].message);
		free(d->found[i].mend);
	}
	free(d->found);
	/* Who gets that session next prepares its own. */
	if (d->pooled && d->db.conn != NULL)
		rc = db_exec(&d->db, "deallocate all");
	(void)rc;
	status_free(&d->facts);
	seal_wipe(&d->seal);
	db_close(&d->db);
}
