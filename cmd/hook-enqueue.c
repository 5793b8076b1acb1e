/*
 * hook-enqueue: store events from standard input in the outbox.
 *
 * Exit 0 promises that they are committed and will be fanned out.  Any other
 * exit promises that nothing is stored, except a connection lost at commit
 * (EX_TEMPFAIL: try again with the same -k, and at most one event results),
 * and except what -w sees after the commit: its messages name the event.
 */
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "await.h"
#include "config.h"
#include "db.h"
#include "events.h"
#include "hide.h"
#include "opt.h"
#include "out.h"
#include "stmt.h"

#define SQL_MAX		((size_t)1 << 30)	/* bytes of a statement */
#define WAIT_MAX_MS	(INT64_C(30) * 86400 * 1000)

enum { OPT_SQL = 256 };

static const char	*conninfo;
static const char	*field[EVENT_FIELDS];	/* NULL: not given */
static int		 dry_run, lines, as_sql;
static int64_t		 wait_ms = -1;		/* do not */
static enum out_form	 form;

static int	 add_literal(struct buf *, const char *, size_t);
static void	 check(void);
static _Noreturn void	 give_up(struct db *);
static void	 parse(int, char *[]);
static void	 print_sql(const struct buf *);
static void	 progress(size_t);
static void	 read_payload(struct buf *);
static int	 store(const struct buf *);
static void	 store_lines(struct db *, struct events *, size_t);
static void	 store_one(struct db *, struct events *, const struct buf *);
static _Noreturn void	 usage(int);
static int	 wait_for(struct db *, struct events *);

int
main(int argc, char *argv[])
{
	struct buf	 payload = BUF_INIT(0);
	int		 rc = EX_OK;

	parse(argc, argv);
	check();
	if (opt_max_payload(&payload.max) == -1)
		errx(EX_USAGE, "HOOK_MAX_PAYLOAD: not a number of bytes");
	if (!lines)
		read_payload(&payload);
	if (as_sql)
		print_sql(&payload);
	else
		rc = store(&payload);
	buf_free(&payload);
	return rc;
}

static void
parse(int argc, char *argv[])
{
	static const struct option	 longopts[] = {
		{ "sql", no_argument, NULL, OPT_SQL },
		{ NULL, 0, NULL, 0 }
	};
	const char	*why;
	int		 ch;

	while ((ch = getopt_long(argc, argv, "T:Va:d:hk:lno:p:t:v:w:",
	    longopts, NULL)) != -1)
		switch (ch) {
		case 'T':
			field[EVENT_TENANT] = optarg;
			break;
		case 'V':
			puts(VERSION);
			exit(EX_OK);
		case 'a':
			field[EVENT_AGGREGATE] = optarg;
			break;
		case 'd':
			conninfo = hide_arg(optarg);
			break;
		case 'h':
			usage(EX_OK);
		case 'k':
			field[EVENT_KEY] = optarg;
			break;
		case 'l':
			lines = 1;
			break;
		case 'n':
			dry_run = 1;
			break;
		case 'o':
			if (out_form(optarg, &form) == -1)
				errx(EX_USAGE, "-o %s: not table or json",
				    optarg);
			break;
		case 'p':
			field[EVENT_TRACEPARENT] = optarg;
			break;
		case 't':
			field[EVENT_TYPE] = optarg;
			break;
		case 'v':
			field[EVENT_VERSION] = optarg;
			break;
		case 'w':
			if (opt_duration(optarg, 0, WAIT_MAX_MS, &wait_ms,
			    &why) == -1)
				errx(EX_USAGE, "-w %s: %s", optarg, why);
			break;
		case OPT_SQL:
			as_sql = 1;
			break;
		default:
			usage(EX_USAGE);
		}
	if (optind != argc)
		usage(EX_USAGE);
}

