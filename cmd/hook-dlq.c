/*
 * hook-dlq: look at the deliveries that gave up, and at messages that could
 * not be handled, and put them back or drop them.
 *
 * Nothing leaves the dead-letter queue by itself.  What retry and drop print
 * is done, with its audit row, in the same commit; what they refuse is as it
 * was, and named on standard error.
 */
#include <err.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "alert.h"
#include "config.h"
#include "db.h"
#include "dlq.h"
#include "hide.h"
#include "ids.h"
#include "opt.h"
#include "out.h"
#include "page.h"
#include "redo.h"
#include "select.h"
#include "stmt.h"

/* An option without a letter, and those that say which deliveries. */
enum { INBOX = SELECT_END };
static const char filters[] = { 'T', 's', 't', SELECT_SINCE, SELECT_UNTIL,
	    INBOX, '\0' };

struct args {
	const char	*conninfo;
	struct select	 sel;
	const char	*kind;		/* "message", or NULL */
	enum out_form	 form;
	const char	*actor, *reason;
	int		 dry;
	struct alert_at	 at, each;	/* of all, and of one */
	int		 argc;
	char		**argv;
	char		 given[64];	/* letters of the options given */
};

static int	 alert(struct args *, struct db *);
static int	 count(struct args *, struct db *);
static int	 drop(struct args *, struct db *);
static int	 list(struct args *, struct db *);
static int	 retry(struct args *, struct db *);
static int	 show(struct args *, struct db *);

static const struct verb {
	const char	*name;
	const char	*options;	/* which of them it takes, */
	int		 filters;	/* and these? */
	int		 (*run)(struct args *, struct db *);
} verbs[] = {
	{ "alert",	"ACWacdw",	1,	alert },
	{ "count",	"d",		1,	count },
	{ "drop",	"dmnou",	0,	drop },
	{ "list",	"do",		1,	list },
	{ "retry",	"dmnou",	0,	retry },
	{ "show",	"do",		0,	show },
};

static int	 by_ids(struct args *, struct db *, const char *);
static void	 list_kind(struct args *, struct db *, int);
static int64_t	 age(int, const char *);
static int64_t	 number(int, const char *);
static _Noreturn void fail(const struct db *);
static void	 open_db(struct args *, struct db *);
static void	 options(struct args *, int, char **);
static void	 put(int);
static int	 redo(struct args *, struct db *, const char *, struct ids *,
		    int);
static _Noreturn void usage(int);
static const struct verb *verb(const struct args *);

int
main(int argc, char *argv[])
{
	struct args	 a = { 0 };
	struct db	 db = DB_INIT;
	const struct verb *v;
	int		 rc;

	options(&a, argc, argv);
	v = verb(&a);
	rc = v->run(&a, &db);
	select_free(&a.sel);
	db_close(&db);
	return rc;
}

static void
options(struct args *a, int argc, char *argv[])
{
	static const struct option longs[] = {
		{ "inbox", no_argument, NULL, INBOX },
		SELECT_TIMES,
		{ NULL, 0, NULL, 0 }
	};
	size_t		 n = 0;
	int		 ch, rc;

	while ((ch = getopt_long(argc, argv, "A:C:T:VW:a:c:d:hm:no:s:t:u:w:",
	    longs, NULL)) != -1) {
		if (strchr(a->given, ch) == NULL)
			a->given[n++] = (char)ch;
		switch (ch) {
		case 'A':
			a->each.age_s = age(ch, optarg);
			break;
		case 'C':
			a->each.crit = number(ch, optarg);
			break;
		case 'V':
			puts(VERSION);
			exit(EX_OK);
		case 'W':
			a->each.warn = number(ch, optarg);
			break;
		case 'a':
			a->at.age_s = age(ch, optarg);
			break;
		case 'c':
			a->at.crit = number(ch, optarg);
			break;
		case 'd':
			a->conninfo = hide_arg(optarg);
			break;
		case 'h':
			usage(EX_OK);
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
			a->at.warn = number(ch, optarg);
			break;
		case INBOX:
			a->kind = "message";
			break;
		default:
			if ((rc = select_option(&a->sel, ch, optarg)) == -1)
				errx(EX_USAGE, "%s", a->sel.why);
			if (rc == 0)
				usage(EX_USAGE);
		}
	}
	a->argc = argc - optind;
	a->argv = argv + optind;
}

