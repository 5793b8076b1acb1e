#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "arr.h"
#include "events.h"
#include "line.h"
#include "object.h"
#include "opt.h"
#include "stmt.h"

#define BATCH		500			/* lines a statement */
#define BATCH_BYTES	(4 * 1024 * 1024)
#define LINE_REST	(64 * 1024)		/* bytes beside the payload */
#define SHOWN		40			/* bytes of an unknown key */
#define COLUMNS		(EVENT_FIELDS + 1)	/* and the payload */

static const char *const key_of[EVENT_FIELDS] = {
	"event_type", "aggregate_id", "api_version", "tenant",
	"idempotency_key", "traceparent"
};

/* Where a line's parts are: fields as JSON strings, quotes included. */
struct parts {
	struct object_member	 field[EVENT_FIELDS], payload;
};

/* Lines not stored yet. */
struct batch {
	struct events	*ev;
	struct db	*db;
	const char	*source;
	size_t		 max_payload, first;
	size_t		 n, keys;	/* keys: how many have one */
	struct buf	 text;		/* the lines, newlines between */
	struct arr	 col[COLUMNS];	/* the same, split: enqueue_lines */
};

static int	 add(struct batch *, const char *, size_t);
static void	 empty(struct batch *);
static const char *escapes(const char *, size_t);
static int	 fail(struct batch *, int, const char *, ...)
		    __attribute__((__format__(printf, 3, 4)));
static int	 fail_line(struct batch *, size_t, const char *);
static int	 flush(struct batch *);
static int	 one_by_one(struct batch *);
static int	 put(struct batch *, const struct parts *);
static const char *split(const struct batch *, const char *, size_t,
		    struct parts *);
static int	 store(struct batch *);
static const char *string_bad(enum event_field, struct object_member *);
static int	 traceparent(const char *, size_t);

const char *
event_bad(enum event_field field, const char *s, size_t len)
{
	if (!opt_utf8(s, len))
		return "invalid UTF-8";
	if (opt_control(s, len))
		return "control character";
	if (len == 0 && (field == EVENT_TYPE || field == EVENT_KEY))
		return "empty";
	if (field == EVENT_KEY && len > EVENT_KEY_MAX)
		return "longer than 255 bytes";
	if (field == EVENT_TRACEPARENT && !traceparent(s, len))
		return "not a W3C traceparent";
	return NULL;
}

const char *
event_payload_bad(const char *s, size_t len)
{
	if (len == 0)
		return "empty";
	if (memchr(s, '\0', len) != NULL)
		return "NUL byte";
	if (len >= 3 && memcmp(s, "\xef\xbb\xbf", 3) == 0)
		return "byte order mark before the JSON";
	if (!opt_utf8(s, len))
		return "invalid UTF-8";
	return NULL;
}

int
events_store(struct events *ev, struct db *db, int fd, const char *source,
    size_t max_payload)
{
	struct batch	 b = { .ev = ev, .db = db, .source = source,
			    .max_payload = max_payload, .first = 1 };
	struct line	 in;
	int		 got, i, rc = -1;

	b.text.max = BATCH_BYTES + max_payload + LINE_REST;
	for (i = 0; i < COLUMNS; i++)
		arr_init(&b.col[i], ARR_TEXT);
	line_init(&in, fd, max_payload + LINE_REST);
	while ((got = line_next(&in)) == 1) {
		if (add(&b, in.s, in.len) == -1)
			goto out;
		if ((b.n == BATCH || b.text.len >= BATCH_BYTES) &&
		    flush(&b) == -1)
			goto out;
	}
	if (got == -1 && errno == EFBIG)
		fail_line(&b, in.number, "too long (HOOK_MAX_PAYLOAD)");
	else if (got == -1 && errno == EILSEQ)
		fail_line(&b, in.number, "NUL byte");
	else if (got == -1)
		fail(&b, EX_TEMPFAIL, "%s: %s", source, strerror(errno));
	else
		rc = flush(&b);
out:
	for (i = 0; i < COLUMNS; i++)
		arr_free(&b.col[i]);
	buf_free(&b.text);
	line_free(&in);
	return rc;
}

void
events_free(struct events *ev)
{
	buf_free(&ev->ids);
}

