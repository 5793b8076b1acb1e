#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "addr.h"
#include "jq.h"
#include "opt.h"
#include "stmt.h"
#include "sub.h"
#include "subopt.h"
#include "url.h"

#define NAME_MAX_BYTES	255	/* of a tenant, a name, a version */
#define TYPE_MAX_BYTES	255
#define TYPES_MAX	1000
#define CAP_MAX		1000
#define RATE_MAX	1e6	/* a second */
#define TIMEOUT_MIN_MS	100
#define TIMEOUT_MAX_MS	30000
#define LONGEST_MS	(INT64_C(30) * 86400 * 1000)

static int	 fail(struct subopt *, int, const char *, ...)
		    __attribute__((__format__(printf, 3, 4)));
static const char *given(const char *);
static int	 take_body(struct subopt *, const char *);
static int	 take_duration(struct subopt *, int, const char *, int64_t,
		    int64_t, char [24]);
static int	 take_header(struct subopt *, const char *);
static int	 take_rate(struct subopt *, const char *);
static int	 take_schedule(struct subopt *, const char *);
static int	 take_text(struct subopt *, const char *, const char *,
		    const char **);
static int	 take_transform(struct subopt *, const char *);
static int	 take_types(struct subopt *, const char *);
static const char *type_bad(const char *, size_t);

void
subopt_init(struct subopt *o)
{
	memset(o, 0, sizeof(*o));
	o->transform.max = JQ_PROGRAM_MAX;
	o->retry_ms.max = SUB_RETRIES * 24;
	o->shown_url.max = URL_MAX + 16;
	arr_init(&o->event_types, ARR_TEXT);
	arr_init(&o->headers, ARR_TEXT);
}

void
subopt_free(struct subopt *o)
{
	buf_free(&o->transform);
	buf_free(&o->retry_ms);
	buf_free(&o->shown_url);
	arr_free(&o->event_types);
	buf_wipe(&o->headers.bytes);
}

int
subopt_take(struct subopt *o, int letter, const char *arg)
{
	const char	*why;
	int64_t		 n;

	switch (letter) {
	case '4':
		o->retry_4xx = "t";
		return 0;
	case 'D':
		return take_duration(o, letter, arg, 1000, LONGEST_MS,
		    o->deadline_ms);
	case 'H':
		return take_header(o, arg);
	case 'L':
		o->legacy = "t";
		return 0;
	case 'N':
		return take_text(o, "--name", arg, &o->name);
	case 'O':
		o->ordered = "t";
		return 0;
	case 'S':
		return take_schedule(o, arg);
	case 'T':
		return take_text(o, "-T", arg, &o->tenant);
	case 'b':
		return take_body(o, arg);
	case 'c':
		if (opt_int(arg, 1, CAP_MAX, &n, &why) == -1)
			return fail(o, EX_USAGE, "-c %s: %s", arg, why);
		snprintf(o->cap, sizeof(o->cap), "%" PRId64, n);
		return 0;
	case 'e':
		return take_types(o, arg);
	case 'f':
		if (!opt_utf8(arg, strlen(arg)))
			return fail(o, EX_DATAERR, "-f: invalid UTF-8");
		o->filter = arg;
		return 0;
	case 'r':
		return take_rate(o, arg);
	case 'v':
		return take_text(o, "-v", arg, &o->api_version);
	case 'w':
		return take_duration(o, letter, arg, TIMEOUT_MIN_MS,
		    TIMEOUT_MAX_MS, o->timeout_ms);
	case 'x':
		return take_transform(o, arg);
	default:
		return fail(o, EX_SOFTWARE, "-%c: unknown", letter);
	}
}

int
subopt_url(struct subopt *o, const char *url)
{
	struct addr_allow	 allow;
	const char		*why;

	if (addr_allow_parse(&allow, getenv("HOOK_ALLOW_NET"), &why) == -1)
		return fail(o, EX_USAGE, "HOOK_ALLOW_NET: %s: not a network",
		    why);
	if (url_check(url, &allow, &why) == -1)
		return fail(o, EX_DATAERR, "url: %s", why);
	buf_reset(&o->shown_url);
	if (url_redact(url, &o->shown_url) == -1)
		return fail(o, EX_TEMPFAIL, "out of memory");
	o->url = url;
	return 0;
}

