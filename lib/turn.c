#include "turn.h"

#define QUANTUM_MS	100	/* uses that differ by less are equal */
#define CREDIT_MS	1000	/* of a lane that had nothing to send */

static int
waits(const struct turn *t, const struct lane *l, int transform,
    int64_t now_ms)
{
	return lane_wait(l, now_ms) == 0 &&
	    (transform || !l->first->raw_input) &&
	    (l->failures == 0 || t->failing < t->failing_max);
}

void
turn_begin(struct turn *t, struct lane *lanes, size_t slots, int transform,
    int64_t now_ms)
{
	struct lane	*l;

	t->failing = 0;
	t->failing_max = slots / 2 > 0 ? slots / 2 : 1;
	for (l = lanes; l != NULL; l = l->next)
		if (l->failures > 0)
			t->failing += l->out;
	t->least_ms = INT64_MAX;
	for (l = lanes; l != NULL; l = l->next) {
		if (!waits(t, l, transform, now_ms))
			continue;
		if (l->used_ms < t->floor_ms - CREDIT_MS)
			l->used_ms = t->floor_ms - CREDIT_MS;
		if (l->used_ms < t->least_ms)
			t->least_ms = l->used_ms;
	}
	if (t->least_ms != INT64_MAX && t->least_ms > t->floor_ms)
		t->floor_ms = t->least_ms;
}

int
turn_may(const struct turn *t, const struct lane *l)
{
	return l->used_ms - QUANTUM_MS <= t->least_ms &&
	    (l->failures == 0 || t->failing < t->failing_max);
}

void
turn_took(struct turn *t, const struct lane *l)
{
	t->failing += l->failures > 0;
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
