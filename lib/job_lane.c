/*
 * Leases: claiming lanes, reading their subscriptions, keeping them.
 */
#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db_async.h"
#include "job.h"
#include "log.h"
#include "stmt.h"

#define CLAIM_MAX	100	/* lanes at a time */
#define CLAIM_PAUSE_MS	2
#define CLAIM_SHARE	20	/* claiming costs at most 1/20 of the time, */
#define CLAIM_CREDIT_MS	20	/* saved up while there was no need to, */
#define CLAIM_MAX_MS	200	/* but new lanes don't wait for longer */
#define TICK_MS		1000
#define BEAT_MS		60000
#define SLICE_MS	2000	/* before a lane is given to somebody hungry */
#define MARGIN		8	/* 1/8 of the lease is left for clocks */
#define RETURN_MS	10000	/* after an outage, for others to come back */
#define DUE_MS		2	/* due, but somebody has it locked */

const struct job job_all[] = {
	{ &stmt_lane_tick, job_tick, job_ticked, NULL },
	{ NULL, job_replan, job_replanned, NULL },
	{ &stmt_finish, job_finish, job_finished, job_unfinished },
	{ &stmt_lane_load, job_load, job_loaded, NULL },
	{ &stmt_lane_orphans, job_orphans, job_orphaned, NULL },
	{ &stmt_lane_page, job_page, job_paged, job_unpaged },
	{ &stmt_lane_page_ordered, job_page_ordered, job_paged,
	    job_unpaged },
	{ &stmt_body_set, job_body, job_bodied, job_unbodied },
	{ &stmt_health, job_health, job_healthy, job_unhealthy },
	{ &stmt_lane_expire, job_expire, job_expired, NULL },
	{ &stmt_lane_state, job_state, job_stated, job_unstated },
	{ &stmt_lane_rest, job_rest, job_rested, job_unrested },
	{ &stmt_lane_earliest, job_earliest, job_earliested, NULL },
	{ &stmt_lane_claim, job_claim, job_claimed, NULL },
	{ &stmt_lane_next, job_next, job_nexted, NULL },
	{ &stmt_beat, job_beat, job_beaten, job_unbeaten },
};
const size_t job_count = sizeof(job_all) / sizeof(*job_all);

static const enum arr_type	two_ids[] = { ARR_INT8, ARR_INT8 };

static struct lane *add(struct store *, int64_t, int64_t);
static int64_t	 claim_pause(struct store *, int64_t);
static void	 share(struct store *, size_t, int64_t);

struct lane *
job_lane(struct store *s, int64_t id)
{
	struct lane	*l;

	for (l = s->lanes; l != NULL && l->id != id; l = l->next)
		;
	return l;
}

void
job_arrays(struct store *s, size_t n, const enum arr_type *type)
{
	size_t	 i;

	for (i = 0; i < n; i++) {
		s->arr[i].type = type[i];
		arr_reset(&s->arr[i]);
	}
}

int64_t
job_int8(const struct db *db, int row, int col)
{
	uint64_t	 n = 0;

	if (db_col(db, row, col) != NULL && db_len(db, row, col) == sizeof(n))
		memcpy(&n, db_col(db, row, col), sizeof(n));
	return (int64_t)be64toh(n);
}

struct db_arg
job_number(char buf[24], int64_t n)
{
	snprintf(buf, 24, "%" PRId64, n);
	return JOB_TEXT(buf);
}

void
job_forget(struct store *s, struct lane *l)
{
	struct lane	**at;

	for (at = &s->lanes; *at != l; at = &(*at)->next)
		;
	*at = l->next;
	lane_free(l);
	free(l);
	s->nlane--;
}

/* Renew, and learn what changed. */
int
job_tick(struct store *s, const struct stmt *st, int64_t now_ms)
{
	struct lane	*l, *next;
	char		 lease[24], flying[24];
	size_t		 out = 0;

	if (now_ms < s->tick_ms)
		return 0;
	job_arrays(s, 2, two_ids);
	for (l = s->lanes; l != NULL; l = next) {
		next = l->next;
		if (l->stale && l->out == 0 && l->done == 0) {
			job_forget(s, l);
			continue;
		}
		out += l->out;
		arr_int8(&s->arr[0], l->id);
		arr_int8(&s->arr[1], l->fence);
	}
	s->tick_ms = now_ms + (s->lease_ms / 4 < TICK_MS ? s->lease_ms / 4 :
	    TICK_MS);
	return db_send(&s->db, st, 7, (struct db_arg[]){ JOB_TEXT(s->name),
	    JOB_TEXT(s->tool), job_number(lease, s->lease_ms),
	    JOB_TEXT(s->hungry && out * 2 < s->slots && !s->stopping ?
	    "t" : "f"),
	    arr_arg(&s->arr[0]), arr_arg(&s->arr[1]),
	    job_number(flying, (int64_t)out) }, 0) == -1 ? -1 : 1;
}

