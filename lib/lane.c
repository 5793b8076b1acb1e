#include <stdlib.h>
#include <string.h>

#include "lane.h"

#define DISABLE_AFTER_S	(5 * 86400)
#define BURST_S		0.1	/* the bucket holds this many seconds' worth */

static double	 burst(const struct sub *);
static void	 failed(struct lane *, int, int, int64_t, int64_t, double);
static void	 fill(struct lane *, int64_t);
static void	 hold(struct lane *, int64_t);
static void	 succeeded(struct lane *);

void
lane_init(struct lane *l, int64_t id, int64_t fence, int64_t now_ms)
{
	memset(l, 0, sizeof(*l));
	l->id = id;
	l->fence = fence;
	l->since_ms = l->tokens_ms = now_ms;
	l->used_ms = INT64_MIN / 2;	/* new: all of the credit */
	l->idle = 1;
	l->after_at = LANE_AFTER_AT_NONE;
}

void
lane_free(struct lane *l)
{
	while (!RB_EMPTY(&l->all))
		delivery_free(RB_ROOT(&l->all));
	sub_free(l->sub);
	l->sub = NULL;
}

void
lane_settings(struct lane *l, struct sub *sub)
{
	int	 first = l->sub == NULL;
	int	 resumed = !first && !l->sub->active && sub->active;

	sub_free(l->sub);
	l->sub = sub;
	l->reload = 0;
	l->yield = l->expire = !sub->active;
	if (resumed) {
		l->failures = l->open = 0;
		l->hold_ms = 0;
		l->dirty = 1;
		l->disable_why = NULL;
	}
	l->failing_told = sub->failing_since != 0;
	if (first || resumed)
		l->failing = l->failing_told;
	else if (!l->failing)
		sub->failing_since = 0;	/* a success it was not told of yet */
}

void
lane_drop(struct lane *l)
{
	struct delivery	*d, *after;

	for (d = l->first; d != NULL; d = after) {
		after = d->after;
		delivery_free(d);
	}
	l->first = l->last = NULL;
	l->queued = 0;
	l->after_at = LANE_AFTER_AT_NONE;
	l->after_id = INT64_MIN;
}

int
lane_push(struct lane *l, struct delivery *d)
{
	if (RB_INSERT(deliveries, &l->all, d) != NULL)
		return 0;
	d->lane = l;
	d->place = WAITING;
	if (l->last != NULL)
		l->last->after = d;
	else
		l->first = d;
	l->last = d;
	l->queued++;
	return 1;
}

struct delivery *
lane_pop(struct lane *l, int64_t now_ms)
{
	struct delivery	*d = l->first;

	if (d == NULL || lane_wait(l, now_ms) != 0)
		return NULL;
	if (l->sub->rate > 0) {
		fill(l, now_ms);
		l->tokens -= 1;
	}
	if ((l->first = d->after) == NULL)
		l->last = NULL;
	d->after = NULL;
	d->place = OUT;
	d->probe = l->open;
	l->queued--;
	l->out++;
	return d;
}

int64_t
lane_wait(const struct lane *l, int64_t now_ms)
{
	double	 tokens, short_of;

	if (l->sub == NULL || l->yield || l->stale || l->resting ||
	    l->first == NULL || now_ms >= l->lease_ms)
		return -1;
	/* An open breaker lets one probe out at a time. */
	if (l->out >= (l->open ? 1 : (size_t)l->sub->cap))
		return -1;
	if (l->hold_ms > now_ms)
		return l->hold_ms - now_ms;
	if (l->sub->rate > 0) {
		tokens = l->tokens +
		    (double)(now_ms - l->tokens_ms) * l->sub->rate / 1000;
		short_of = 1 - tokens;
		if (short_of > 0)
			return (int64_t)(short_of * 1000 / l->sub->rate) + 1;
	}
	return 0;
}

