/*
 * hook-prune: make the coming days' partitions, drop those past their time,
 * forget what need not be remembered, and vacuum what is hot.
 *
 * Nothing that is needed goes, however old: an event that is not fanned out,
 * the body of a delivery that is pending, a delivery whose event is there.
 * Nobody waits for us longer than -w: what can't be done in that time is
 * tried again, and then left to the next run.  Killed at any moment, it
 * leaves what the next run finishes.
 */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "arr.h"
#include "config.h"
#include "db.h"
#include "hide.h"
#include "keep.h"
#include "opt.h"
#include "out.h"
#include "part.h"
#include "stmt.h"

#define BATCH		"10000"		/* rows a DELETE */
#define VACUUM_WAIT_MS	5000		/* keeps nobody waiting meanwhile */
#define WORKER_MS	"86400000"	/* a worker not seen for so long */
#define NUMBER		24		/* bytes of a bigint's text */

struct args {
	const char	*conninfo;
	struct keep	 keep;
	char		 ms[KEEP_KINDS][NUMBER];
	enum out_form	 form;
	const char	*actor, *reason;
	struct part	 part;
	int		 dry, tty;
	int		 left;		/* something is to be tried again */
	struct arr	 action, object, rows, why;	/* to be told */
	struct arr	 gone;		/* dry: partitions thought away */
};

static char	**copy(const struct db *, int, int *);
static void	 delete_all(struct args *, struct db *);
static void	 delete_old(struct args *, struct db *, const struct stmt *,
		    const char *, const char *);
static void	 done(struct args *, struct db *, enum part_done, const char *,
		    const char *);
static void	 drop(struct args *, struct db *, const char *);
static void	 drop_detached(struct args *, struct db *);
static void	 drop_old(struct args *, struct db *);
static _Noreturn void fail(const struct db *);
static void	 flush(struct args *, struct db *);
static void	 make(struct args *, struct db *, const char *, const char *,
		    int64_t);
static void	 make_days(struct args *, struct db *);
static void	 open_db(struct args *, struct db *);
static void	 options(struct args *, int, char **);
static void	 tell(struct args *, struct db *, const char *, const char *,
		    int64_t, const char *);
static _Noreturn void usage(int);
static void	 vacuum(struct args *, struct db *);

int
main(int argc, char *argv[])
{
	struct args	 a = { .part = { .wait_ms = 100,
			    .tries = PART_TRIES } };
	struct db	 db = DB_INIT;

	options(&a, argc, argv);
	a.actor = a.part.actor = opt_actor(a.actor);
	a.part.reason = a.reason;
	a.part.db = &db;
	a.tty = isatty(STDERR_FILENO);
	arr_init(&a.action, ARR_TEXT);
	arr_init(&a.object, ARR_TEXT);
	arr_init(&a.rows, ARR_INT8);
	arr_init(&a.why, ARR_TEXT);
	arr_init(&a.gone, ARR_TEXT);

	open_db(&a, &db);
	drop_detached(&a, &db);
	make_days(&a, &db);
	drop_old(&a, &db);
	delete_all(&a, &db);
	vacuum(&a, &db);
	flush(&a, &db);

	db_close(&db);
	arr_free(&a.action);
	arr_free(&a.object);
	arr_free(&a.rows);
	arr_free(&a.why);
	arr_free(&a.gone);
	return a.left ? EX_TEMPFAIL : EX_OK;
}

static void
options(struct args *a, int argc, char *argv[])
{
	const char	*why;
	int		 ch, i;

	keep_init(&a->keep);
	while ((ch = getopt(argc, argv, "Vd:hk:m:no:u:w:")) != -1)
		switch (ch) {
		case 'V':
			puts(VERSION);
			exit(EX_OK);
		case 'd':
			a->conninfo = hide_arg(optarg);
			break;
		case 'h':
			usage(EX_OK);
		case 'k':
			if (keep_take(&a->keep, optarg) == -1)
				errx(EX_USAGE, "-k %s", a->keep.why);
			break;
		case 'm':
			a->reason = optarg;
			break;
		case 'n':
			a->dry = 1;
			break;
		case 'o':
			if (out_form(optarg, &a->form) == -1)
				errx(EX_USAGE, "-o %s: not table or json",
				    optarg);
			break;
		case 'u':
			a->actor = optarg;
			break;
		case 'w':
			if (opt_duration(optarg, 2, 3600000, &a->part.wait_ms,
			    &why) == -1)
				errx(EX_USAGE, "-w %s: %s", optarg, why);
			break;
		default:
			usage(EX_USAGE);
		}
	if (optind != argc)
		usage(EX_USAGE);
	if (keep_check(&a->keep) == -1)
		errx(EX_USAGE, "-k: %s", a->keep.why);
	for (i = 0; i < KEEP_KINDS; i++)
		snprintf(a->ms[i], sizeof(a->ms[i]), "%" PRId64,
		    a->keep.ms[i]);
	if (a->form == OUT_AUTO)
		a->form = isatty(STDOUT_FILENO) ? OUT_TABLE : OUT_JSON;
}