void
job_ticked(struct store *s, int64_t now_ms)
{
	struct lane	*l;
	int64_t		 until_ms;
	char		 id[24];
	int		 i;

	for (l = s->lanes; l != NULL; l = l->next)
		l->stale |= 2;	/* not heard of yet */
	for (i = 0; i < db_rows(&s->db); i++) {
		if (db_col(&s->db, i, 0) == NULL) {
			store_clock(s, db_int(&s->db, i, 3));
			if (db_col(&s->db, i, 1) != NULL)
				share(s, (size_t)db_int(&s->db, i, 1),
				    now_ms);
			continue;
		}
		if ((l = job_lane(s, db_int(&s->db, i, 0))) == NULL)
			continue;
		l->stale &= ~2;
		until_ms = s->sent_ms + db_int(&s->db, i, 2) -
		    s->lease_ms / MARGIN;
		if (l->lease_ms < until_ms)
			l->lease_ms = until_ms;
		if (l->sub != NULL && db_col(&s->db, i, 1) != NULL &&
		    l->sub->revision != db_int(&s->db, i, 1))
			l->reload = 1;
	}
	for (l = s->lanes; l != NULL; l = l->next) {
		if (l->stale != 2)
			continue;
		l->stale = 1;
		lane_drop(l);
		snprintf(id, sizeof(id), "%" PRId64, l->id);
		log_event(LOG_WARNING, "lane lost to another worker, or its"
		    " subscription was removed", "subscription", id, NULL);
	}
	/* What is dry is asked again now and then, told or not. */
	for (l = s->lanes; l != NULL; l = l->next)
		l->dry = 0;
}

int
job_beat(struct store *s, const struct stmt *st, int64_t now_ms)
{
	if (now_ms < s->beat_ms)
		return 0;
	s->beat_ms = now_ms + BEAT_MS;
	return db_send(&s->db, st, 1, (struct db_arg[]){
	    JOB_TEXT(s->tool) }, 0) == -1 ? -1 : 1;
}

void
job_beaten(struct store *s, int64_t now_ms)
{
	(void)now_ms;
	follow_beat(&s->db);
}

/* Deliveries don't wait for a statistic. */
int
job_unbeaten(struct store *s)
{
	return !db_lost(&s->db);
}

/* Somebody has nothing: give up half of what we have more. */
static void
share(struct store *s, size_t theirs, int64_t now_ms)
{
	struct lane	*l;
	size_t		 busy = 0, give;

	for (l = s->lanes; l != NULL; l = l->next)
		busy += !l->yield && !l->dry;
	if (busy < theirs + 2)
		return;
	give = (busy - theirs) / 2;
	for (l = s->lanes; l != NULL && give > 0; l = l->next)
		if (!l->yield && !l->dry &&
		    now_ms - l->since_ms >= SLICE_MS) {
			l->yield = 1;
			give--;
		}
}

int
job_claim(struct store *s, const struct stmt *st, int64_t now_ms)
{
	char	 lease[24], most[24];
	size_t	 max = STORE_LANES - s->nlane;
	int64_t	 wait_ms = s->lease_ms < RETURN_MS ? RETURN_MS : s->lease_ms;

	if (now_ms < s->claim_ms || s->stopping || max == 0)
		return 0;
	s->claiming = max > CLAIM_MAX ? CLAIM_MAX : (int)max;
	return db_send(&s->db, st, 4, (struct db_arg[]){ JOB_TEXT(s->name),
	    job_number(lease, s->lease_ms), job_number(most, s->claiming),
	    JOB_TEXT(s->back_ms == 0 || now_ms - s->back_ms >= wait_ms ?
	    "t" : "f") }, 0) == -1 ? -1 : 1;
}

static struct lane *
add(struct store *s, int64_t id, int64_t now_ms)
{
	struct lane	*l;

	if ((l = calloc(1, sizeof(*l))) == NULL)
		return NULL;
	lane_init(l, id, 0, now_ms);
	l->next = s->lanes;
	s->lanes = l;
	s->nlane++;
	return l;
}

void
job_claimed(struct store *s, int64_t now_ms)
{
	struct lane	*l;
	int		 i, known, n = db_rows(&s->db);
	int64_t		 hold_ms;

	for (i = 0; i < n; i++) {
		l = job_lane(s, db_int(&s->db, i, 0));
		known = l != NULL;
		if (!known && (l = add(s, db_int(&s->db, i, 0),
		    now_ms)) == NULL)
			break;		/* the lease will run out */
		l->fence = db_int(&s->db, i, 1);
		l->lease_ms = s->sent_ms + s->lease_ms -
		    s->lease_ms / MARGIN;
		/* Ours all along, only renewed too late. */
		if (known && !l->stale && *db_col(&s->db, i, 8) == 't')
			continue;
		lane_drop(l);
		l->stale = l->resting = 0;
		l->taken = *db_col(&s->db, i, 2) == 't';
		hold_ms = db_int(&s->db, i, 3);
		l->hold_ms = hold_ms > 0 ? now_ms + hold_ms : 0;
		l->failures = (int)db_int(&s->db, i, 4);
		l->open = *db_col(&s->db, i, 5) == 't';
		l->tokens = strtod(db_col(&s->db, i, 6), NULL);
		l->tokens_ms = now_ms - db_int(&s->db, i, 7);
		l->reload = 1;
	}
	s->hungry = n == 0;
	s->ask_next = n == 0;
	/* One that brought all it asked for was no look, but work. */
	s->claim_floor_ms = now_ms + (n == s->claiming ? CLAIM_PAUSE_MS :
	    claim_pause(s, now_ms));
	s->claim_ms = n > 0 ? s->claim_floor_ms : now_ms + s->poll_ms;
	s->next_ms = now_ms;
	if (n > 0)
		s->locked_ms = 0;
}