/* Take a line into the batch. */
static int
add(struct batch *b, const char *s, size_t len)
{
	struct parts	 parts;
	const char	*why;

	if ((why = split(b, s, len, &parts)) != NULL)
		return fail_line(b, b->first + b->n, why);
	if ((b->n > 0 && buf_adds(&b->text, "\n") == -1) ||
	    buf_add(&b->text, s, len) == -1 || put(b, &parts) == -1)
		return fail(b, EX_TEMPFAIL, "%s: out of memory", b->source);
	b->n++;
	return 0;
}

/* Find the parts of a line; why it is no event, or NULL. */
static const char *
split(const struct batch *b, const char *s, size_t len, struct parts *parts)
{
	static char		 why[128];
	struct object		 o;
	struct object_member	 m, *to;
	int			 i, rc;

	memset(parts, 0, sizeof(*parts));
	if (!opt_utf8(s, len))
		return "invalid UTF-8";
	object_init(&o, s, len);
	while ((rc = object_next(&o, &m)) == 1) {
		for (i = 0, to = NULL; i < EVENT_FIELDS; i++)
			if (strlen(key_of[i]) == m.key_len &&
			    memcmp(key_of[i], m.key, m.key_len) == 0)
				to = &parts->field[i];
		if (m.key_len == 7 && memcmp(m.key, "payload", 7) == 0)
			to = &parts->payload;
		if (to == NULL || to->key != NULL) {
			snprintf(why, sizeof(why), "%s key \"%.*s\"",
			    to == NULL ? "unknown" : "repeated",
			    (int)(m.key_len > SHOWN ? SHOWN : m.key_len),
			    m.key);
			return why;
		}
		*to = m;
	}
	if (rc == -1)
		return "not a JSON object";
	for (i = 0; i < EVENT_FIELDS; i++)
		if (string_bad((enum event_field)i, &parts->field[i]) != NULL) {
			snprintf(why, sizeof(why), "%s: %s", key_of[i],
			    string_bad((enum event_field)i,
			    &parts->field[i]));
			return why;
		}
	if (parts->field[EVENT_TYPE].value == NULL)
		return "no event_type";
	if (parts->payload.value == NULL)
		return "no payload";
	if (parts->payload.value_len > b->max_payload) {
		snprintf(why, sizeof(why), "payload of %zu bytes, more than"
		    " %zu (HOOK_MAX_PAYLOAD)", parts->payload.value_len,
		    b->max_payload);
		return why;
	}
	return NULL;
}

/* Why a member is not such a string, or NULL; null becomes absent. */
static const char *
string_bad(enum event_field field, struct object_member *m)
{
	const char	*why;

	if (m->value == NULL)
		return NULL;
	if (m->value_len == 4 && memcmp(m->value, "null", 4) == 0) {
		m->value = NULL;
		return NULL;
	}
	if (*m->value != '"' || m->value_len < 2)
		return "not a string";
	if ((why = escapes(m->value, m->value_len)) != NULL)
		return why;

	/* How long it is without its escapes is for the server to say. */
	if (field == EVENT_KEY && memchr(m->value, '\\', m->value_len) != NULL)
		return NULL;
	return event_bad(field, m->value + 1, m->value_len - 2);
}

/* A control character can only stand in a JSON string as an escape. */
static const char *
escapes(const char *s, size_t len)
{
	const char	*end = s + len;

	while ((s = memchr(s, '\\', (size_t)(end - s))) != NULL &&
	    end - s >= 2) {
		if (strchr("bfnrt", s[1]) != NULL ||
		    (s[1] == 'u' && end - s >= 6 && s[2] == '0' &&
		    s[3] == '0' && (s[4] == '0' || s[4] == '1' ||
		    (s[4] == '7' && (s[5] | 0x20) == 'f'))))
			return "control character";
		s += 2;
	}
	return NULL;
}

static int
put(struct batch *b, const struct parts *parts)
{
	const struct object_member	*m;
	int				 i, failed = 0;

	arr_bytes(&b->col[0], parts->payload.value, parts->payload.value_len);
	for (i = 0; i < EVENT_FIELDS; i++) {
		m = &parts->field[i];
		arr_bytes(&b->col[i + 1], m->value, m->value_len);
	}
	b->keys += parts->field[EVENT_KEY].value != NULL;
	for (i = 0; i < COLUMNS; i++)
		failed |= arr_failed(&b->col[i]);
	return failed ? -1 : 0;
}

