#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "ids.h"
#include "line.h"
#include "opt.h"
#include "stmt.h"

#define BATCH		1000			/* lines a statement */
#define BATCH_BYTES	(2 * IDS_LINE_MAX)
#define SHOWN		40			/* bytes of a bad id */

/* Lines not yet looked at, with newlines between. */
struct batch {
	struct buf	 text;
	size_t		 n;
	size_t		 first;		/* number of the first */
};

static int	 add(struct ids *, const char *, int, const char *);
static const char *bad_line(const struct line *, int, int);
static int	 fail(struct ids *, int, const char *, ...)
		    __attribute__((__format__(printf, 3, 4)));
static int	 flush(struct ids *, struct db *, struct batch *);
static int	 one_by_one(struct ids *, struct db *, char *, size_t);
static int	 parse(struct ids *, struct db *, char *, size_t, size_t);

int
ids_args(struct ids *ids, int argc, char *const *argv)
{
	int	 i;

	if (argc == 1 && strcmp(argv[0], "-") == 0) {
		ids->from_stdin = 1;
		return 0;
	}
	for (i = 0; i < argc; i++)
		if (add(ids, argv[i], EX_USAGE, "") == -1)
			return -1;
	return 0;
}

int
ids_stdin(struct ids *ids, struct db *db)
{
	struct batch	 batch = { .text = BUF_INIT(BATCH_BYTES +
			    IDS_LINE_MAX), .first = 1 };
	struct line	 in;
	int		 error, got, rc = -1;

	if (!ids->from_stdin)
		return 0;
	line_init(&in, STDIN_FILENO, IDS_LINE_MAX);
	while ((got = line_next(&in)) == 1 && bad_line(&in, got, 0) == NULL) {
		if ((batch.n++ > 0 && buf_adds(&batch.text, "\n") == -1) ||
		    buf_add(&batch.text, in.s, in.len) == -1) {
			fail(ids, EX_TEMPFAIL, "standard input: %s",
			    strerror(errno));
			goto out;
		}
		if ((batch.n == BATCH || batch.text.len > BATCH_BYTES) &&
		    flush(ids, db, &batch) == -1)
			goto out;
	}
	error = errno;
	if (got == -1 && error != EFBIG && error != EILSEQ) {
		fail(ids, EX_TEMPFAIL, "standard input: %s", strerror(error));
		goto out;
	}

	/* What is wrong in an earlier line comes first. */
	if (flush(ids, db, &batch) == -1)
		goto out;
	rc = got == 0 ? 0 : fail(ids, EX_DATAERR,
	    "standard input: line %zu: %s", in.number,
	    bad_line(&in, got, error));
out:
	buf_free(&batch.text);
	line_free(&in);
	return rc;
}

int
ids_array(const struct ids *ids, size_t from, size_t n, struct buf *out)
{
	size_t	 i;

	if (buf_adds(out, "{") == -1)
		return -1;
	for (i = from; i < from + n; i++)
		if (buf_addf(out, "%s%" PRId64, i > from ? "," : "",
		    ids->id[i]) == -1)
			return -1;
	return buf_adds(out, "}");
}

int
ids_split(struct ids *ids, struct ids *messages)
{
	size_t	 i, n = 0;

	messages->id = reallocarray(NULL, ids->n + 1, sizeof(*ids->id));
	if (messages->id == NULL)
		return fail(ids, EX_TEMPFAIL, "out of memory");
	for (i = 0; i < ids->n; i++)
		if (ids->id[i] < 0)
			messages->id[messages->n++] = -ids->id[i];
		else
			ids->id[n++] = ids->id[i];
	ids->n = n;
	return 0;
}

void
ids_free(struct ids *ids)
{
	free(ids->id);
	ids->id = NULL;
	ids->n = ids->cap = 0;
}

/* Why a line can't even be looked at, or NULL. */
static const char *
bad_line(const struct line *in, int got, int error)
{
	if (got == -1)
		return error == EFBIG ? "too long" : "NUL byte";
	if (in->len == 0)
		return "not an id";
	return opt_utf8(in->s, in->len) ? NULL : "invalid UTF-8";
}

static int
flush(struct ids *ids, struct db *db, struct batch *b)
{
	int	 rc = 0;

	if (b->n > 0)
		rc = parse(ids, db, b->text.s, b->n, b->first);
	b->first += b->n;
	b->n = 0;
	buf_reset(&b->text);
	return rc;
}

/* Take the ids of n lines; the first of them has that number. */
static int
parse(struct ids *ids, struct db *db, char *text, size_t n, size_t first)
{
	char	 where[64];
	int	 i, rows;

	snprintf(where, sizeof(where), "standard input: line %zu: ", first);
	if ((rows = db_run(db, &stmt_ids, DB_ARGS(text))) == -1) {
		if (db_exitcode(db) != EX_DATAERR)
			return fail(ids, db_exitcode(db), "%s", db_error(db));
		return n == 1 ?
		    fail(ids, EX_DATAERR, "%s%s", where, db_error(db)) :
		    one_by_one(ids, db, text, first);
	}
	for (i = 0; i < rows; i++) {
		snprintf(where, sizeof(where), "standard input: line %zu: ",
		    first + (size_t)i);
		if (add(ids, db_col(db, i, 0), EX_DATAERR, where) == -1)
			return -1;
	}
	return 0;
}

/* The error of a statement does not say which of its lines was bad. */
static int
one_by_one(struct ids *ids, struct db *db, char *text, size_t first)
{
	char	*line;

	while ((line = strsep(&text, "\n")) != NULL)
		if (parse(ids, db, line, 1, first++) == -1)
			return -1;
	return 0;
}

static int
add(struct ids *ids, const char *s, int code, const char *where)
{
	const char	*why;
	int64_t		*grown, id;
	size_t		 cap;

	if (s == NULL)
		return fail(ids, code, "%sno id", where);
	if (opt_int(ids->messages && *s == 'm' ? s + 1 : s, 1, INT64_MAX, &id,
	    &why) == -1)
		return fail(ids, code, "%snot an id: %.*s%s", where, SHOWN, s,
		    strlen(s) > SHOWN ? "..." : "");
	if (ids->n == IDS_MAX)
		return fail(ids, code, "%smore than %d ids", where, IDS_MAX);
	if (ids->n == ids->cap) {
		cap = ids->cap == 0 ? 64 : ids->cap * 2;
		grown = reallocarray(ids->id, cap, sizeof(*grown));
		if (grown == NULL)
			return fail(ids, EX_TEMPFAIL, "out of memory");
		ids->id = grown;
		ids->cap = cap;
	}
	ids->id[ids->n++] = *s == 'm' ? -id : id;
	return 0;
}

static int
fail(struct ids *ids, int code, const char *fmt, ...)
{
	va_list	 ap;
	char	*p;

	va_start(ap, fmt);
	vsnprintf(ids->why, sizeof(ids->why), fmt, ap);
	va_end(ap);
	for (p = ids->why; *p != '\0'; p++)
		if (opt_control(p, 1))
			*p = '?';
	ids->code = code;
	return -1;
}
