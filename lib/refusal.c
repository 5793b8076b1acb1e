#include <stdio.h>
#include <time.h>

#include "refusal.h"

#define LOG_BURST	50		/* lines about refusals at once */
#define LOG_EVERY_MS	500		/* and one each, after that */
#define OTHERS_MAX	64		/* secrets that a hint may name */
#define OTHERS_BYTES	((size_t)8 * 1024 * 1024)	/* hashed for these */
#define HINTS_US	50000		/* of CPU for causes at once */
#define HINTS_SHARE	25		/* and one in so many after that */

static int64_t	 cpu_us(void);
static size_t	 others(const struct receive *, const struct source *,
		    const struct hint *, struct hint_other *);

/*
 * To look for a cause takes a hundred times what the refusal takes, and
 * anybody can make us do it, while others wait.
 */
void
refusal_reason(const struct receive *rc, const struct source *src,
    const char *why, const struct hint *h, struct buf *out)
{
	static struct hint_other	 other[OTHERS_MAX];
	static int64_t			 last_ms, credit_us = HINTS_US;
	struct hint			 full;
	int64_t				 now_ms = follow_now_ms(), began_us;

	if (h == NULL || h->scheme == NULL)
		return;
	credit_us += (now_ms - last_ms) * 1000 / HINTS_SHARE;
	last_ms = now_ms;
	if (credit_us > HINTS_US)
		credit_us = HINTS_US;
	if (buf_adds(out, why) == -1 || credit_us < 0)
		return;
	began_us = cpu_us();
	full = *h;
	full.other = other;
	full.nother = others(rc, src, h, other);
	if (hint_add(&full, why, out) == -1)
		buf_reset(out);
	credit_us -= cpu_us() - began_us;
}

static int64_t
cpu_us(void)
{
	struct timespec	 ts;

	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts) == -1)
		return 0;
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* The live secrets of other sources: one of them may be what was meant. */
static size_t
others(const struct receive *rc, const struct source *src,
    const struct hint *h, struct hint_other *other)
{
	struct sign_key	*key[SOURCE_KEYS];
	struct source	*s;
	size_t		 i, k, keys, n = 0;
	size_t		 most = OTHERS_BYTES / (h->message.body_len + 1);

	if (most > OTHERS_MAX)
		most = OTHERS_MAX;
	for (i = 0; i < rc->sources.n && n < most; i++) {
		s = rc->sources.all[i];
		if (s == src || s->scheme == NULL)
			continue;
		keys = source_keys(s, h->now, key);
		for (k = 0; k < keys && n < most; k++)
			other[n++] = (struct hint_other){ s->name, s->scheme,
			    key[k] };
	}
	return n;
}

int
refusal_may_log(char *skipped, size_t len)
{
	static int64_t	 last_ms, credit_ms = LOG_BURST * LOG_EVERY_MS, n;
	int64_t		 now = follow_now_ms();

	credit_ms += now - last_ms;
	last_ms = now;
	if (credit_ms > LOG_BURST * LOG_EVERY_MS)
		credit_ms = LOG_BURST * LOG_EVERY_MS;
	if (credit_ms < LOG_EVERY_MS) {
		n++;
		return 0;
	}
	credit_ms -= LOG_EVERY_MS;
	skipped[0] = '\0';
	if (n > 0)
		snprintf(skipped, len, "%lld", (long long)n);
	n = 0;
	return 1;
}
