/*
 * Outcomes: what came of attempts, transforms and subscriptions' health.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "db_async.h"
#include "job.h"
#include "log.h"
#include "opt.h"
#include "stmt.h"

#define HEALTH_MS	1000	/* an endpoint that comes and goes is told of
				   once a second */

#define PARK_MS		5000	/* an outcome whose row is locked waits */

static void	 add(struct store *, struct delivery *, int64_t);
static int	 hurry(const struct store *, int64_t);
static void	 park(struct store *);
static void	 scrub(struct delivery *);
static void	 take_body(struct store *);

static const enum arr_type	finish_types[] = { ARR_INT8, ARR_INT8,
    ARR_INT8, ARR_TEXT, ARR_INT4, ARR_INT8, ARR_TEXT, ARR_BYTEA, ARR_INT4,
    ARR_INT8, ARR_TEXT, ARR_INT4, ARR_TEXT };

/* Outcomes wait a little for company, unless somebody waits for them. */
static int
hurry(const struct store *s, int64_t now_ms)
{
	const struct delivery	*d;

	if (now_ms - s->done_ms >= JOB_FLUSH_MS || s->ndone >= JOB_FULL ||
	    s->stopping)
		return 1;
	for (d = s->done; d != NULL; d = d->after)
		if (d->lane->sub != NULL && d->lane->sub->ordered)
			return 1;
	return 0;
}

int
job_finish(struct store *s, const struct stmt *st, int64_t now_ms)
{
	struct delivery	*d, **end = &s->writing;
	struct db_arg	 arg[14];
	size_t		 i;

	if (s->parked != NULL && now_ms >= s->park_ms) {
		*s->done_end = s->parked;
		for (; (d = *s->done_end) != NULL; s->ndone++)
			s->done_end = &d->after;
		s->parked = NULL;
	}
	if (s->ndone == 0 || !hurry(s, now_ms))
		return 0;
	job_arrays(s, 13, finish_types);
	for (i = 0; i < s->batch && (d = s->done) != NULL; i++) {
		s->done = d->after;
		s->ndone--;
		*end = d;
		end = &d->after;
		add(s, d, now_ms);
	}
	*end = NULL;
	if (s->done == NULL)
		s->done_end = &s->done;
	for (i = 0; i < 13; i++)
		arg[i] = arr_arg(&s->arr[i]);
	arg[13] = JOB_TEXT(s->name);
	if (db_send(&s->db, st, 14, arg, 0) == -1) {
		job_unfinished(s);
		return -1;
	}
	return 1;
}

static void
add(struct store *s, struct delivery *d, int64_t now_ms)
{
	struct arr	*a = s->arr;
	const char	*url;

	arr_int8(&a[0], d->id);
	arr_int8(&a[1], d->lane->id);
	arr_int8(&a[2], d->lane->fence);
	arr_bytes(&a[3], d->outcome, strlen(d->outcome));
	if (d->status == 0)
		arr_null(&a[4]);
	else
		arr_int4(&a[4], d->status);
	if (d->pause_ms < 0)
		arr_null(&a[5]);
	else
		arr_int8(&a[5], d->pause_ms);
	arr_bytes(&a[6], d->error, d->error == NULL ? 0 : strlen(d->error));
	arr_bytes(&a[7], d->answer, d->answer_len);
	if (d->started_ms == 0)
		arr_null(&a[8]);
	else
		arr_int4(&a[8], d->duration_ms);
	arr_int8(&a[9], now_ms - (d->started_ms == 0 ? d->ended_ms :
	    d->started_ms));
	url = d->started_ms == 0 || d->lane->sub == NULL ? NULL :
	    d->lane->sub->shown;
	arr_bytes(&a[10], url, url == NULL ? 0 : strlen(url));
	arr_int4(&a[11], d->attempts);
	arr_bytes(&a[12], d->event_id, strlen(d->event_id));
}

void
job_finished(struct store *s, int64_t now_ms)
{
	struct delivery	*d;

	while ((d = s->writing) != NULL) {
		s->writing = d->after;
		/* The next of that aggregate may go now. */
		if (d->lane->sub != NULL && d->lane->sub->ordered)
			d->lane->dry = 0;
		delivery_free(d);
	}
	s->batch = STORE_BATCH;
	if (s->done != NULL)
		s->done_ms = now_ms;
}

/*
 * Not written.  A lost connection: put them back, in front.  A row that
 * somebody has locked: find it, and let it wait.  Something the
 * database will not take: find it by writing one at a time, and write that
 * one without what the remote side chose.
 */
int
job_unfinished(struct store *s)
{
	struct delivery	**end;
	size_t		 n = 0;
	int		 code = db_exitcode(&s->db);

	for (end = &s->writing; *end != NULL; end = &(*end)->after)
		n++;
	*end = s->done;
	if (s->done == NULL && n > 0)
		s->done_end = end;
	s->done = s->writing;
	s->writing = NULL;
	s->ndone += n;
	if (n > 0 && strcmp(s->db.sqlstate, DB_LOCKED) == 0) {
		s->batch = n > 1 ? n / 2 : STORE_BATCH;
		if (n == 1)
			park(s);
		return 1;
	}
	if (code == EX_TEMPFAIL || code == EX_UNAVAILABLE || n == 0)
		return 0;
	if (n > 1) {
		s->batch = 1;
		return 1;
	}
	if (s->done->answer == NULL && s->done->error != NULL &&
	    strncmp(s->done->error, "not storable", 12) == 0)
		return 0;
	log_event(LOG_ERROR, "outcome not storable as it is", "reason",
	    db_error(&s->db), NULL);
	scrub(s->done);
	return 1;
}

