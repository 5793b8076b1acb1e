#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "db_async.h"
#include "job.h"
#include "log.h"
#include "stmt.h"
#include "store.h"

#define PAUSE_MS	25	/* doubled for each failure in a row */
#define PAUSE_MAX_MS	5000
#define BAD_TOLD	4	/* a deadlock or two are not worth a line */
#define LOCK_SHARE	15	/* of a lease */
#define LOCKED_MAX_MS	1000	/* a single run leaves a lane locked so long */
#define CLOCK_SKEW_S	5
#define SLOW_MS		50	/* this may be a plan for a table that was */
#define REPLAN_MS	1000	/* small then: plan anew, this often at most */

static int	 failed(struct store *, int64_t);
static void	 good(struct store *);
static int	 lost(struct store *, int64_t);
static int	 session(struct store *, int64_t);
static int	 start_next(struct store *, int64_t);

int
store_init(struct store *s, const char **why)
{
	char	 host[64] = "host";
	size_t	 i;

	if (seal_load(&s->seal, why) == -1)
		return -1;
	gethostname(host, sizeof(host) - 1);
	snprintf(s->name, sizeof(s->name), "%s:%ld:%08" PRIx32, host,
	    (long)getpid(), arc4random());
	for (i = 0; i < sizeof(s->arr) / sizeof(*s->arr); i++)
		arr_init(&s->arr[i], ARR_INT8);
	arr_init(&s->rest[0], ARR_INT8);
	arr_init(&s->rest[1], ARR_INT8);
	arr_init(&s->rest[2], ARR_TIMESTAMPTZ);
	s->done_end = &s->done;
	s->bodies_end = &s->bodies;
	s->batch = STORE_BATCH;
	s->page_max = STORE_LANES;
	return 0;
}

int
store_reload(struct store *s, const char **why)
{
	struct seal	 seal = { 0 };
	struct lane	*l;

	s->beat_ms = 0;
	for (l = s->lanes; l != NULL; l = l->next)
		l->reload = 1;
	if (seal_load(&seal, why) == -1)
		return -1;	/* the old one stays */
	seal_wipe(&s->seal);
	s->seal = seal;
	seal_wipe(&seal);
	return 0;
}

void
store_free(struct store *s)
{
	struct lane	*l;
	size_t		 i;

	while ((l = s->lanes) != NULL) {
		s->lanes = l->next;
		lane_free(l);
		free(l);
	}
	for (i = 0; i < sizeof(s->arr) / sizeof(*s->arr); i++)
		arr_free(&s->arr[i]);
	for (i = 0; i < sizeof(s->rest) / sizeof(*s->rest); i++)
		arr_free(&s->rest[i]);
	seal_wipe(&s->seal);
	db_close(&s->db);
}

int
store_step(struct store *s, int64_t now_ms)
{
	int	 rc, told;

	if (s->up == 0) {
		if (now_ms < s->try_ms)
			return 0;
		db_close(&s->db);
		if (db_start(&s->db, s->conninfo, s->tool) == -1)
			return lost(s, now_ms);
		s->up = 1;
	}
	for (;;) {
		if ((rc = db_step(&s->db)) == -1)
			return s->up == 2 && s->job != NULL ?
			    failed(s, now_ms) : lost(s, now_ms);
		if ((told = db_notified(&s->db)) != 0)
			store_look(s);
		if (told == 2)
			s->tick_ms = 0;
		if (rc == 0)
			return 0;
		if (s->up == 1) {
			if (session(s, now_ms) == -1)
				return lost(s, now_ms);
			continue;
		}
		if (s->job != NULL) {
			const struct job *job = s->job;

			s->job = NULL;
			s->slow |= now_ms - s->sent_ms >= SLOW_MS;
			job->done(s, now_ms);
			good(s);
		}
		if ((rc = start_next(s, now_ms)) == -1)
			return lost(s, now_ms);
		if (rc == 0)
			return 0;
	}
}

/* A fresh connection.  Leases first: somebody may have taken our lanes. */
static int
session(struct store *s, int64_t now_ms)
{
	char	 sql[64];
	size_t	 i;

	/* Locks of others are not waited for until the leases run out. */
	snprintf(sql, sizeof(sql), "set lock_timeout = %" PRId64,
	    s->lease_ms / LOCK_SHARE);
	if (db_plan_by_index(&s->db) == -1 || db_exec(&s->db, sql) == -1 ||
	    db_listen(&s->db, "deliver") == -1)
		return -1;
	for (i = 0; i < job_count; i++)
		if (job_all[i].stmt != NULL &&
		    db_prepare(&s->db, job_all[i].stmt) == -1)
			return -1;
	if (s->life.lost_at_ms != 0)
		s->back_ms = now_ms;
	s->up = 2;
	s->turn = 0;
	s->tick_ms = s->claim_ms = s->claim_floor_ms = s->next_ms = 0;
	return 0;
}

/* The kinds of statements take turns; the first with work goes. */
static int
start_next(struct store *s, int64_t now_ms)
{
	const struct job	*job;
	size_t			 i;
	int			 rc;

	if (now_ms < s->pause_ms)
		return 0;
	for (i = 0; i < job_count; i++) {
		job = &job_all[(s->turn + i) % job_count];
		s->sent_ms = now_ms;
		if ((rc = job->start(s, job->stmt, now_ms)) == 0)
			continue;
		s->turn = (s->turn + i + 1) % job_count;
		s->job = job;
		return rc;
	}
	return 0;
}

