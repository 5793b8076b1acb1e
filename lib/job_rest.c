/*
 * Leases: what a lane's next owner must know, and giving lanes back.
 */
#include "db_async.h"
#include "job.h"

#define LINGER_MS	1000	/* a dry lane is kept, since more may come */
#define HOLD_MS		50	/* longer holds are waited for at rest */
#define LOCKED_MS	100	/* before trying a locked lane again */
#define SHY_MS		500	/* no claim after sharing: others go first */

static void	 add_state(struct store *, struct lane *, int64_t);
static int	 may_rest(const struct store *, const struct lane *, int64_t);
static int	 send_state(struct store *, const struct stmt *, int);

static const enum arr_type	two_ids[] = { ARR_INT8, ARR_INT8 };
static const enum arr_type	state_types[] = { ARR_INT8, ARR_INT8,
    ARR_INT8, ARR_INT4, ARR_BOOL, ARR_INT4 };

int
job_expire(struct store *s, const struct stmt *st, int64_t now_ms)
{
	const char	*why = NULL, *this;
	struct lane	*l;

	(void)now_ms;
	job_arrays(s, 2, two_ids);
	for (l = s->lanes; l != NULL; l = l->next) {
		if (!l->expire || l->stale || l->sub == NULL)
			continue;
		this = l->sub->active ? "deadline passed, and the endpoint"
		    " does not answer" :
		    "deadline passed while the subscription was not active";
		if (why != NULL && why != this)
			continue;	/* next turn */
		why = this;
		l->expire = 0;
		arr_int8(&s->arr[0], l->id);
		arr_int8(&s->arr[1], l->fence);
	}
	if (s->arr[0].n == 0)
		return 0;
	return db_send(&s->db, st, 3, (struct db_arg[]){
	    arr_arg(&s->arr[0]), arr_arg(&s->arr[1]), JOB_TEXT(why) }, 0) ==
	    -1 ? -1 : 1;
}

void
job_expired(struct store *s, int64_t now_ms)
{
	(void)s;
	(void)now_ms;
}

static void
add_state(struct store *s, struct lane *l, int64_t now_ms)
{
	double	 tokens = 0;

	if (l->sub != NULL && l->sub->rate > 0)
		tokens = l->tokens +
		    (double)(now_ms - l->tokens_ms) * l->sub->rate / 1000;
	if (tokens > 1000000)
		tokens = 1000000;
	arr_int8(&s->arr[0], l->id);
	arr_int8(&s->arr[1], l->fence);
	arr_int8(&s->arr[2], l->hold_ms > now_ms ? l->hold_ms - now_ms : -1);
	arr_int4(&s->arr[3], l->failures);
	arr_bool(&s->arr[4], l->open);
	arr_int4(&s->arr[5], (int32_t)(tokens * 1000));
}

static int
send_state(struct store *s, const struct stmt *st, int binary)
{
	return db_send(&s->db, st, 6, (struct db_arg[]){
	    arr_arg(&s->arr[0]), arr_arg(&s->arr[1]), arr_arg(&s->arr[2]),
	    arr_arg(&s->arr[3]), arr_arg(&s->arr[4]), arr_arg(&s->arr[5]) },
	    binary) == -1 ? -1 : 1;
}

/* dirty: 1 to be written, 2 in the statement under way. */
int
job_state(struct store *s, const struct stmt *st, int64_t now_ms)
{
	struct lane	*l;

	if (now_ms < s->state_ms)
		return 0;
	job_arrays(s, 6, state_types);
	for (l = s->lanes; l != NULL; l = l->next)
		if (l->dirty && !l->stale) {
			l->dirty = 2;
			add_state(s, l, now_ms);
		}
	return s->arr[0].n == 0 ? 0 : send_state(s, st, 0);
}

void
job_stated(struct store *s, int64_t now_ms)
{
	struct lane	*l;
	int		 i;

	for (i = 0; i < db_rows(&s->db); i++)
		if ((l = job_lane(s, db_int(&s->db, i, 0))) != NULL &&
		    l->dirty == 2)
			l->dirty = 0;
	for (l = s->lanes; l != NULL; l = l->next)
		if (l->dirty == 2)
			s->state_ms = now_ms + LOCKED_MS;
	job_unstated(s);
}

int
job_unstated(struct store *s)
{
	struct lane	*l;

	for (l = s->lanes; l != NULL; l = l->next)
		if (l->dirty == 2)
			l->dirty = 1;
	return 0;
}

/* Nothing of it is in our hands, and keeping it would gain nothing. */
static int
may_rest(const struct store *s, const struct lane *l, int64_t now_ms)
{
	if (l->stale || l->out > 0 || l->done > 0 || l->taken || l->expire ||
	    l->health[0] != HEALTH_NONE || l->failing != l->failing_told)
		return 0;
	if (s->stopping || l->yield || l->hold_ms > now_ms + HOLD_MS)
		return 1;
	return l->sub != NULL && l->queued == 0 && l->dry_ms != 0 &&
	    (now_ms - l->dry_ms >= LINGER_MS || !s->follow ||
	    s->nlane > STORE_LANES / 2);
}

int
job_rest(struct store *s, const struct stmt *st, int64_t now_ms)
{
	struct lane	*l;

	/* lane_earliest must have taken the last ones first. */
	if (s->rest[0].n > 0 || now_ms < s->rest_ms)
		return 0;
	job_arrays(s, 6, state_types);
	for (l = s->lanes; l != NULL; l = l->next)
		if (may_rest(s, l, now_ms)) {
			l->resting = 1;
			lane_drop(l);
			add_state(s, l, now_ms);
		}
	return s->arr[0].n == 0 ? 0 : send_state(s, st, 1);
}

void
job_rested(struct store *s, int64_t now_ms)
{
	struct lane	*l;
	int		 i, k, shared = 0;

	for (i = 0; i < db_rows(&s->db); i++) {
		for (k = 0; k < 3; k++)
			arr_int8(&s->rest[k], job_int8(&s->db, i, k));
		l = job_lane(s, job_int8(&s->db, i, 0));
		shared |= l->yield && l->sub != NULL && l->sub->active &&
		    l->disable_why == NULL;
		job_forget(s, l);
	}
	for (l = s->lanes; l != NULL; l = l->next)
		if (l->resting)
			s->rest_ms = now_ms + LOCKED_MS;
	job_unrested(s);
	s->shared = shared;
	if (shared)
		s->claim_ms = s->claim_floor_ms = now_ms + SHY_MS;
}

/* Locked, or not ours any more: the next tick tells. */
int
job_unrested(struct store *s)
{
	struct lane	*l;

	for (l = s->lanes; l != NULL; l = l->next)
		l->resting = 0;
	return 0;
}

int
job_earliest(struct store *s, const struct stmt *st, int64_t now_ms)
{
	(void)now_ms;
	if (s->rest[0].n == 0)
		return 0;
	return db_send(&s->db, st, 4, (struct db_arg[]){
	    arr_arg(&s->rest[0]), arr_arg(&s->rest[1]),
	    arr_arg(&s->rest[2]), JOB_TEXT(s->shared ? "t" : "f") }, 0) ==
	    -1 ? -1 : 1;
}

void
job_earliested(struct store *s, int64_t now_ms)
{
	size_t	 i;

	for (i = 0; i < 3; i++)
		arr_reset(&s->rest[i]);
	/* One of them may be due again at once. */
	s->ask_next = 0;
	if (s->claim_floor_ms < s->claim_ms)
		s->claim_ms = s->claim_floor_ms;
	(void)now_ms;
}