/* What needs no server. */
static void
check(void)
{
	static const char	 letter[EVENT_FIELDS] = "tavTkp";
	const char		*why;
	int			 i, given = 0;

	for (i = 0; i < EVENT_FIELDS; i++)
		given += field[i] != NULL;
	if (lines ? given > 0 || as_sql : field[EVENT_TYPE] == NULL)
		usage(EX_USAGE);
	if (as_sql && (dry_run || wait_ms != -1))
		usage(EX_USAGE);
	for (i = 0; i < EVENT_FIELDS; i++)
		if (field[i] != NULL && (why = event_bad((enum event_field)i,
		    field[i], strlen(field[i]))) != NULL)
			errx(EX_DATAERR, "-%c: %s", letter[i], why);
}

static void
read_payload(struct buf *payload)
{
	const char	*why;

	if (buf_readall(payload, STDIN_FILENO) == -1) {
		if (errno == EFBIG)
			errx(EX_DATAERR, "standard input: more than %zu bytes"
			    " (HOOK_MAX_PAYLOAD)", payload->max);
		err(EX_TEMPFAIL, "standard input");
	}
	if ((why = event_payload_bad(payload->s, payload->len)) != NULL)
		errx(EX_DATAERR, "standard input: %s", why);
}

/* Store what there is, and print the ids; or wait, and print more. */
static int
store(const struct buf *payload)
{
	struct events	 ev = EVENTS_INIT;
	struct db	 db = DB_INIT;
	int		 rc = EX_OK;

	if (db_open(&db, conninfo, getprogname()) == -1 ||
	    db_exec(&db, "begin") == -1)
		give_up(&db);
	if (lines)
		store_lines(&db, &ev, payload->max);
	else
		store_one(&db, &ev, payload);
	if (dry_run)
		goto out;
	if (db_exec(&db, "commit") == -1)
		errx(db_exitcode(&db), "commit: %s%s", db_error(&db),
		    db_exitcode(&db) == EX_TEMPFAIL ?
		    ": stored or not, only the same -k again is safe" : "");

	/* From here on it is stored: what fails no longer matters. */
	if (wait_ms == -1 && ev.n > 0)
		fputs(ev.ids.s, stdout);
	if (fflush(stdout) == EOF)
		warn("standard output");
	if (wait_ms != -1)
		rc = wait_for(&db, &ev);
out:
	db_close(&db);
	events_free(&ev);
	return rc;
}

static void
store_lines(struct db *db, struct events *ev, size_t max_payload)
{
	int	 rc;

	if (isatty(STDERR_FILENO))
		ev->progress = progress;
	rc = events_store(ev, db, STDIN_FILENO, "standard input", max_payload);
	if (ev->progress != NULL && ev->n > 0)
		fputc('\n', stderr);
	if (rc == -1)
		errx(ev->code, "%s", ev->why);
}

static void
progress(size_t n)
{
	fprintf(stderr, "\r%zu events, not yet committed", n);
}

static void
store_one(struct db *db, struct events *ev, const struct buf *payload)
{
	const char	*tenant = field[EVENT_TENANT];

	if (db_run(db, &stmt_enqueue, DB_ARGS(field[EVENT_TYPE], payload->s,
	    field[EVENT_AGGREGATE], field[EVENT_VERSION],
	    tenant == NULL ? "" : tenant, field[EVENT_KEY],
	    field[EVENT_TRACEPARENT])) == -1)
		give_up(db);
	if (buf_addf(&ev->ids, "%s\n", db_col(db, 0, 0)) == -1)
		err(EX_TEMPFAIL, NULL);
	ev->n = 1;
}

static _Noreturn void
give_up(struct db *db)
{
	int	 code = db_exitcode(db);

	errx(code, "%s%s", code == EX_DATAERR ? "standard input: " : "",
	    db_error(db));
}

/*
 * Wait for the events, one after the other, and print what became of them.
 * "Not" outweighs "not yet".
 */