/* A crash may undo what we have just done: then the next run does it. */
static void
open_db(struct args *a, struct db *db)
{
	const char	*owner;

	if (db_open(db, a->conninfo, "hook-prune") == -1 ||
	    db_exec(db, "set synchronous_commit = off") == -1 ||
	    db_run(db, &stmt_prune_start, 0, NULL) == -1)
		fail(db);
	if ((owner = db_col(db, 0, 0)) != NULL)
		errx(EX_UNAVAILABLE, "the tables belong to %s: run it as that"
		    " role", owner);
	if (*db_col(db, 0, 1) != 't')
		errx(EX_TEMPFAIL, "another hook-prune is at work, or"
		    " hook-reconcile is counting");
}

/* What one that was killed has left. */
static void
drop_detached(struct args *a, struct db *db)
{
	char	**name;
	int	  i, n;

	if (db_run(db, &stmt_prune_detached, 0, NULL) == -1)
		fail(db);
	name = copy(db, 1, &n);
	for (i = 0; i < n; i++)
		if (a->dry)
			tell(a, db, "drop", name[i], -1, NULL);
		else
			drop(a, db, name[i]);
	free(name);
}

static void
make_days(struct args *a, struct db *db)
{
	char	**day;
	int	  i, n;

	if (db_run(db, &stmt_prune_days, 0, NULL) == -1)
		fail(db);
	day = copy(db, 3, &n);
	for (i = 0; i < n * 3; i += 3)
		make(a, db, day[i], day[i + 1], strtoll(day[i + 2], NULL, 10));
	free(day);
}

static void
make(struct args *a, struct db *db, const char *parent, const char *day,
    int64_t held)
{
	char	 name[80];

	snprintf(name, sizeof(name), "%s_%.4s%.2s%.2s", parent, day, day + 5,
	    day + 8);
	if (a->dry) {
		tell(a, db, "make", name, held, NULL);
		return;
	}
	if (a->tty)
		fprintf(stderr, "making %s\n", name);
	done(a, db, part_make(&a->part, parent, day), "make", name);
}

static void
drop_old(struct args *a, struct db *db)
{
	struct arr	 none;
	struct db_arg	 arg[2];
	char		**part, *name;
	const char	*why;
	enum part_done	 out;
	int		 i, n;

	arr_init(&none, ARR_TEXT);
	if (db_run(db, &stmt_prune_old, DB_ARGS(a->ms[KEEP_OUTBOX],
	    a->ms[KEEP_DONE], a->ms[KEEP_DEAD], a->ms[KEEP_ATTEMPTS])) == -1)
		fail(db);
	part = copy(db, 2, &n);
	for (i = 0; i < n; i++) {
		name = part[i * 2 + 1];
		arg[0] = (struct db_arg){ name, DB_TEXT };
		arg[1] = arr_arg(a->dry ? &a->gone : &none);
		if (db_runv(db, &stmt_prune_needed, 2, arg) == -1)
			fail(db);
		if ((why = db_col(db, 0, 0)) != NULL)
			tell(a, db, "keep", name, -1, why);
		else if (a->dry) {
			tell(a, db, "drop", name, -1, NULL);
			arr_bytes(&a->gone, name, strlen(name));
		} else if ((out = part_detach(&a->part, name)) == PART_DONE)
			drop(a, db, name);
		else
			done(a, db, out, "drop", name);
	}
	free(part);
	arr_free(&none);
}

static void
drop(struct args *a, struct db *db, const char *name)
{
	if (a->tty)
		fprintf(stderr, "dropping %s\n", name);
	done(a, db, part_drop(&a->part, name), "drop", name);
}

/* Tell what became of a partition. */
static void
done(struct args *a, struct db *db, enum part_done what, const char *action,
    const char *name)
{
	switch (what) {
	case PART_FAILED:
		fail(db);
	case PART_LEFT:
		if (!a->part.needed)
			a->left = 1;
		tell(a, db, "keep", name, -1, a->part.why);
		break;
	case PART_DONE:
		tell(a, db, action, name, a->part.rows, NULL);
		break;
	case PART_GONE:
		break;
	}
}

static void
delete_all(struct args *a, struct db *db)
{
	const char	*audit = a->keep.ms[KEEP_AUDIT] == 0 ? NULL :
			    a->ms[KEEP_AUDIT];
	char		**row;
	int		 i, n;

	if (a->dry) {
		if (db_run(db, &stmt_prune_count, DB_ARGS(a->ms[KEEP_KEYS],
		    a->ms[KEEP_INBOX], a->ms[KEEP_JOBS], audit,
		    WORKER_MS)) == -1)
			fail(db);
		row = copy(db, 2, &n);
		for (i = 0; i < n * 2; i += 2)
			tell(a, db, "delete", row[i],
			    strtoll(row[i + 1], NULL, 10), NULL);
		free(row);
		return;
	}
	delete_old(a, db, &stmt_prune_keys, "webhook_idempotency",
	    a->ms[KEEP_KEYS]);
	delete_old(a, db, &stmt_prune_inbox, "webhook_inbox",
	    a->ms[KEEP_INBOX]);
	delete_old(a, db, &stmt_prune_jobs, "webhook_jobs",
	    a->ms[KEEP_JOBS]);
	if (audit != NULL)
		delete_old(a, db, &stmt_prune_audit, "webhook_audit", audit);
	delete_old(a, db, &stmt_prune_workers, "webhook_workers", WORKER_MS);
}

