/* lane, turn: cap, rate, hold, breaker, and whose turn it is. */
#include <stdlib.h>

#include "lane.h"
#include "tap.h"
#include "turn.h"

static struct lane	*lanes;

static struct lane *
new_lane(int cap, double rate)
{
	static int64_t	 id;
	struct lane	*l = calloc(1, sizeof(*l));
	struct sub	*s = calloc(1, sizeof(*s));

	if (l == NULL || s == NULL)
		abort();
	s->active = 1;
	s->cap = cap;
	s->rate = rate;
	s->timeout_ms = 15000;
	lane_init(l, ++id, 1, 0);
	lane_settings(l, s);
	l->lease_ms = INT64_MAX;
	l->next = lanes;
	lanes = l;
	return l;
}

static void
push(struct lane *l, int n)
{
	static int64_t	 id;
	struct delivery	*d;

	while (n-- > 0) {
		if ((d = calloc(1, sizeof(*d))) == NULL)
			abort();
		d->id = ++id;
		d->text.max = 100;
		if (!lane_push(l, d))
			abort();
	}
}

/* How many go at now_ms. */
static int
go(struct lane *l, int64_t now_ms)
{
	struct delivery	*d;
	int		 n = 0;

	while ((d = lane_pop(l, now_ms)) != NULL) {
		d->started_ms = now_ms == 0 ? 1 : now_ms;
		n++;
	}
	return n;
}

static struct delivery *
one_out(struct lane *l)
{
	struct delivery	*d;

	RB_FOREACH(d, deliveries, &l->all)
		if (d->place == OUT)
			break;
	return d;
}

/* One that is out comes to this, and is written. */
static void
end(struct lane *l, enum retry_class class, int status, int64_t now_ms)
{
	struct delivery	*d = one_out(l);

	d->status = status;
	lane_outcome(l, d, class, 1, -1, now_ms, 0.5);
	delivery_free(d);
}

static void
clear(void)
{
	struct lane	*l;

	while ((l = lanes) != NULL) {
		lanes = l->next;
		lane_free(l);
		free(l);
	}
}

static void
caps(void)
{
	struct lane	*l = new_lane(3, 0);
	struct delivery	*d, twice = { 0 };

	is_int(go(l, 0), 0, "nothing waits, nothing goes");
	is_int(lane_wait(l, 0), -1, "... nor by waiting");
	push(l, 10);
	is_int(go(l, 0), 3, "three at once");
	is_int(lane_wait(l, 0), -1, "... no more, by waiting alone");
	end(l, RETRY_OK, 200, 5);
	is_int(go(l, 5), 1, "... one more when one is done");
	is_int((int64_t)(l->queued + l->out), 9, "all are somewhere");
	d = l->first;
	twice.id = d->id;
	is_int(lane_push(l, &twice), 0, "what is in memory is not taken again");
	l->lease_ms = 10;
	end(l, RETRY_OK, 200, 10);
	is_int(go(l, 10), 0, "nothing is begun when the lease is over");
	l->lease_ms = INT64_MAX;
	l->yield = 1;
	is_int(go(l, 10), 0, "... or it is to be given back");
	l->yield = 0;
	l->stale = 1;
	is_int(go(l, 10), 0, "... or is not ours any more");
	l->stale = 0;
	lane_drop(l);
	ok(l->queued == 0 && l->out == 2, "dropped, only what is out is left");
	clear();
}

static void
rates(void)
{
	struct lane	*l = new_lane(1000, 50);
	int		 n = 0;
	int64_t		 t;

	push(l, 1000);
	l->tokens_ms = 0;
	is_int(go(l, 0), 0, "an empty bucket lets nothing go");
	is_int(lane_wait(l, 0), 21, "... for 20 ms and a rounding");
	is_int(go(l, 21), 1, "then one");
	is_int(go(l, 5000), 5, "after long silence a burst of a tenth");
	for (t = 5001; t <= 6000; t++)
		n += go(l, t);
	ok(n == 50 || n == 49, "then 50 in a second");
	l->tokens = 1e9;
	is_int(go(l, 6001), 5, "more in the bucket than it holds is spilt");
	clear();
	l = new_lane(1000, 0.5);
	push(l, 10);
	is_int(go(l, 100000), 1, "one in two seconds: a burst of one");
	is_int(lane_wait(l, 100000), 2001, "... and two seconds");
	clear();
}

