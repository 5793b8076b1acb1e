/*
 * Checks of the server, and of what is between it and us.
 */
#include <poll.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

#include <libpq-fe.h>

#include "config.h"
#include "doctor_int.h"
#include "stmt.h"

#define NOT_ALLOWED	"42501"		/* sqlstate */
#define PATIENCE_S	3	/* that a pooler may keep us waiting */

static int	 explain(struct doctor *, const struct stmt *, const char *);
static int	 impatient(void *, int, int, int);
static int	 shares(struct doctor *, char *, size_t);
static int	 unplanned(struct doctor *, const struct stmt *);

/*
 * Those that run for every event, delivery or message, and the indexes that
 * they were written for.  What webhook_enqueue() does can't be seen; it names
 * its constraint, and fails without it.
 */
static const struct {
	const struct stmt	*stmt;
	const char		*args;		/* NULL: nulls will do */
	const char		*indexes;
} hot[] = {
	{ &stmt_fanout, "(0, 1, '1 day')", "{webhook_outbox_waiting,"
	    "webhook_subscriptions_tenant,webhook_lanes_pkey}" },
	{ &stmt_lane_claim, NULL, "{webhook_lanes_due}" },
	{ &stmt_lane_page, NULL, "{webhook_pending_due,webhook_outbox_pkey}" },
	{ &stmt_lane_page_ordered, NULL, "{webhook_pending_order}" },
	{ &stmt_lane_earliest, NULL,
	    "{webhook_pending_due,webhook_lanes_pkey}" },
	{ &stmt_finish, NULL, "{webhook_pending_id,webhook_lanes_pkey}" },
	{ &stmt_inbox_store, NULL, "{one_row_per_message}" },
	{ &stmt_inbox_claim, NULL, "{webhook_inbox_due,webhook_inbox_pkey}" },
};

/*
 * Planned as the tools have it, for any parameters, and with sequential scans
 * out of favour: so it tells of indexes, not of how much there is today.
 */
int
doctor_plans(struct doctor *d)
{
	struct buf	 plan = BUF_INIT(1 << 20);
	size_t		 i;
	int		 rc = 0;

	for (i = 0; rc == 0 && i < sizeof(hot) / sizeof(*hot); i++) {
		buf_reset(&plan);
		if (explain(d, hot[i].stmt, hot[i].args) == -1)
			rc = unplanned(d, hot[i].stmt);
		else if (buf_adds(&plan, db_col(&d->db, 0, 0)) == -1)
			rc = doctor_fail(d, EX_TEMPFAIL, "out of memory");
		else if (db_exec(&d->db, "rollback") == -1)
			rc = -1;
		else
			rc = doctor_rows(d, db_run(&d->db, &stmt_doctor_plan,
			    DB_ARGS(plan.s, hot[i].stmt->name, hot[i].indexes,
			    SQL_DIR)));
	}
	buf_free(&plan);
	return rc;
}

/* What may not be planned can't be told; what can't be will not run. */
static int
unplanned(struct doctor *d, const struct stmt *st)
{
	char	 why[sizeof(d->db.why)];

	if (db_lost(&d->db) || strcmp(d->db.sqlstate, NOT_ALLOWED) == 0)
		return -1;
	strlcpy(why, db_error(&d->db), sizeof(why));
	if (db_exec(&d->db, "rollback") == -1)
		return -1;
	return doctor_say(d, DOCTOR_FAIL, st->name,
	    "hook-doctor schema indexes sources", "does not run: %s", why);
}

static int
explain(struct doctor *d, const struct stmt *st, const char *args)
{
	char	 sql[512];
	size_t	 i;

	if (db_exec(&d->db, "begin") == -1 ||
	    db_plan_by_index(&d->db) == -1 ||
	    db_exec(&d->db, "set enable_sort = off") == -1 ||
	    db_prepare(&d->db, st) == -1)
		return -1;
	strlcpy(sql, "explain (format json) execute ", sizeof(sql));
	strlcat(sql, st->name, sizeof(sql));
	strlcat(sql, args == NULL ? " (null" : args, sizeof(sql));
	for (i = 1; args == NULL && i < st->nparam; i++)
		strlcat(sql, ", null", sizeof(sql));
	strlcat(sql, args == NULL ? ")" : "", sizeof(sql));
	return db_exec(&d->db, sql);
}

/*
 * A pooler that gives a connection to whoever has a transaction lends ours to
 * another while we have none.  Then a session's settings, prepared statements
 * and LISTEN are somebody else's.
 */
int
doctor_pooler(struct doctor *d)
{
	char	 why[sizeof(d->db.why)];

	switch (shares(d, why, sizeof(why))) {
	case -1:
		return doctor_say(d, DOCTOR_WARN, NULL, NULL,
		    "can't tell: %s", why);
	case 1:
		return doctor_say(d, DOCTOR_FAIL, NULL,
		    "-d with the server's own address, or pool_mode=session",
		    "a pooler lends our session to others between"
		    " transactions");
	}
	return !d->pooled ? 0 : doctor_say(d, DOCTOR_OK, NULL, NULL,
	    "a pooler stands between, and keeps sessions whole");
}

/*
 * One asks who serves it, another begins a transaction, the first asks again.
 * A pooler that has room for one transaction keeps the first waiting.
 */
static int
shares(struct doctor *d, char *why, size_t size)
{
	time_t		 until = time(NULL) + PATIENCE_S;
	struct db	 a = { .any_schema = 1, .wait = impatient,
			    .wait_arg = &until }, b = a;
	int64_t		 pid;
	int		 rc = -1;

	*why = '\0';
	if (db_open(&a, d->told.conninfo, "hook-doctor") == -1 ||
	    db_exec(&a, "select pg_backend_pid()") == -1)
		goto out;
	pid = db_int(&a, 0, 0);
	if (db_open(&b, d->told.conninfo, "hook-doctor") == -1 ||
	    db_exec(&b, "begin; select pg_backend_pid()") == -1) {
		strlcpy(why, db_error(&b), size);
		goto out;
	}
	until = time(NULL) + PATIENCE_S;
	if (db_exec(&a, "select pg_backend_pid()") != -1)
		rc = db_int(&a, 0, 0) != pid;
	else if (time(NULL) >= until)
		rc = 1;
	/* Closed amid one, a pooler would throw its connection away. */
	until = time(NULL) + PATIENCE_S;
	if (db_exec(&b, "rollback") == -1)
		rc = -1;
out:
	if (rc == -1 && *why == '\0')
		strlcpy(why, db_error(&a), size);
	db_close(&a);
	db_close(&b);
	return rc;
}

static int
impatient(void *arg, int fd, int to_write, int ms)
{
	struct pollfd	 pfd = { .fd = fd,
			    .events = to_write ? POLLOUT : POLLIN };

	if (time(NULL) >= *(time_t *)arg)
		return -1;
	(void)poll(&pfd, 1, ms);
	return 0;
}

int
doctor_tls(struct doctor *d)
{
	PQconninfoOption	*all = PQconninfo(d->db.conn), *o;
	const char		*mode = "prefer";
	int			 rc;

	for (o = all; o != NULL && o->keyword != NULL; o++)
		if (strcmp(o->keyword, "sslmode") == 0 && o->val != NULL)
			mode = o->val;
	rc = doctor_rows(d, db_run(&d->db, &stmt_doctor_tls,
	    DB_ARGS(d->told.plain_net, mode)));
	PQconninfoFree(all);
	return rc;
}