/*
 * Did a statement take long?  Then its plan may be of another time: it holds
 * until the server has analysed a table anew, which may be a minute after
 * that has grown from nothing to 100,000 rows.
 */
int
job_replan(struct store *s, const struct stmt *st, int64_t now_ms)
{
	(void)st;
	if (!s->slow || now_ms < s->replan_ms)
		return 0;
	s->slow = 0;
	s->replan_ms = now_ms + REPLAN_MS;
	return db_send_exec(&s->db, "discard plans") == -1 ? -1 : 1;
}

void
job_replanned(struct store *s, int64_t now_ms)
{
	(void)s;
	(void)now_ms;
}

static void
good(struct store *s)
{
	follow_back(&s->life);
	if (s->bad >= BAD_TOLD)
		log_event(LOG_NOTICE, "statements succeed again", NULL);
	s->bad = 0;
}

/* A statement failed; the connection may be good. */
static int
failed(struct store *s, int64_t now_ms)
{
	const struct job	*job = s->job;

	s->job = NULL;
	if (job->failed != NULL && job->failed(s))
		return 0;
	if (strcmp(s->db.sqlstate, DB_LOCKED) == 0)
		return 0;	/* it has waited already */
	if (db_exitcode(&s->db) != EX_TEMPFAIL) {
		s->code = db_exitcode(&s->db);
		return -1;
	}
	if (db_lost(&s->db))
		return lost(s, now_ms);
	if (++s->bad == BAD_TOLD)
		log_event(LOG_WARNING, "statements fail, trying again",
		    "statement", job->stmt == NULL ? NULL : job->stmt->name,
		    "reason", db_error(&s->db), NULL);
	s->pause_ms = now_ms + (s->bad < 7 ? PAUSE_MS << s->bad :
	    PAUSE_MAX_MS);
	return 0;
}

static int
lost(struct store *s, int64_t now_ms)
{
	const struct job	*job = s->job;
	struct lane		*l;
	size_t			 out = 0;

	s->job = NULL;
	if (job != NULL && job->failed != NULL)
		job->failed(s);
	s->up = 0;
	s->code = db_exitcode(&s->db);
	for (l = s->lanes; l != NULL; l = l->next)
		out += l->out;
	/* Even a single run waits, to write what is under way. */
	if (s->code != EX_TEMPFAIL ||
	    (!s->follow && s->ndone == 0 && out == 0))
		return -1;
	s->try_ms = now_ms + follow_lost(&s->life, db_error(&s->db));
	return 0;
}

int64_t
store_wait(const struct store *s, int64_t now_ms)
{
	int64_t	 at = s->tick_ms;

	if (s->up == 0)
		at = s->try_ms;
	else if (s->job != NULL || s->up == 1)
		return 1000;
	else if (s->pause_ms > now_ms)
		at = s->pause_ms;
	else {
		if (!s->stopping && s->nlane < STORE_LANES &&
		    s->claim_ms < at)
			at = s->claim_ms;
		if (s->ndone > 0 && s->done_ms + JOB_FLUSH_MS < at)
			at = s->done_ms + JOB_FLUSH_MS;
	}
	return at <= now_ms ? 0 : at - now_ms;
}

void
store_done(struct store *s, struct delivery *d)
{
	if (s->ndone == 0)
		s->done_ms = d->ended_ms;
	d->after = NULL;
	*s->done_end = d;
	s->done_end = &d->after;
	s->ndone++;
}

void
store_body(struct store *s, struct delivery *d)
{
	d->after = NULL;
	*s->bodies_end = d;
	s->bodies_end = &d->after;
}

struct delivery *
store_ready(struct store *s)
{
	struct delivery	*d = s->ready;

	if (d != NULL)
		s->ready = d->after;
	return d;
}

/*
 * The database's clock rules; ours only counts on from it.  Ours is read after
 * the answer came, so what we sign with may be late by what that took, but is
 * never of the future.
 */
void
store_clock(struct store *s, int64_t unix_ms)
{
	struct timespec	 ts;
	char		 off[24];
	int64_t		 skew_s;

	s->server_ms = unix_ms - follow_now_ms();
	clock_gettime(CLOCK_REALTIME, &ts);
	skew_s = unix_ms / 1000 - (int64_t)ts.tv_sec;
	if (skew_s >= -CLOCK_SKEW_S && skew_s <= CLOCK_SKEW_S)
		s->clock_told = 0;
	else if (!s->clock_told) {
		snprintf(off, sizeof(off), "%" PRId64, skew_s);
		log_event(LOG_WARNING, "clocks differ, using the database's",
		    "database_ahead_s", off, NULL);
		s->clock_told = 1;
	}
}

int64_t
store_now_s(const struct store *s, int64_t now_ms)
{
	return (s->server_ms + now_ms) / 1000;
}

int
store_idle(const struct store *s)
{
	return s->up == 2 && s->job == NULL && s->nlane == 0 &&
	    s->ndone == 0 && s->rest[0].n == 0 && s->ask_next &&
	    s->next_ms == 0 &&
	    (s->locked_ms == 0 || s->locked_ms > LOCKED_MAX_MS);
}

void
store_look(struct store *s)
{
	struct lane	*l;

	if (s->claim_floor_ms < s->claim_ms)
		s->claim_ms = s->claim_floor_ms;
	for (l = s->lanes; l != NULL; l = l->next)
		l->dry = 0;
}