/*
 * How long not to claim again.  A look that came a moment too early must not
 * keep a worker that was idle from looking again when it is told, so what
 * counts is the share over a while.
 */
static int64_t
claim_pause(struct store *s, int64_t now_ms)
{
	int64_t	 debt_ms, most_ms = CLAIM_CREDIT_MS * CLAIM_SHARE;

	if (s->claim_paid_ms < now_ms - most_ms)
		s->claim_paid_ms = now_ms - most_ms;
	s->claim_paid_ms += (now_ms - s->sent_ms) * CLAIM_SHARE;
	debt_ms = s->claim_paid_ms - now_ms;
	if (debt_ms > CLAIM_MAX_MS)
		s->claim_paid_ms = now_ms + (debt_ms = CLAIM_MAX_MS);
	return debt_ms < CLAIM_PAUSE_MS ? CLAIM_PAUSE_MS : debt_ms;
}

/* Nothing was due: when will something be? */
int
job_next(struct store *s, const struct stmt *st, int64_t now_ms)
{
	if (!s->ask_next || s->next_ms == 0 || now_ms < s->next_ms ||
	    s->stopping)
		return 0;
	s->next_ms = 0;
	return db_send(&s->db, st, 0, NULL, 0) == -1 ? -1 : 1;
}

void
job_nexted(struct store *s, int64_t now_ms)
{
	int64_t	 ms;

	ms = db_rows(&s->db) == 0 ? s->poll_ms : db_int(&s->db, 0, 0);
	if (ms > 0)
		s->locked_ms = 0;
	else	/* but the claim did not get it */
		ms = s->locked_ms = s->locked_ms == 0 ? DUE_MS :
		    s->locked_ms * 2;
	if (now_ms + ms < s->claim_ms)
		s->claim_ms = now_ms + ms;
	if (s->claim_ms < s->claim_floor_ms)
		s->claim_ms = s->claim_floor_ms;
}

int
job_load(struct store *s, const struct stmt *st, int64_t now_ms)
{
	struct lane	*l;

	(void)now_ms;
	job_arrays(s, 1, two_ids);
	for (l = s->lanes; l != NULL; l = l->next)
		if (l->reload && !l->stale)
			arr_int8(&s->arr[0], l->id);
	if (s->arr[0].n == 0)
		return 0;
	return db_send(&s->db, st, 1, (struct db_arg[]){
	    arr_arg(&s->arr[0]) }, 0) == -1 ? -1 : 1;
}

void
job_loaded(struct store *s, int64_t now_ms)
{
	struct lane	*l;
	struct sub	*sub;
	int		 i;

	for (i = 0; i < db_rows(&s->db); i++) {
		l = job_lane(s, db_int(&s->db, i, 0));
		if (l == NULL || !l->reload)
			continue;
		if ((sub = sub_load(&s->db, i, &s->seal, &s->allow)) == NULL)
			continue;	/* no memory: again later */
		if (!sub->active || l->sub == NULL ||
		    l->sub->ordered != sub->ordered) {
			lane_drop(l);
			l->head_ms = now_ms;
		}
		lane_settings(l, sub);
	}
	/* Removed while we looked: nothing can be sent for it. */
	for (l = s->lanes; l != NULL; l = l->next)
		if (l->reload && !l->stale) {
			l->stale = 1;
			lane_drop(l);
		}
}

int
job_orphans(struct store *s, const struct stmt *st, int64_t now_ms)
{
	struct lane	*l;

	(void)now_ms;
	job_arrays(s, 2, two_ids);
	for (l = s->lanes; l != NULL; l = l->next)
		if (l->taken && !l->stale) {
			arr_int8(&s->arr[0], l->id);
			arr_int8(&s->arr[1], l->fence);
		}
	if (s->arr[0].n == 0)
		return 0;
	return db_send(&s->db, st, 2, (struct db_arg[]){
	    arr_arg(&s->arr[0]), arr_arg(&s->arr[1]) }, 0) == -1 ? -1 : 1;
}

void
job_orphaned(struct store *s, int64_t now_ms)
{
	struct lane	*l;
	char		 lanes[24], rows[24];
	int64_t		 n = 0;

	(void)now_ms;
	for (l = s->lanes; l != NULL; l = l->next) {
		n += l->taken;
		l->taken = 0;
	}
	snprintf(lanes, sizeof(lanes), "%" PRId64, n);
	snprintf(rows, sizeof(rows), "%d", db_rows(&s->db));
	log_event(LOG_NOTICE, "lanes taken over from a worker that stopped",
	    "lanes", lanes, "attempts_without_outcome", rows, NULL);
}
