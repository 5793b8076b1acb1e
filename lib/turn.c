#include "turn.h"

#define QUANTUM_MS	100	/* uses that differ by less are equal */
#define UNKNOWN_MS	1000	/* what a first request is taken to cost */
#define CREDIT_MS	1000	/* at most, of a lane that was dry */

static int
unsure(const struct lane *l)
{
	return l->failures > 0 || l->cost_ms == 0;
}

static int
room(const struct turn *t, const struct lane *l)
{
	return (l->failures == 0 || t->failing < t->failing_max) &&
	    (!unsure(l) || t->unsure < t->unsure_max);
}

static int
waits(const struct turn *t, const struct lane *l, int transform,
    int64_t now_ms)
{
	return lane_wait(l, now_ms) == 0 &&
	    (transform || !l->first->raw_input) && room(t, l);
}

/* Its use after one request more. */
static int64_t
after_one(const struct lane *l)
{
	return l->used_ms + (l->cost_ms > 0 ? l->cost_ms : UNKNOWN_MS);
}

/* The least use of those that have waited before. */
static void
look(struct turn *t, const struct lane *lanes, int transform, int64_t now_ms)
{
	const struct lane	*l;
	int64_t			 least = INT64_MAX;

	for (l = lanes; l != NULL; l = l->next)
		if (!l->idle && waits(t, l, transform, now_ms) &&
		    l->used_ms < least)
			least = l->used_ms;
	if (least != INT64_MAX)
		t->floor_ms = least;
}

void
turn_begin(struct turn *t, struct lane *lanes, size_t slots, int transform,
    int64_t now_ms)
{
	struct lane	*l;

	t->failing = t->unsure = 0;
	t->failing_max = (slots + 1) / 2;
	t->unsure_max = slots - slots / 4;
	for (l = lanes; l != NULL; l = l->next) {
		t->failing += l->failures > 0 ? l->out : 0;
		t->unsure += unsure(l) ? l->out : 0;
		l->idle |= l->queued == 0 && l->out == 0;
	}
	look(t, lanes, transform, now_ms);
	t->least_ms = INT64_MAX;
	for (l = lanes; l != NULL; l = l->next) {
		if (!waits(t, l, transform, now_ms))
			continue;
		if (l->idle && l->used_ms < t->floor_ms - CREDIT_MS)
			l->used_ms = t->floor_ms - CREDIT_MS;
		if (l->idle && l->used_ms > t->floor_ms)
			l->used_ms = t->floor_ms;
		l->idle = 0;
		if (after_one(l) < t->least_ms)
			t->least_ms = after_one(l);
	}
}

int
turn_may(const struct turn *t, const struct lane *l)
{
	return after_one(l) - QUANTUM_MS <= t->least_ms && room(t, l);
}

void
turn_took(struct turn *t, const struct lane *l)
{
	t->failing += l->failures > 0;
	t->unsure += unsure(l);
}

void
turn_rotate(struct lane **lanes)
{
	struct lane	*first = *lanes, **end;

	if (first == NULL || first->next == NULL)
		return;
	for (end = &first->next; *end != NULL; end = &(*end)->next)
		;
	*lanes = first->next;
	first->next = NULL;
	*end = first;
}