static void
breaks(void)
{
	struct lane	*l = new_lane(10, 0);
	int		 i;

	push(l, 100);
	go(l, 1);
	for (i = 0; i < 4; i++)
		end(l, RETRY_LATER, 500, 10);
	ok(!l->open && l->hold_ms == 0 && l->failing, "four failures: failing");
	end(l, RETRY_OK, 200, 10);
	ok(!l->failing && l->failures == 0 && l->health[0] == HEALTH_NONE,
	    "a success: not any more, and nobody hears");
	go(l, 10);
	for (i = 0; i < 5; i++)
		end(l, RETRY_LATER, 0, 20);
	ok(l->open && l->dirty, "five in a row open the breaker");
	is_int(l->hold_ms, 5020, "... for 5 s");
	is_int(l->health[0], HEALTH_FAILING, "... which is to be told");
	end(l, RETRY_LATER, 500, 30);
	ok(l->failures == 5 && l->hold_ms == 5020,
	    "what was under way changes nothing");
	is_int(go(l, 40), 0, "nothing goes");
	is_int(lane_wait(l, 40), -1, "... while others are out");
	while (l->out > 0)
		end(l, RETRY_LATER, 500, 50);
	is_int(lane_wait(l, 50), 4970, "... nor before the hold is over");
	is_int(go(l, 5020), 1, "then one probe");
	end(l, RETRY_LATER, 500, 5100);
	is_int(l->hold_ms, 15100, "it fails: 10 s");
	ok(l->expire, "... and what is past its deadline may end");
	for (i = 0; i < 20; i++) {
		if (go(l, l->hold_ms) != 1)
			abort();
		end(l, RETRY_LATER, 500, l->hold_ms);
	}
	is_int(lane_wait(l, l->hold_ms - 300000), 300000,
	    "never more than 5 minutes");
	go(l, l->hold_ms);
	end(l, RETRY_OK, 200, l->hold_ms);
	ok(!l->open && l->failures == 0 && l->hold_ms == 0,
	    "a success closes it");
	is_int(lane_next_note(l), HEALTH_FAILING, "two things are told");
	is_int(lane_next_note(l), HEALTH_RECOVERED, "... in order");
	is_int(lane_next_note(l), HEALTH_NONE, "... and no more");
	push(l, 20);
	is_int(go(l, 9000000), 10, "the rest goes at the cap");
	end(l, RETRY_LATER, 503, 9000000);
	is_int(l->hold_ms, 9005000, "503 holds the lane");
	is_int(go(l, 9000001), 0, "... for all");
	end(l, RETRY_NEVER, 404, 9000001);
	is_int(l->hold_ms, 0, "an answer that is final lets it go");
	clear();
}

static void
disables(void)
{
	struct lane	*l = new_lane(10, 0);
	struct sub	*s;

	l->sub->failing_since = 1000000;
	lane_disable(l, RETRY_LATER, 1, 1000000 + 5 * 86400 - 1);
	ok(l->disable_why == NULL, "almost five days");
	lane_disable(l, RETRY_LATER, 0, 1000000 + 6 * 86400);
	lane_disable(l, RETRY_OK, 1, 1000000 + 6 * 86400);
	ok(l->disable_why == NULL, "nothing sent, or a success");
	lane_disable(l, RETRY_NEVER, 1, 1000000 + 5 * 86400);
	ok(l->disable_why != NULL && l->yield &&
	    l->health[0] == HEALTH_DISABLED, "five days disable");

	l->open = 1;
	l->failures = 9;
	l->hold_ms = 1;
	if ((s = calloc(1, sizeof(*s))) == NULL)
		abort();
	lane_settings(l, s);
	ok(l->yield && l->expire && l->open, "disabled: given back");
	if ((s = calloc(1, sizeof(*s))) == NULL)
		abort();
	s->active = 1;
	lane_settings(l, s);
	ok(!l->yield && !l->open && l->failures == 0 && l->hold_ms == 0 &&
	    l->disable_why == NULL && !l->failing, "resumed: as new");

	/* A success that the database does not know of yet. */
	if ((s = calloc(1, sizeof(*s))) == NULL)
		abort();
	s->active = 1;
	s->failing_since = 77;
	lane_settings(l, s);
	ok(!l->failing && l->failing_told && s->failing_since == 0,
	    "settings read again do not undo a success");
	clear();
}