static int
wait_for(struct db *db, struct events *ev)
{
	enum await	 state;
	char		*id, *rest = ev->ids.s;
	int64_t		 deadline_ms = await_deadline(wait_ms);
	int		 code, rc = EX_OK;

	while ((id = strsep(&rest, "\n")) != NULL && *id != '\0') {
		state = await_event(db, conninfo, getprogname(), id,
		    deadline_ms);
		if (state != AWAIT_FAILED && out_rows(db, form) == -1)
			warn("standard output");
		if (state != AWAIT_DELIVERED)
			warnx("%s: stored, but %s", id,
			    await_phrase(state, db));
		code = await_exitcode(state, db);
		if (rc == EX_OK || (rc == EX_TEMPFAIL && code != EX_OK))
			rc = code;
	}
	return rc;
}

/*
 * A statement for psql.  It is plain ASCII with escapes, so it means the same
 * under any client encoding and with standard_conforming_strings on or off.
 */
static void
print_sql(const struct buf *payload)
{
	static const char *const name[EVENT_FIELDS] = {
		NULL, "aggregate_id", "api_version", "tenant",
		"idempotency_key", "traceparent"
	};
	struct buf	 out = BUF_INIT(SQL_MAX);
	const char	*s = getenv("HOOK_SCHEMA");
	int		 i, failed = 0;

	failed |= buf_adds(&out, "select \"") == -1;
	for (s = s == NULL || *s == '\0' ? "public" : s; *s != '\0'; s++)
		failed |= buf_addf(&out, *s == '"' ? "\"\"" : "%c", *s) == -1;
	failed |= buf_adds(&out, "\".webhook_enqueue(event_type => ") == -1 ||
	    add_literal(&out, field[EVENT_TYPE],
	    strlen(field[EVENT_TYPE])) == -1 ||
	    buf_adds(&out, ", payload => ") == -1 ||
	    add_literal(&out, payload->s, payload->len) == -1 ||
	    buf_adds(&out, "::json") == -1;
	for (i = EVENT_TYPE + 1; i < EVENT_FIELDS; i++)
		if (field[i] != NULL)
			failed |= buf_addf(&out, ", %s => ", name[i]) == -1 ||
			    add_literal(&out, field[i], strlen(field[i])) ==
			    -1;
	if (failed || buf_adds(&out, ");\n") == -1)
		err(EX_TEMPFAIL, NULL);
	if (fwrite(out.s, 1, out.len, stdout) != out.len ||
	    fflush(stdout) == EOF)
		err(EX_TEMPFAIL, "standard output");
	buf_free(&out);
}

/* Append valid UTF-8 as E'...'. */
static int
add_literal(struct buf *out, const char *text, size_t len)
{
	const unsigned char	*s = (const unsigned char *)text;
	const unsigned char	*end = s + len;
	unsigned int		 c;
	int			 more, rc;

	if (buf_adds(out, "E'") == -1)
		return -1;
	while (s < end) {
		c = *s++;
		more = c < 0xc0 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
		if (more > 0)
			c &= 0x3fu >> more;
		for (; more > 0; more--)
			c = c << 6 | (*s++ & 0x3f);
		if (c == '\'' || c == '\\')
			rc = buf_addf(out, "%c%c", (int)c, (int)c);
		else if (c >= ' ' && c < 0x7f)
			rc = buf_addf(out, "%c", (int)c);
		else if (c < 0x10000)
			rc = buf_addf(out, "\\u%04x", c);
		else
			rc = buf_addf(out, "\\U%08x", c);
		if (rc == -1)
			return -1;
	}
	return buf_adds(out, "'");
}

static _Noreturn void
usage(int status)
{
	fprintf(status == EX_OK ? stdout : stderr, "usage: %s [-hlnV]"
	    " [-T tenant] [-a aggregate] [-d conninfo] [-k key]"
	    " [-o table|json] [-p traceparent] [-t type] [-v api-version]"
	    " [-w timeout] [--sql]\n", getprogname());
	exit(status);
}
