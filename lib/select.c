#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "opt.h"
#include "select.h"
#include "stmt.h"

static int	 fail(struct select *, const char *, ...)
		    __attribute__((__format__(printf, 2, 3)));
static int	 resolve(struct select *, struct db *, const char *,
		    const char *, char *, size_t);
static int	 states(struct select *, const char *);
static int	 type(struct select *, const char *);

int
select_option(struct select *sel, int ch, const char *arg)
{
	const char	*why;
	int64_t		 id;

	switch (ch) {
	case 'T':
		sel->tenant = arg;
		return 1;
	case 'e':
		sel->event = arg;
		return 1;
	case 's':
		if (opt_int(arg, 1, INT64_MAX, &id, &why) == -1)
			return fail(sel, "-s %.40s: not an id", arg);
		sel->subscription = arg;
		return 1;
	case 't':
		return type(sel, arg);
	case SELECT_SINCE:
		sel->since_arg = arg;
		return 1;
	case SELECT_STATE:
		return states(sel, arg);
	case SELECT_UNTIL:
		sel->until_arg = arg;
		return 1;
	default:
		return 0;
	}
}

static int
type(struct select *sel, const char *arg)
{
	size_t	 len = strlen(arg);

	sel->type = NULL;
	free(sel->prefix);
	sel->prefix = NULL;
	if (strcmp(arg, "*") == 0)
		return 1;
	if (len < 2 || strcmp(arg + len - 2, ".*") != 0) {
		sel->type = arg;
		return 1;
	}
	if ((sel->prefix = strndup(arg, len - 1)) == NULL)
		return fail(sel, "-t: out of memory");
	return 1;
}

/* States with commas between, as an SQL array. */
static int
states(struct select *sel, const char *arg)
{
	static const char *const known[] = { "failed", "expired", "delivered",
	    "discarded" };
	const char	*s = arg;
	size_t		 i, len;

	for (;; s += len + 1) {
		len = strcspn(s, ",");
		for (i = 0; i < sizeof(known) / sizeof(*known); i++)
			if (len == strlen(known[i]) &&
			    strncmp(s, known[i], len) == 0)
				break;
		if (i == sizeof(known) / sizeof(*known))
			return fail(sel, "--state %.40s: not failed, expired,"
			    " delivered or discarded", arg);
		if (i >= 2)
			sel->over = 1;
		if (s[len] == '\0')
			break;
	}
	free(sel->states);
	if (asprintf(&sel->states, "{%s}", arg) == -1) {
		sel->states = NULL;
		return fail(sel, "--state: out of memory");
	}
	return 1;
}

int
select_times(struct select *sel, struct db *db)
{
	if (resolve(sel, db, "--since", sel->since_arg, sel->since,
	    sizeof(sel->since)) == -1)
		return -1;
	return resolve(sel, db, "--until", sel->until_arg, sel->until,
	    sizeof(sel->until));
}

static int
resolve(struct select *sel, struct db *db, const char *option,
    const char *arg, char *out, size_t outlen)
{
	int	 bad;

	*out = '\0';
	if (arg == NULL)
		return 0;
	if (db_run(db, &stmt_dlq_time, DB_ARGS(arg)) == -1) {
		bad = db_exitcode(db) == EX_DATAERR;
		fail(sel, "%s%s%s", bad ? option : "", bad ? ": " : "",
		    db_error(db));
		return -1;
	}
	if (strlcpy(out, db_col(db, 0, 0), outlen) < outlen)
		return 0;
	return fail(sel, "%s: too long", option);
}

static int
fail(struct select *sel, const char *fmt, ...)
{
	va_list	 ap;

	va_start(ap, fmt);
	vsnprintf(sel->why, sizeof(sel->why), fmt, ap);
	va_end(ap);
	return -1;
}

const char *
select_since(const struct select *sel)
{
	return *sel->since == '\0' ? NULL : sel->since;
}

const char *
select_until(const struct select *sel)
{
	return *sel->until == '\0' ? NULL : sel->until;
}

void
select_free(struct select *sel)
{
	free(sel->prefix);
	free(sel->states);
	sel->prefix = sel->states = NULL;
}
