/*
 * hook-reconcile: is anything missing, doubled or stuck?
 *
 * Each violation is a line: what, which, and what to do.  It may look while
 * everybody works: each look is one snapshot of a part, so that none is held
 * for long, and what is only a moment's state is looked at twice.
 */
#include <err.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "arr.h"
#include "config.h"
#include "db.h"
#include "hide.h"
#include "out.h"
#include "select.h"
#include "stmt.h"

#define EVENTS		"5000"	/* one look */
#define DELIVERIES	"20000"
#define LANES		"2000"
#define MESSAGES	"20000"
#define AGAIN_S		2	/* until a second look */
#define LOOKS		3	/* at counters */
#define PRUNE_S		60	/* to wait for a hook-prune */
#define LOWEST		"-9223372036854775808"	/* id: any may be given */
#define NUMBER		24	/* bytes of a bigint's text */

/* Columns of the statements. */
enum { COL_KIND, COL_ID, COL_SUBSCRIPTION = 3, COL_FENCE = 6, COL_DUE };

struct args {
	const char	*conninfo;
	struct select	 sel;
	int		 tty;
	int64_t		 found;
};

/* What is counted of days that are over. */
struct closed {
	char	 until[64];
	int64_t	 delivered, discarded, attempts;
};

static void	 closed(struct db *, struct closed *);
static void	 counters(struct args *, struct db *);
static void	 events(struct args *, struct db *);
static _Noreturn void fail(const struct db *);
static void	 lanes(struct args *, struct db *);
static int	 lock(struct db *);
static void	 messages(struct args *, struct db *);
static void	 options(struct args *, int, char **);
static void	 pause_s(int);
static void	 pending(struct args *, struct db *);
static void	 progress(const struct args *, const char *, const char *);
static void	 tell(struct args *, const struct db *, int);
static void	 tell_all(struct args *, struct db *, const struct stmt *);
static _Noreturn void usage(int);

int
main(int argc, char *argv[])
{
	struct args	 a = { 0 };
	struct db	 db = DB_INIT;
	int		 locked;

	options(&a, argc, argv);
	a.tty = isatty(STDERR_FILENO);
	if (db_open(&db, a.conninfo, "hook-reconcile") == -1 ||
	    db_exec(&db, "set plan_cache_mode = force_custom_plan") == -1)
		fail(&db);
	if (select_times(&a.sel, &db) == -1)
		errx(db_exitcode(&db) == EX_DATAERR ? EX_USAGE :
		    db_exitcode(&db), "%s", a.sel.why);

	events(&a, &db);
	pending(&a, &db);
	lanes(&a, &db);
	tell_all(&a, &db, &stmt_reconcile_inbox);
	if ((locked = lock(&db))) {
		counters(&a, &db);
		messages(&a, &db);
	} else
		warnx("hook-prune is at work: counters not looked at");

	select_free(&a.sel);
	db_close(&db);
	return a.found > 0 ? 1 : locked ? EX_OK : EX_TEMPFAIL;
}

static void
options(struct args *a, int argc, char *argv[])
{
	static const struct option longs[] = {
		{ "since", required_argument, NULL, SELECT_SINCE },
		{ NULL, 0, NULL, 0 }
	};
	int	 ch;

	while ((ch = getopt_long(argc, argv, "Vd:h", longs, NULL)) != -1)
		switch (ch) {
		case 'V':
			puts(VERSION);
			exit(EX_OK);
		case 'd':
			a->conninfo = hide_arg(optarg);
			break;
		case 'h':
			usage(EX_OK);
		case SELECT_SINCE:
			if (select_option(&a->sel, ch, optarg) == -1)
				errx(EX_USAGE, "%s", a->sel.why);
			break;
		default:
			usage(EX_USAGE);
		}
	if (optind != argc)
		usage(EX_USAGE);
}

static void
events(struct args *a, struct db *db)
{
	char	 from[NUMBER] = LOWEST;
	int	 i, n;

	for (;;) {
		if ((n = db_run(db, &stmt_reconcile_events, DB_ARGS(from,
		    select_since(&a->sel), EVENTS))) == -1)
			fail(db);
		for (i = 1; i < n; i++)
			tell(a, db, i);
		if (db_col(db, 0, COL_ID) == NULL)
			break;
		strlcpy(from, db_col(db, 0, COL_ID), sizeof(from));
		progress(a, "outbox up to", from);
	}
}

static void
pending(struct args *a, struct db *db)
{
	char	 from[NUMBER] = "0";
	int	 i, n;

	for (;;) {
		if ((n = db_run(db, &stmt_reconcile_pending, DB_ARGS(from,
		    DELIVERIES))) == -1)
			fail(db);
		for (i = 1; i < n; i++)
			tell(a, db, i);
		if (db_col(db, 0, COL_ID) == NULL)
			break;
		strlcpy(from, db_col(db, 0, COL_ID), sizeof(from));
		progress(a, "pending up to", from);
	}
}