/* The first one's row is locked: not again for a while. */
static void
park(struct store *s)
{
	struct delivery	*d = s->done;
	char		 id[24];

	if ((s->done = d->after) == NULL)
		s->done_end = &s->done;
	s->ndone--;
	if (s->parked == NULL) {
		s->park_ms = follow_now_ms() + PARK_MS;
		log_event(LOG_WARNING, "outcome not written yet, somebody"
		    " has it locked", "delivery", job_number(id, d->id).val,
		    NULL);
	}
	d->after = s->parked;
	s->parked = d;
}

static void
scrub(struct delivery *d)
{
	free(d->error);
	free(d->answer);
	d->error = strdup("not storable: what the endpoint answered");
	d->answer = NULL;
	d->answer_len = 0;
}

int
job_body(struct store *s, const struct stmt *st, int64_t now_ms)
{
	struct delivery	*d = s->bodies;
	char		 id[24], sub[24], fence[24];

	(void)now_ms;
	if (d == NULL)
		return 0;
	return db_send(&s->db, st, 5, (struct db_arg[]){
	    job_number(id, d->id), job_number(sub, d->lane->id),
	    job_number(fence, d->lane->fence), JOB_TEXT(d->body),
	    JOB_TEXT(d->event_id) }, 0) == -1 ? -1 : 1;
}

static void
take_body(struct store *s)
{
	if ((s->bodies = s->bodies->after) == NULL)
		s->bodies_end = &s->bodies;
}

/* What is in the database counts, and is put into its envelope. */
void
job_bodied(struct store *s, int64_t now_ms)
{
	struct delivery	*d = s->bodies;
	const char	*data;
	size_t		 n, len;
	char		*body;

	(void)now_ms;
	take_body(s);
	if (db_rows(&s->db) == 0) {
		delivery_free(d);	/* removed, or the lane lost */
		return;
	}
	data = db_col(&s->db, 0, 0);
	len = db_len(&s->db, 0, 0);
	n = d->head == NULL ? 0 : strlen(d->head);
	if ((body = malloc(n + len + 2)) == NULL) {
		delivery_free(d);
		return;
	}
	if (n > 0)
		memcpy(body, d->head, n);
	memcpy(body + n, data, len);
	d->body_len = n + len;
	if (n > 0)
		body[d->body_len++] = '}';
	body[d->body_len] = '\0';
	free(d->body);
	d->body = body;
	d->raw_input = 0;
	d->after = s->ready;
	s->ready = d;
}

/* A result that the database will not take will not get better. */
int
job_unbodied(struct store *s)
{
	struct delivery	*d = s->bodies;

	if (db_exitcode(&s->db) != EX_DATAERR)
		return 0;
	take_body(s);
	delivery_judge(d, RETRY_NEVER, "transform: result can't be stored", 0);
	d->pause_ms = -1;
	lane_outcome(d->lane, d, RETRY_NEVER, 0, -1, follow_now_ms(), 0);
	store_done(s, d);
	return 1;
}

int
job_health(struct store *s, const struct stmt *st, int64_t now_ms)
{
	static const char *const word[] = { "", "first", "well", "failing",
	    "disabled", "recovered" };
	struct lane	*l;
	char		 id[24], fence[24];
	const char	*why;

	for (l = s->lanes; l != NULL; l = l->next)
		if (!l->stale && (l->health[0] != HEALTH_NONE ||
		    (l->failing != l->failing_told &&
		    (now_ms >= l->told_ms + HEALTH_MS || l->out == 0))))
			break;
	if (l == NULL)
		return 0;
	s->health = lane_next_note(l);
	if (s->health == HEALTH_NONE)
		s->health = l->failing ? HEALTH_FIRST : HEALTH_WELL;
	l->told_ms = now_ms;
	s->page[0] = l;
	s->npage = 0;
	why = s->health == HEALTH_DISABLED ? l->disable_why :
	    s->health == HEALTH_FAILING ? "attempts in a row have failed" :
	    NULL;
	if (s->health >= HEALTH_FAILING && s->health <= HEALTH_RECOVERED)
		log_event(s->health == HEALTH_RECOVERED ? LOG_NOTICE :
		    LOG_WARNING, s->health == HEALTH_RECOVERED ?
		    "subscription recovered" : s->health == HEALTH_DISABLED ?
		    "subscription disabled" : "subscription failing",
		    "subscription", job_number(id, l->id).val, "reason", why,
		    NULL);
	return db_send(&s->db, st, 4, (struct db_arg[]){
	    job_number(id, l->id), job_number(fence, l->fence),
	    JOB_TEXT(word[s->health]), JOB_TEXT(why) }, 0) == -1 ? -1 : 1;
}

void
job_healthy(struct store *s, int64_t now_ms)
{
	struct lane	*l = s->page[0];

	l->failing_told = s->health != HEALTH_WELL &&
	    s->health != HEALTH_RECOVERED;
	if (l->failing_told && l->failing && l->sub->failing_since == 0)
		l->sub->failing_since = store_now_s(s, now_ms);
	if (s->health == HEALTH_DISABLED)
		l->reload = 1;
}

/* Not told: again when the database is back. */
int
job_unhealthy(struct store *s)
{
	if (s->health >= HEALTH_FAILING)
		lane_note(s->page[0], s->health);
	return 0;
}