int
subopt_store(struct subopt *o, struct db *db, const char *id,
    const char *action, const char *who, const char *why)
{
	const char	*text[] = {
		id, o->tenant, o->name, o->url, NULL, o->filter,
		o->transform.s, o->api_version, NULL, given(o->cap),
		given(o->rate), given(o->timeout_ms), given(o->retry_ms.s),
		given(o->deadline_ms), o->raw, o->legacy, o->ordered,
		o->retry_4xx, action, who, why, o->shown_url.s
	};
	struct db_arg	 arg[sizeof(text) / sizeof(*text)];
	size_t		 i, narg = sizeof(text) / sizeof(*text);

	/* Its own statement, so that the error is surely about this. */
	if (o->filter != NULL && *o->filter != '\0' &&
	    db_run(db, &stmt_sub_jsonpath, DB_ARGS(o->filter)) == -1)
		return fail(o, db_exitcode(db), "-f: %s", db_error(db));

	for (i = 0; i < narg; i++)
		arg[i] = (struct db_arg){ text[i], DB_TEXT };
	if (o->event_types.n > 0)
		arg[4] = arr_arg(&o->event_types);
	if (o->has_headers)
		arg[8] = arr_arg(&o->headers);
	if (db_runv(db, &stmt_sub_set, narg, arg) == -1)
		return fail(o, db_exitcode(db), "%s", db_error(db));
	return db_rows(db);
}

static const char *
given(const char *s)
{
	return s == NULL || *s == '\0' ? NULL : s;
}

/* A word that may be empty, but is short and plain. */
static int
take_text(struct subopt *o, const char *option, const char *arg,
    const char **to)
{
	size_t	 len = strlen(arg);

	if (!opt_utf8(arg, len))
		return fail(o, EX_DATAERR, "%s: invalid UTF-8", option);
	if (opt_control(arg, len))
		return fail(o, EX_DATAERR, "%s: control character", option);
	if (len > NAME_MAX_BYTES)
		return fail(o, EX_DATAERR, "%s: longer than %d bytes", option,
		    NAME_MAX_BYTES);
	*to = arg;
	return 0;
}

static int
take_duration(struct subopt *o, int letter, const char *arg, int64_t min_ms,
    int64_t max_ms, char to[24])
{
	const char	*why;
	int64_t		 ms;

	if (opt_duration(arg, min_ms, max_ms, &ms, &why) == -1)
		return fail(o, EX_USAGE, "-%c %s: %s", letter, arg, why);
	snprintf(to, 24, "%" PRId64, ms);
	return 0;
}

static int
take_schedule(struct subopt *o, const char *arg)
{
	const char	*why;
	int64_t		 ms[SUB_RETRIES];
	int		 i, n, failed;

	if ((n = opt_durations(arg, 0, LONGEST_MS, ms, SUB_RETRIES,
	    &why)) == -1)
		return fail(o, EX_USAGE, "-S %s: %s", arg, why);
	buf_reset(&o->retry_ms);
	failed = buf_adds(&o->retry_ms, "{") == -1;
	for (i = 0; i < n; i++)
		failed |= buf_addf(&o->retry_ms, "%s%" PRId64,
		    i > 0 ? "," : "", ms[i]) == -1;
	if (failed || buf_adds(&o->retry_ms, "}") == -1)
		return fail(o, EX_TEMPFAIL, "out of memory");
	return 0;
}

static int
take_rate(struct subopt *o, const char *arg)
{
	const char	*why;
	double		 rate;

	if (strcmp(arg, "0") != 0 &&
	    opt_rate(arg, RATE_MAX, &rate, &why) == -1)
		return fail(o, EX_USAGE, "-r %s: %s", arg, why);
	snprintf(o->rate, sizeof(o->rate), "%s", arg);
	return 0;
}

static int
take_body(struct subopt *o, const char *arg)
{
	if (strcmp(arg, "raw") == 0)
		o->raw = "t";
	else if (strcmp(arg, "envelope") == 0)
		o->raw = "f";
	else
		return fail(o, EX_USAGE, "-b %s: not envelope or raw", arg);
	return 0;
}

