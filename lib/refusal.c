#include <stdio.h>

#include "refusal.h"

#define LOG_BURST	50		/* lines about refusals at once */
#define LOG_EVERY_MS	500		/* and one each, after that */
#define OTHERS_MAX	64		/* secrets that a hint may name */

static size_t	 others(const struct receive *, const struct source *, int64_t,
		    struct hint_other *);

void
refusal_reason(const struct receive *rc, const struct source *src,
    const char *why, const struct hint *h, struct buf *out)
{
	static struct hint_other	 other[OTHERS_MAX];
	struct hint			 full;

	if (h == NULL || h->scheme == NULL)
		return;
	full = *h;
	full.other = other;
	full.nother = others(rc, src, h->now, other);
	if (buf_adds(out, why) == -1 || hint_add(&full, why, out) == -1)
		buf_reset(out);
}

/* The live secrets of other sources: one of them may be what was meant. */
static size_t
others(const struct receive *rc, const struct source *src, int64_t now,
    struct hint_other *other)
{
	struct sign_key	*key[SOURCE_KEYS];
	struct source	*s;
	size_t		 i, k, keys, n = 0;

	for (i = 0; i < rc->sources.n; i++) {
		s = rc->sources.all[i];
		if (s == src || s->scheme == NULL)
			continue;
		keys = source_keys(s, now, key);
		for (k = 0; k < keys && n < OTHERS_MAX; k++)
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