static double
burst(const struct sub *s)
{
	return s->rate * BURST_S < 1 ? 1 : s->rate * BURST_S;
}

static void
fill(struct lane *l, int64_t now_ms)
{
	l->tokens += (double)(now_ms - l->tokens_ms) * l->sub->rate / 1000;
	if (l->tokens > burst(l->sub))
		l->tokens = burst(l->sub);
	l->tokens_ms = now_ms;
}

void
lane_outcome(struct lane *l, struct delivery *d, enum retry_class class,
    int sent, int64_t after_ms, int64_t now_ms, double dice)
{
	int64_t	 took_ms;

	d->place = DONE;
	d->ended_ms = now_ms;
	l->out--;
	l->done++;
	if (d->started_ms != 0) {
		took_ms = now_ms - d->started_ms + 1;
		l->used_ms += took_ms;
		l->cost_ms = (took_ms + (l->cost_ms > 0 ? l->cost_ms :
		    took_ms) + 1) / 2;
	}
	if (!sent)
		return;
	switch (class) {
	case RETRY_OK:
		succeeded(l);
		break;
	case RETRY_LATER:
		failed(l, d->probe, d->status, after_ms, now_ms, dice);
		break;
	case RETRY_NEVER:
	case RETRY_GONE:
		/* It answers, so the breaker has nothing to guard against. */
		if (l->open || l->failures > 0)
			l->dirty = 1;
		l->failures = l->open = 0;
		l->hold_ms = 0;
		l->failing = 1;
		break;
	}
}

static void
succeeded(struct lane *l)
{
	if (l->open || l->hold_ms != 0)
		l->dirty = 1;
	if (l->open)
		lane_note(l, HEALTH_RECOVERED);
	l->sub->failing_since = 0;
	l->failing = 0;
	l->failures = l->open = 0;
	l->hold_ms = 0;
}

static void
failed(struct lane *l, int probe, int status, int64_t after_ms,
    int64_t now_ms, double dice)
{
	l->failing = 1;
	if (l->open && !probe)
		return;		/* left from before it opened */
	l->failures++;
	if (l->open) {
		hold(l, now_ms + retry_probe(l->failures -
		    RETRY_BREAKER_AFTER + 1, dice));
		l->expire = 1;
	} else if (l->failures >= RETRY_BREAKER_AFTER) {
		l->open = 1;
		lane_note(l, HEALTH_FAILING);
		hold(l, now_ms + retry_probe(1, dice));
	}
	if (retry_holds_lane(status))
		hold(l, now_ms + (after_ms >= 0 ? after_ms :
		    retry_probe(l->failures, dice)));
}

static void
hold(struct lane *l, int64_t until_ms)
{
	if (until_ms > l->hold_ms)
		l->hold_ms = until_ms;
	l->dirty = 1;
}

void
lane_disable(struct lane *l, enum retry_class class, int sent, int64_t now_s)
{
	if (class == RETRY_OK || !sent || l->disable_why != NULL)
		return;
	if (class == RETRY_GONE)
		l->disable_why = "410 Gone";
	else if (l->sub->failing_since != 0 &&
	    now_s - l->sub->failing_since >= DISABLE_AFTER_S)
		l->disable_why = "failing for 5 days without one success";
	else
		return;
	lane_note(l, HEALTH_DISABLED);
	l->yield = 1;
}

void
lane_note(struct lane *l, enum health h)
{
	size_t	 i, n = sizeof(l->health) / sizeof(*l->health);

	for (i = 0; i < n && l->health[i] != HEALTH_NONE; i++)
		if (l->health[i] == h)
			return;
	if (i < n)
		l->health[i] = h;
}

enum health
lane_next_note(struct lane *l)
{
	enum health	 h = l->health[0];

	memmove(l->health, l->health + 1,
	    sizeof(l->health) - sizeof(*l->health));
	l->health[sizeof(l->health) / sizeof(*l->health) - 1] = HEALTH_NONE;
	return h;
}