/* Event types with commas between. */
static int
take_types(struct subopt *o, const char *arg)
{
	const char	*why;
	size_t		 len;

	if (!opt_utf8(arg, strlen(arg)))
		return fail(o, EX_DATAERR, "-e: invalid UTF-8");
	arr_reset(&o->event_types);
	for (;; arg += len + 1) {
		len = strcspn(arg, ",");
		if ((why = type_bad(arg, len)) != NULL)
			return fail(o, EX_DATAERR, "-e %.*s: %s",
			    len > NAME_MAX_BYTES ? NAME_MAX_BYTES : (int)len,
			    arg, why);
		if (o->event_types.n == TYPES_MAX)
			return fail(o, EX_DATAERR, "-e: more than %d types",
			    TYPES_MAX);
		arr_bytes(&o->event_types, arg, len);
		if (arg[len] == '\0')
			break;
	}
	if (arr_failed(&o->event_types))
		return fail(o, EX_TEMPFAIL, "out of memory");
	return 0;
}

/* Exact, or "*", or "prefix.*"; why it is none of these, or NULL. */
static const char *
type_bad(const char *s, size_t len)
{
	const char	*star = memchr(s, '*', len);

	if (len == 0)
		return "empty event type";
	if (len > TYPE_MAX_BYTES)
		return "event type too long";
	if (opt_control(s, len))
		return "control character";
	if (s[0] == ' ' || s[len - 1] == ' ')
		return "space around an event type";
	if (star == NULL || len == 1)
		return NULL;
	if (star != s + len - 1 || star[-1] != '.' || len < 3)
		return "* is for the whole type or the end: payment.*";
	return NULL;
}

/* "Name: value"; an empty one clears what there was. */
static int
take_header(struct subopt *o, const char *arg)
{
	const char	*colon = strchr(arg, ':'), *value, *why;
	char		*name, *copy;
	size_t		 len;
	int		 rc = -1;

	o->has_headers = 1;
	if (*arg == '\0') {
		arr_reset(&o->headers);
		o->header_bytes = 0;
		return 0;
	}
	if (colon == NULL)
		return fail(o, EX_DATAERR, "-H: no colon");
	value = colon + 1 + strspn(colon + 1, " \t");
	len = strlen(value);
	while (len > 0 && strchr(" \t", value[len - 1]) != NULL)
		len--;
	name = strndup(arg, (size_t)(colon - arg));
	copy = strndup(value, len);
	if (name == NULL || copy == NULL) {
		fail(o, EX_TEMPFAIL, "out of memory");
		goto out;
	}
	o->header_bytes += strlen(name) + len;
	if (header_check(name, copy, &why) == -1) {
		fail(o, EX_DATAERR, "-H: %s", why);
		goto out;
	}
	if (o->headers.n / 2 == SUB_HEADERS || o->header_bytes > HEADERS_MAX) {
		fail(o, EX_DATAERR, "-H: more than %d headers or %d bytes",
		    SUB_HEADERS, HEADERS_MAX);
		goto out;
	}
	arr_bytes(&o->headers, name, strlen(name));
	arr_bytes(&o->headers, copy, len);
	rc = arr_failed(&o->headers) ?
	    fail(o, EX_TEMPFAIL, "out of memory") : 0;
out:
	free(name);
	free(copy);
	return rc;
}

/* Read a jq program and have jq compile it; no file name clears. */
static int
take_transform(struct subopt *o, const char *path)
{
	char	 why[256];
	int	 rc;

	buf_reset(&o->transform);
	if (*path == '\0')
		return buf_adds(&o->transform, "") == -1 ?
		    fail(o, EX_TEMPFAIL, "out of memory") : 0;
	if (buf_readfile(&o->transform, path) == -1)
		return fail(o, EX_DATAERR, "-x %s: %s", path,
		    errno == EFBIG ? "program too long" : strerror(errno));
	if (o->transform.len == 0 ||
	    memchr(o->transform.s, '\0', o->transform.len) != NULL ||
	    !opt_utf8(o->transform.s, o->transform.len))
		return fail(o, EX_DATAERR, "-x %s: not a jq program", path);
	if ((rc = jq_check(o->transform.s, why, sizeof(why))) != 0)
		return fail(o, rc == 1 ? EX_DATAERR : EX_UNAVAILABLE,
		    "-x %s: %s", path, why);
	return 0;
}

static int
fail(struct subopt *o, int code, const char *fmt, ...)
{
	va_list	 ap;
	char	*p;

	va_start(ap, fmt);
	vsnprintf(o->why, sizeof(o->why), fmt, ap);
	va_end(ap);
	for (p = o->why; *p != '\0'; p++)
		if (opt_control(p, 1))
			*p = '?';
	o->code = code;
	return -1;
}