static void
lanes(struct args *a, struct db *db)
{
	struct arr	 id, fence, due;
	struct db_arg	 arg[5];
	char		 from[NUMBER] = "0";
	const char	*s;
	int		 i, n;

	arr_init(&id, ARR_INT8);
	arr_init(&fence, ARR_INT8);
	arr_init(&due, ARR_TEXT);
	for (;;) {
		if ((n = db_run(db, &stmt_reconcile_lanes, DB_ARGS(from, LANES,
		    NULL, NULL, NULL))) == -1)
			fail(db);
		for (i = 1; i < n; i++) {
			s = db_col(db, i, COL_DUE);
			arr_int8(&id, db_int(db, i, COL_SUBSCRIPTION));
			arr_int8(&fence, db_int(db, i, COL_FENCE));
			arr_bytes(&due, s, strlen(s));
		}
		if (db_col(db, 0, COL_ID) == NULL)
			break;
		strlcpy(from, db_col(db, 0, COL_ID), sizeof(from));
		progress(a, "lanes up to", from);
	}
	if (id.n > 0) {
		pause_s(AGAIN_S);
		arg[0] = (struct db_arg){ "0", DB_TEXT };
		arg[1] = (struct db_arg){ "2147483647", DB_TEXT };
		arg[2] = arr_arg(&id);
		arg[3] = arr_arg(&fence);
		arg[4] = arr_arg(&due);
		if ((n = db_runv(db, &stmt_reconcile_lanes, 5, arg)) == -1)
			fail(db);
		for (i = 1; i < n; i++)
			tell(a, db, i);
	}
	arr_free(&id);
	arr_free(&fence);
	arr_free(&due);
}

/* So that nothing is dropped while it is counted. */
static int
lock(struct db *db)
{
	int	 i;

	for (i = 0; ; i++) {
		if (db_run(db, &stmt_reconcile_lock, 0, NULL) == -1)
			fail(db);
		if (*db_col(db, 0, 0) == 't')
			return 1;
		if (i == PRUNE_S)
			return 0;
		pause_s(1);
	}
}

/*
 * Days that are over one by one, then the rest with the counters.  An outcome
 * that was kept while the server was away may add to an old day: then they
 * agree at another look.
 */
static void
counters(struct args *a, struct db *db)
{
	struct closed	 c;
	char		 n[3][NUMBER];
	int		 i, bad = 0;

	tell_all(a, db, &stmt_reconcile_detached);
	if (db_rows(db) > 0)
		return;
	for (i = 0; i < LOOKS; i++) {
		closed(db, &c);
		snprintf(n[0], NUMBER, "%" PRId64, c.delivered);
		snprintf(n[1], NUMBER, "%" PRId64, c.discarded);
		snprintf(n[2], NUMBER, "%" PRId64, c.attempts);
		progress(a, "days up to", c.until);
		if ((bad = db_run(db, &stmt_reconcile_counters,
		    DB_ARGS(c.until, n[0], n[1], n[2]))) == -1)
			fail(db);
		if (bad == 0)
			break;
	}
	for (i = 0; i < bad; i++)
		tell(a, db, i);
}

/* Dead and done ones; of what is received no counter is exact. */
static void
messages(struct args *a, struct db *db)
{
	char	 from[NUMBER] = LOWEST, done[NUMBER], counted[NUMBER] = "";
	int64_t	 n = 0;
	int	 i, bad;

	for (;;) {
		if (db_run(db, &stmt_reconcile_handled,
		    DB_ARGS(from, MESSAGES)) == -1)
			fail(db);
		n += db_int(db, 0, 1);
		if (*counted == '\0')
			snprintf(counted, sizeof(counted), "%" PRId64,
			    db_int(db, 0, 2));
		if (db_col(db, 0, 0) == NULL)
			break;
		strlcpy(from, db_col(db, 0, 0), sizeof(from));
		progress(a, "messages up to", from);
	}
	snprintf(done, sizeof(done), "%" PRId64, n);
	if ((bad = db_run(db, &stmt_reconcile_messages,
	    DB_ARGS(done, counted))) == -1)
		fail(db);
	for (i = 0; i < bad; i++)
		tell(a, db, i);
}

static void
closed(struct db *db, struct closed *c)
{
	char	(*day)[2][64];
	int	 i, n;

	memset(c, 0, sizeof(*c));
	strlcpy(c->until, "-infinity", sizeof(c->until));
	if ((n = db_run(db, &stmt_reconcile_days, 0, NULL)) == -1)
		fail(db);
	if ((day = calloc((size_t)n + 1, sizeof(*day))) == NULL)
		err(EX_TEMPFAIL, NULL);
	for (i = 0; i < n; i++) {
		strlcpy(day[i][0], db_col(db, i, 0), sizeof(day[i][0]));
		strlcpy(day[i][1], db_col(db, i, 1), sizeof(day[i][1]));
	}
	for (i = 0; i < n; i++) {
		if (db_run(db, &stmt_reconcile_closed, DB_ARGS(day[i][0],
		    day[i][1])) == -1)
			fail(db);
		c->delivered += db_int(db, 0, 0);
		c->discarded += db_int(db, 0, 1);
		c->attempts += db_int(db, 0, 2);
		strlcpy(c->until, day[i][1], sizeof(c->until));
	}
	free(day);
}

static void
tell_all(struct args *a, struct db *db, const struct stmt *st)
{
	int	 i, n;

	if ((n = db_run(db, st, 0, NULL)) == -1)
		fail(db);
	for (i = 0; i < n; i++)
		tell(a, db, i);
}

static void
tell(struct args *a, const struct db *db, int row)
{
	if (out_row(db, row) == -1 || fflush(stdout) == EOF)
		err(EX_TEMPFAIL, "standard output");
	a->found++;
}

static void
progress(const struct args *a, const char *what, const char *where)
{
	if (a->tty)
		fprintf(stderr, "%s %s, %" PRId64 " found\n", what, where,
		    a->found);
}

static void
pause_s(int s)
{
	struct timespec	 ts = { s, 0 };

	nanosleep(&ts, NULL);
}

static _Noreturn void
fail(const struct db *db)
{
	errx(db_exitcode(db), "%s", db_error(db));
}

static _Noreturn void
usage(int status)
{
	fprintf(status == EX_OK ? stdout : stderr, "usage: %s [-hV]"
	    " [-d conninfo] [--since time]\n", getprogname());
	exit(status);
}
