#include <stdio.h>
#include <string.h>

#include "keep.h"
#include "opt.h"

#define DAY_MS		INT64_C(86400000)
#define LEAST_MS	INT64_C(3600000)	/* of anything */
#define MOST_MS		(36500 * DAY_MS)
#define REMEMBER_MS	(7 * DAY_MS)

static const char *const names[KEEP_KINDS] = { "outbox", "done", "dead",
    "attempts", "keys", "inbox", "jobs", "audit" };

static int	 short_of(struct keep *, enum keep_what, const char *);
static int	 take(struct keep *, const char *);

void
keep_init(struct keep *k)
{
	int	 i;

	memset(k, 0, sizeof(*k));
	for (i = 0; i < KEEP_AUDIT; i++)
		k->ms[i] = 30 * DAY_MS;
	k->ms[KEEP_KEYS] = REMEMBER_MS;
}

int
keep_take(struct keep *k, const char *arg)
{
	char	 one[64];
	size_t	 len;

	for (;; arg += len + 1) {
		len = strcspn(arg, ",");
		snprintf(one, sizeof(one), "%.*s", (int)len, arg);
		if (take(k, one) == -1)
			return -1;
		if (arg[len] == '\0')
			return 0;
	}
}

static int
take(struct keep *k, const char *s)
{
	const char	*eq = strchr(s, '='), *why;
	int64_t		 ms;
	int		 i;

	if (opt_duration(eq == NULL ? s : eq + 1, LEAST_MS, MOST_MS, &ms,
	    &why) == -1) {
		snprintf(k->why, sizeof(k->why), "%s: %s", s, why);
		return -1;
	}
	if (eq == NULL) {
		for (i = 0; i < KEEP_AUDIT; i++)
			k->ms[i] = ms;
		return 0;
	}
	for (i = 0; i < KEEP_KINDS; i++)
		if (strlen(names[i]) == (size_t)(eq - s) &&
		    memcmp(names[i], s, (size_t)(eq - s)) == 0)
			break;
	if (i == KEEP_KINDS) {
		snprintf(k->why, sizeof(k->why), "%s: not one of outbox, done,"
		    " dead, attempts, keys, inbox, jobs, audit", s);
		return -1;
	}
	k->ms[i] = ms;
	if (i == KEEP_DONE)
		k->ms[KEEP_DEAD] = ms;
	return 0;
}

int
keep_check(struct keep *k)
{
	enum keep_what	 what;

	for (what = KEEP_KEYS; what <= KEEP_INBOX; what++)
		if (k->ms[what] < REMEMBER_MS)
			return short_of(k, what, "7d: what comes twice is to"
			    " be known by then");
	for (what = KEEP_DONE; what <= KEEP_DEAD; what++)
		if (k->ms[what] < k->ms[KEEP_OUTBOX])
			return short_of(k, what, "outbox: hook-replay --fanout"
			    " would make the deliveries again");
	return 0;
}

static int
short_of(struct keep *k, enum keep_what what, const char *why)
{
	snprintf(k->why, sizeof(k->why), "%s is shorter than %s", names[what],
	    why);
	return -1;
}