static int64_t
age(int ch, const char *arg)
{
	const char	*why;
	int64_t		 ms;

	if (opt_duration(arg, 1000, INT64_C(1) << 50, &ms, &why) == -1)
		errx(EX_USAGE, "-%c %s: %s", ch, arg, why);
	return ms / 1000;
}

static int64_t
number(int ch, const char *arg)
{
	const char	*why;
	int64_t		 n;

	if (opt_int(arg, 1, INT64_MAX, &n, &why) == -1)
		errx(EX_USAGE, "-%c %s: %s", ch, arg, why);
	return n;
}

/* The first word says what to do; an option it does not take is an error. */
static const struct verb *
verb(const struct args *a)
{
	const char	*s;
	size_t		 i;

	if (a->argc == 0)
		usage(EX_USAGE);
	for (i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		if (strcmp(a->argv[0], verbs[i].name) == 0)
			break;
	if (i == sizeof(verbs) / sizeof(*verbs))
		usage(EX_USAGE);
	for (s = a->given; *s != '\0'; s++)
		if (strchr(verbs[i].options, *s) == NULL &&
		    (!verbs[i].filters || strchr(filters, *s) == NULL))
			usage(EX_USAGE);
	return &verbs[i];
}

static int
list(struct args *a, struct db *db)
{
	if (a->argc != 1)
		usage(EX_USAGE);
	open_db(a, db);
	/* Else each page might sort all that is left. */
	if (db_exec(db, "set enable_sort = off") == -1)
		fail(db);
	if (a->kind == NULL)
		list_kind(a, db, 0);
	/* A message has no subscription and no tenant. */
	if (a->sel.subscription == NULL && a->sel.tenant == NULL)
		list_kind(a, db, 1);
	return EX_OK;
}

/* An empty list is a heading, but not below another. */
static void
list_kind(struct args *a, struct db *db, int kind)
{
	struct page	 p;
	int		 n, heading = kind == 0 || a->kind != NULL;

	page_first(&p, kind);
	do {
		if ((n = page_next(&p, db, &a->sel)) == -1)
			fail(db);
		if (n > 0 || heading)
			put(out_rows(db, a->form));
		heading = 0;
	} while (n == PAGE_ROWS);
}

static int
count(struct args *a, struct db *db)
{
	if (a->argc != 1)
		usage(EX_USAGE);
	open_db(a, db);
	if (dlq_count(db, &a->sel, a->kind) == -1)
		fail(db);
	printf("%s\n", db_col(db, 0, 0));
	put(fflush(stdout));
	return EX_OK;
}

/*
 * The argument of show becomes one JSON text; the table is made of that.
 */
static int
show(struct args *a, struct db *db)
{
	struct ids	 ids = { .messages = 1 };
	char		 id[24], *json;
	int		 table = a->form == OUT_TABLE ||
			    (a->form == OUT_AUTO && isatty(STDOUT_FILENO));
	int		 message;

	if (a->argc != 2)
		usage(EX_USAGE);
	if (ids_args(&ids, 1, a->argv + 1) == -1 || ids.from_stdin)
		errx(EX_USAGE, "not an id: %.40s", a->argv[1]);
	message = ids.id[0] < 0;
	snprintf(id, sizeof(id), "%" PRId64,
	    message ? -ids.id[0] : ids.id[0]);
	ids_free(&ids);
	open_db(a, db);
	switch (message ? db_run(db, &stmt_dead_show, DB_ARGS(id)) :
	    dlq_show(db, id)) {
	case -1:
		fail(db);
	case 0:
		warnx(message ? "message m%s: no such message" :
		    "delivery %s: no such delivery", id);
		return 1;
	}
	if ((json = strdup(db_col(db, 0, 0))) == NULL)
		err(EX_TEMPFAIL, NULL);
	if (!table) {
		puts(json);
		put(fflush(stdout));
	} else {
		if (db_run(db, &stmt_dlq_show_fields, DB_ARGS(json)) == -1)
			fail(db);
		put(out_rows(db, OUT_TABLE));
	}
	if (table && !message) {
		if (db_run(db, &stmt_dlq_show_attempts, DB_ARGS(json)) == -1)
			fail(db);
		put(putchar('\n'));
		put(out_rows(db, OUT_TABLE));
	}
	free(json);
	return EX_OK;
}

static int
retry(struct args *a, struct db *db)
{
	return by_ids(a, db, REDO_RETRY);
}

static int
drop(struct args *a, struct db *db)
{
	return by_ids(a, db, REDO_DROP);
}

static int
by_ids(struct args *a, struct db *db, const char *what)
{
	struct ids	 ids = { .messages = 1 }, inbox = IDS_INIT;
	int		 status;

	if (a->argc < 2)
		usage(EX_USAGE);
	if (ids_args(&ids, a->argc - 1, a->argv + 1) == -1)
		errx(ids.code, "%s", ids.why);
	open_db(a, db);
	if (ids_stdin(&ids, db) == -1 || ids_split(&ids, &inbox) == -1)
		errx(ids.code, "%s", ids.why);
	if (redo_plan(db) == -1)
		fail(db);
	status = redo(a, db, what, &ids, 0);
	if (redo(a, db, what, &inbox, 1) != EX_OK)
		status = 1;
	ids_free(&ids);
	ids_free(&inbox);
	return status;
}

static int
redo(struct args *a, struct db *db, const char *what, struct ids *ids,
    int inbox)
{
	struct redo	 r = { .what = what, .tool = "hook-dlq",
			    .dry = a->dry, .reason = a->reason, .ids = ids,
			    .inbox = inbox };
	int		 i, n, rc, status = EX_OK;

	r.actor = opt_actor(a->actor);
	if (redo_start(&r) == -1)
		err(EX_TEMPFAIL, NULL);
	while ((rc = redo_next(&r, db)) == 1) {
		if (db_rows(db) > 0)
			put(out_rows(db, a->form));
		if ((n = redo_refused(&r, db)) == -1)
			fail(db);
		for (i = 0; i < n; i++)
			warnx("%s %s: %s", inbox ? "message" : "delivery",
			    db_col(db, i, 0), redo_why(db, i));
		if (n > 0)
			status = 1;
	}
	if (rc == -1)
		fail(db);
	redo_free(&r);
	return status;
}

/*
 * Lines as Nagios and its kin read them, and their exit codes: whoever runs
 * this has no use for sysexits.
 */
static int
alert(struct args *a, struct db *db)
{
	struct buf	 text = BUF_INIT(16384);
	int		 level = ALERT_UNKNOWN;

	if (a->argc != 1)
		usage(EX_USAGE);
	if (strpbrk(a->given, "ACWacw") == NULL)
		a->at.warn = 1;
	if (db_open(db, a->conninfo, "hook-dlq") != -1 &&
	    select_times(&a->sel, db) != -1 && (level = alert_judge(db,
	    &a->sel, a->kind, &a->at, &a->each, &text)) == -1)
		err(ALERT_UNKNOWN, NULL);
	if (level == ALERT_UNKNOWN)
		printf("DLQ UNKNOWN - %s\n", db_error(db));
	else
		fputs(text.s, stdout);
	put(fflush(stdout));
	buf_free(&text);
	return level;
}

/* Connect, and let the server read the times that were typed. */
static void
open_db(struct args *a, struct db *db)
{
	if (db_open(db, a->conninfo, "hook-dlq") == -1 ||
	    db_exec(db, "set plan_cache_mode = force_custom_plan") == -1)
		fail(db);
	if (select_times(&a->sel, db) == -1)
		errx(db_exitcode(db) == EX_DATAERR ? EX_USAGE :
		    db_exitcode(db), "%s", a->sel.why);
}

static _Noreturn void
fail(const struct db *db)
{
	errx(db_exitcode(db), "%s", db_error(db));
}

/* What writing on standard output came to. */
static void
put(int rc)
{
	if (rc < 0)
		err(EX_TEMPFAIL, "standard output");
}

static _Noreturn void
usage(int status)
{
	fprintf(status == EX_OK ? stdout : stderr, "usage: %s"
	    " list [-o form] [filter...] | count [filter...] | show [-o form]"
	    " id | retry|drop [-n] [-m why] [-u actor] id...|- | alert"
	    " [-A age] [-C n] [-W n] [-a age] [-c n] [-w n] [filter...];"
	    " filters: -s subscription -T tenant -t type --since time"
	    " --until time --inbox; always: -d conninfo -h -V\n",
	    getprogname());
	exit(status);
}