static void
notes(void)
{
	struct lane	*l = new_lane(1, 0);

	lane_note(l, HEALTH_FAILING);
	lane_note(l, HEALTH_FAILING);
	lane_note(l, HEALTH_RECOVERED);
	is_int(lane_next_note(l), HEALTH_FAILING, "noted twice is told once");
	lane_note(l, HEALTH_DISABLED);
	is_int(lane_next_note(l), HEALTH_RECOVERED, "first come, first told");
	is_int(lane_next_note(l), HEALTH_DISABLED, "... to the last");
	clear();
}

/* One round of the slots: how many does this lane get? */
static int
turns(struct turn *t, struct lane *of, size_t slots, int64_t now_ms)
{
	struct delivery	*d;
	struct lane	*l;
	int		 some, n = 0;
	size_t		 busy = 0;

	for (l = lanes; l != NULL; l = l->next)
		busy += l->out;
	do {
		some = 0;
		turn_begin(t, lanes, slots, 0, now_ms);
		for (l = lanes; l != NULL; l = l->next) {
			if (busy == slots)
				return n;
			if (!turn_may(t, l) ||
			    (d = lane_pop(l, now_ms)) == NULL)
				continue;
			turn_took(t, l);
			d->started_ms = now_ms;
			busy++;
			some = 1;
			n += l == of;
		}
		turn_rotate(&lanes);
	} while (some);
	return n;
}

static void
shares(void)
{
	struct turn	 t = { 0 };
	struct lane	*dead[20], *good;
	size_t		 i, out = 0, most = 0;

	for (i = 0; i < 20; i++) {
		dead[i] = new_lane(5, 0);
		push(dead[i], 100);
	}
	turns(&t, NULL, 8, 1000);
	for (i = 0; i < 20; i++) {
		out += dead[i]->out;
		most = dead[i]->out > most ? dead[i]->out : most;
	}
	is_int((int64_t)most, 1, "20 new lanes: one each");
	is_int((int64_t)out, 6, "... but not all of the slots");
	good = new_lane(5, 0);
	push(good, 5);
	for (i = 0; i < 20; i++)
		while (dead[i]->out > 0)
			end(dead[i], RETRY_LATER, 0, 3000);
	is_int(turns(&t, good, 8, 3000), 5, "a lane that comes then is first");
	while (good->out > 0)
		end(good, RETRY_OK, 200, 3005);
	turns(&t, good, 8, 3005);
	for (i = out = 0; i < 20; i++)
		out += dead[i]->out;
	ok(out <= 6, "... and the others leave slots free");
	while (good->out > 0)
		end(good, RETRY_OK, 200, 3010);
	push(good, 50);
	ok(turns(&t, good, 8, 3500) >= 2, "... in which it goes on");

	clear();
	good = new_lane(100, 0);
	push(good, 100);
	is_int(turns(&t, good, 1, 1), 1, "one slot is enough for one lane");
	end(good, RETRY_LATER, 500, 2);
	is_int(turns(&t, good, 1, 3), 1, "... also for one that fails");
	end(good, RETRY_OK, 200, 4);
	is_int(turns(&t, good, 64, 5), 64, "alone, it gets all");
	clear();
}

int
main(void)
{
	caps();
	rates();
	breaks();
	disables();
	notes();
	shares();
	return done_testing();
}