static void
delete_old(struct args *a, struct db *db, const struct stmt *st,
    const char *table, const char *keep_ms)
{
	/* Messages are found by id, and some that are passed can't go. */
	int	 by_id = st == &stmt_prune_inbox, more;
	int64_t	 n, all = 0;
	char	 after[24] = "-9223372036854775808";

	if (a->tty)
		fprintf(stderr, "deleting from %s\n", table);
	do {
		if (db_run(db, st, by_id ? 5 : 4, (const char *[]){ keep_ms,
		    BATCH, a->actor, a->reason, after }) == -1)
			fail(db);
		all += n = db_int(db, 0, 0);
		more = by_id ? db_col(db, 0, 1) != NULL : n > 0;
		snprintf(after, sizeof(after), "%" PRId64, by_id ?
		    db_int(db, 0, 1) : 0);
	} while (more);
	if (all > 0)
		tell(a, db, "delete", table, all, NULL);
}

/* A table is not cut at its end: that would lock everybody out. */
static void
vacuum(struct args *a, struct db *db)
{
	static const char	*const hot[] = {
		"vacuum (truncate false) webhook_deliveries_pending",
		"vacuum (truncate false) webhook_lanes",
		"vacuum (truncate false) webhook_workers",
		"vacuum (truncate false) webhook_wakeup",
		"vacuum (truncate false) webhook_counters",
		"vacuum (truncate false) webhook_inbox",
		"vacuum (truncate false) webhook_idempotency",
	};
	const char	*table;
	size_t		 i;

	if (part_limit(db, VACUUM_WAIT_MS, 0) == -1)
		fail(db);
	for (i = 0; i < sizeof(hot) / sizeof(*hot); i++) {
		table = strrchr(hot[i], ' ') + 1;
		if (a->tty && !a->dry)
			fprintf(stderr, "vacuuming %s\n", table);
		if (a->dry || db_exec(db, hot[i]) != -1)
			tell(a, db, "vacuum", table, -1, NULL);
		else if (part_busy(db))
			tell(a, db, "keep", table, -1, "in use: not vacuumed");
		else
			fail(db);
	}
}

/* As JSON at once, as a table at the end; rows below 0 are none. */
static void
tell(struct args *a, struct db *db, const char *action, const char *object,
    int64_t rows, const char *why)
{
	arr_bytes(&a->action, action, strlen(action));
	arr_bytes(&a->object, object, strlen(object));
	if (rows < 0)
		arr_null(&a->rows);
	else
		arr_int8(&a->rows, rows);
	arr_bytes(&a->why, why, why == NULL ? 0 : strlen(why));
	if (a->form == OUT_JSON)
		flush(a, db);
}

static void
flush(struct args *a, struct db *db)
{
	struct arr	*col[] = { &a->action, &a->object, &a->rows, &a->why };
	struct db_arg	 arg[4];
	size_t		 i;

	for (i = 0; i < 4; i++)
		arg[i] = arr_arg(col[i]);
	if (db_runv(db, &stmt_prune_told, 4, arg) == -1)
		fail(db);
	if (out_rows(db, a->form) == -1 || fflush(stdout) == EOF)
		err(EX_TEMPFAIL, "standard output");
	for (i = 0; i < 4; i++)
		arr_reset(col[i]);
}

/* The first columns of the last result, row by row, in one piece of memory. */
static char **
copy(const struct db *db, int cols, int *rows)
{
	size_t	 n, bytes = 0, i;
	char	**field, *p;

	*rows = db_rows(db);
	n = (size_t)(*rows * cols);
	for (i = 0; i < n; i++)
		bytes += db_len(db, (int)i / cols, (int)i % cols) + 1;
	if ((field = malloc(n * sizeof(*field) + bytes + 1)) == NULL)
		err(EX_TEMPFAIL, NULL);
	p = (char *)(field + n);
	for (i = 0; i < n; i++) {
		field[i] = p;
		p = stpcpy(p, db_col(db, (int)i / cols, (int)i % cols)) + 1;
	}
	return field;
}

static _Noreturn void
fail(const struct db *db)
{
	errx(db_exitcode(db), "%s", db_error(db));
}

static _Noreturn void
usage(int status)
{
	fprintf(status == EX_OK ? stdout : stderr, "usage: %s [-hnV]"
	    " [-d conninfo] [-k keep] [-m why] [-o table|json] [-u actor]"
	    " [-w wait]\n", getprogname());
	exit(status);
}