/* Store the batch, under a savepoint: a failure is looked into. */
static int
flush(struct batch *b)
{
	if (b->n == 0)
		return 0;
	if (db_exec(b->db, "savepoint hook_events") == -1)
		return fail(b, db_exitcode(b->db), "%s", db_error(b->db));
	if (store(b) == -1 && (db_exitcode(b->db) != EX_DATAERR ||
	    one_by_one(b) == -1))
		return b->ev->code != 0 ? -1 : fail(b, db_exitcode(b->db),
		    "%s", db_error(b->db));
	if (db_exec(b->db, "release savepoint hook_events") == -1)
		return fail(b, db_exitcode(b->db), "%s", db_error(b->db));
	empty(b);
	buf_reset(&b->text);
	b->first += b->n;
	b->n = 0;
	if (b->ev->progress != NULL)
		b->ev->progress(b->ev->n);
	return 0;
}

/* Run the statement on what is in the columns, and keep the ids. */
static int
store(struct batch *b)
{
	struct db_arg	 arg[COLUMNS];
	int		 i, n, narg = 0;

	for (i = 0; i < COLUMNS; i++)
		if (i != EVENT_KEY + 1 || b->keys > 0)
			arg[narg++] = arr_arg(&b->col[i]);
	n = db_runv(b->db, b->keys > 0 ? &stmt_enqueue_lines :
	    &stmt_enqueue_many, (size_t)narg, arg);
	if (n == -1)
		return -1;
	for (i = 0; i < n; i++)
		if (buf_addf(&b->ev->ids, "%s\n", db_col(b->db, i, 0)) == -1)
			return fail(b, EX_TEMPFAIL, "%s: too many events",
			    b->source);
	b->ev->n += (size_t)n;
	return 0;
}

/* The error of a statement does not say which of its lines was bad. */
static int
one_by_one(struct batch *b)
{
	struct parts	 parts;
	char		*line, *rest = b->text.s;
	size_t		 number = b->first;

	if (db_exec(b->db, "rollback to savepoint hook_events") == -1)
		return -1;
	for (; (line = strsep(&rest, "\n")) != NULL; number++) {
		empty(b);
		split(b, line, strlen(line), &parts);
		if (put(b, &parts) == -1)
			return fail(b, EX_TEMPFAIL, "%s: out of memory",
			    b->source);
		if (store(b) == -1)
			return db_exitcode(b->db) != EX_DATAERR ? -1 :
			    fail_line(b, number, db_error(b->db));
	}
	return 0;
}

static void
empty(struct batch *b)
{
	int	 i;

	for (i = 0; i < COLUMNS; i++)
		arr_reset(&b->col[i]);
	b->keys = 0;
}

static int
fail_line(struct batch *b, size_t number, const char *why)
{
	/* What is wrong in an earlier line comes first. */
	if (number == b->first + b->n && flush(b) == -1)
		return -1;
	return fail(b, EX_DATAERR, "%s: line %zu: %s", b->source, number, why);
}

static int
fail(struct batch *b, int code, const char *fmt, ...)
{
	va_list	 ap;
	char	*p;

	va_start(ap, fmt);
	vsnprintf(b->ev->why, sizeof(b->ev->why), fmt, ap);
	va_end(ap);
	for (p = b->ev->why; *p != '\0'; p++)
		if (opt_control(p, 1))
			*p = '?';
	b->ev->code = code;
	return -1;
}

/* W3C Trace Context, 3.2: version-trace-parent-flags in lower hex. */
static int
traceparent(const char *s, size_t len)
{
	static const char	 form[] = "00-00000000000000000000000000000000"
				    "-0000000000000000-00";
	size_t			 i;

	if (len != sizeof(form) - 1)
		return 0;
	for (i = 0; i < len; i++)
		if (form[i] == '-' ? s[i] != '-' :
		    strchr("0123456789abcdef", s[i]) == NULL)
			return 0;
	return strncmp(s, "ff", 2) != 0 && strspn(s + 3, "0") < 32 &&
	    strspn(s + 36, "0") < 16;
}
