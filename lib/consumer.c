#include <sys/param.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "consumer.h"
#include "db_async.h"
#include "log.h"
#include "notify.h"

#define OUTPUT_MAX	(16 * 1024 * 1024)	/* bytes of standard output */
#define COMMIT_TRIES	3
#define AHEAD_MS	50	/* work that is claimed before it can run */
#define AHEAD_MAX	64	/* ... and as runs, for each job */
#define HOLD_MS		1000	/* doubling to ... */
#define HOLD_MAX_MS	60000	/* where the command can't be started */
#define LAST_WORDS_MS	5000	/* to write outcomes, after the grace */

static int	 commit_one(struct consumer *, struct run *);
static void	 drop_late(struct consumer *, int64_t);
static int	 hook_wait(void *, int, int, int);
static int64_t	 lease_of(const struct run *);
static int64_t	 next_ms(const struct consumer *, int64_t);
static void	 put_back(struct consumer *);
static int	 renew(struct consumer *, int64_t);
static struct run *shift(struct runs *);
static int	 start_one(struct consumer *, struct run *, int64_t);
static int	 write_outcomes(struct consumer *);

void
consumer_init(struct consumer *c)
{
	c->waiting.end = &c->waiting.first;
	c->running.end = &c->running.first;
	c->printed.end = &c->printed.first;
	c->dropped.end = &c->dropped.first;
	c->outcomes_end = &c->outcomes;
	c->feed.db.wait = hook_wait;
	c->feed.db.wait_arg = c;
	feed_init(&c->feed);
	c->run_ms = 1000;	/* until that is known */
}

void
consumer_put(struct runs *rs, struct run *r)
{
	r->next = NULL;
	*rs->end = r;
	rs->end = &r->next;
	rs->n++;
}

static struct run *
shift(struct runs *rs)
{
	struct run	*r = rs->first;

	if (r == NULL)
		return NULL;
	if ((rs->first = r->next) == NULL)
		rs->end = &rs->first;
	rs->n--;
	r->next = NULL;
	return r;
}

void
consumer_free_run(struct consumer *c, struct run *r)
{
	struct parcel	*m;

	for (m = r->list; m != NULL; m = m->next)
		c->held--;
	parcel_free(r->list);
	handler_free(&r->h);
	free(r);
}

size_t
consumer_start(struct consumer *c, int64_t now_ms)
{
	struct run	*r;
	size_t		 ahead;

	while (!c->stopping && now_ms >= c->hold_ms &&
	    c->running.n < c->jobs && (r = shift(&c->waiting)) != NULL)
		if (start_one(c, r, now_ms) == -1)
			consumer_judge(c, r);
		else
			consumer_put(&c->running, r);
	if (now_ms < c->hold_ms)
		return 0;
	ahead = c->run_ms * AHEAD_MAX < AHEAD_MS ? AHEAD_MAX :
	    (size_t)(AHEAD_MS / c->run_ms);
	ahead *= c->jobs;
	if (c->stopping || c->waiting.n > ahead / 2 ||
	    c->running.n + c->waiting.n >= c->jobs + ahead)
		return 0;
	return c->jobs + ahead - c->running.n - c->waiting.n;
}

static int
start_one(struct consumer *c, struct run *r, int64_t now_ms)
{
	int64_t	 until_ms = c->timeout_ms == 0 ? INT64_MAX :
		    now_ms + c->timeout_ms;
	char	**env;
	int	 in, rc;

	r->start_ms = now_ms;
	memset(&r->h, 0, sizeof(r->h));
	r->h.out = r->h.err = -1;
	if (now_ms >= lease_of(r)) {
		r->lost = 1;
		return -1;
	}
	env = parcel_env(r->list, c->feed.source, c->batch > 0);
	in = parcel_input(r->list, c->feed.source, c->batch > 0);
	if (env == NULL || in == -1)
		rc = -1;
	else
		rc = handler_start(&r->h, c->path, c->argv, env, in,
		    c->prints ? OUTPUT_MAX : 0, until_ms, &c->guard,
		    lease_of(r));
	if (rc == -1)
		r->h.no_exec = errno;
	else if (r->h.no_exec == 0 && now_ms > c->hold_ms + HOLD_MAX_MS)
		c->hold_for_ms = 0;
	if (in != -1)
		close(in);
	if (env != NULL)
		free(env);
	return rc;
}

/* Until when all of a run's messages are ours. */
static int64_t
lease_of(const struct run *r)
{
	const struct parcel	*m;
	int64_t			 ms = INT64_MAX;

	for (m = r->list; m != NULL; m = m->next)
		if (m->until_ms < ms)
			ms = m->until_ms;
	return ms;
}

void
consumer_serve(struct consumer *c, int64_t now_ms)
{
	struct runs	 still = { NULL, &still.first, 0 };
	struct run	*r;
	int		 look = handler_some_ended();

	if (look && guard_died(&c->guard)) {
		log_event(LOG_ERROR, "guard died, another is started", NULL);
		if (guard_start(&c->guard) == 0)
			for (r = c->running.first; r != NULL; r = r->next)
				guard_tell(&c->guard, r->h.pid, lease_of(r));
	}
	while ((r = shift(&c->running)) != NULL) {
		if (!r->lost && now_ms >= lease_of(r)) {
			r->lost = 1;
			handler_kill(&r->h);
		}
		handler_drain(&r->h);
		if (handler_step(&r->h, &c->guard, look, now_ms)) {
			c->run_ms += ((double)(now_ms - r->start_ms) -
			    c->run_ms) / 8;
			consumer_judge(c, r);
		} else
			consumer_put(&still, r);
	}
	c->running = still;
	if (still.first == NULL)
		c->running.end = &c->running.first;
}

int
consumer_wait(struct consumer *c, int fd, int write, int timeout_ms)
{
	static struct pollfd	 pfd[2 * GUARD_MAX + 2];
	const struct run	*r;
	int64_t			 now_ms = follow_now_ms(), ms;
	nfds_t			 n = 2;

	notify_alive(now_ms);
	ms = next_ms(c, now_ms) - now_ms;
	if (ms < timeout_ms)
		timeout_ms = ms < 0 ? 0 : (int)ms;
	timeout_ms = notify_wait(timeout_ms, now_ms);
	pfd[0].fd = fd;
	pfd[0].events = write ? POLLIN | POLLOUT : POLLIN;
	pfd[0].revents = 0;
	pfd[1].fd = c->ended_fd;
	pfd[1].events = POLLIN;
	for (r = c->running.first; r != NULL; r = r->next) {
		pfd[n].fd = r->h.err;
		pfd[n++].events = POLLIN;
		pfd[n].fd = r->h.out;
		pfd[n++].events = POLLIN;
	}
	if (poll(pfd, n, timeout_ms) == -1)
		pfd[0].revents = 0;
	consumer_serve(c, follow_now_ms());
	return pfd[0].revents != 0;
}

/*
 * The database's session waits: nothing may wait for it for ever, once we
 * have been told to stop.
 */
static int
hook_wait(void *arg, int fd, int write, int timeout_ms)
{
	struct consumer	*c = arg;
	int64_t		 now_ms = follow_now_ms();

	if (follow_stop)
		consumer_stop(c, follow_stop > 1 ? 3 : 1, now_ms);
	if (c->stopping && now_ms >= c->stop_ms + LAST_WORDS_MS)
		return -1;
	consumer_wait(c, fd, write, timeout_ms);
	consumer_start(c, follow_now_ms());
	return 0;
}

/* When something is to be done at the latest. */
static int64_t
next_ms(const struct consumer *c, int64_t now_ms)
{
	const struct run	*r;
	int64_t			 ms = now_ms + 1000;

	if (c->stopping == 1 && c->stop_ms < ms)
		ms = c->stop_ms;
	for (r = c->running.first; r != NULL; r = r->next) {
		if (!r->h.overdue && r->h.until_ms < ms)
			ms = r->h.until_ms;
		if (r->h.kill_ms < ms)
			ms = r->h.kill_ms;
		if (!r->lost && lease_of(r) < ms)
			ms = lease_of(r);
	}
	return ms;
}

void
consumer_stop(struct consumer *c, int how, int64_t now_ms)
{
	struct run	*r;

	notify_stopping();
	if (!c->stopping)
		c->stop_ms = now_ms + c->grace_ms;
	if (how == 1 && now_ms >= (c->stopping ? c->stop_ms : INT64_MAX))
		how = 2;
	if (how <= c->stopping)
		return;
	if (how > 1 && c->stop_ms > now_ms)
		c->stop_ms = now_ms;
	c->stopping = how;
	put_back(c);
	for (r = c->running.first; how > 1 && r != NULL; r = r->next) {
		r->cut = 1;
		if (how == 2)
			handler_stop(&r->h, now_ms);
		else
			handler_kill(&r->h);
	}
}

/* What never ran is as it was; a half of a batch that failed did run. */
static void
put_back(struct consumer *c)
{
	struct run	*r;

	while ((r = shift(&c->waiting)) != NULL) {
		consumer_outcome(c, r->list, "unused", NULL);
		r->list = NULL;
		consumer_free_run(c, r);
	}
}

void
consumer_hold(struct consumer *c, int64_t now_ms)
{
	put_back(c);
	if (now_ms >= c->hold_ms)
		c->hold_for_ms = c->hold_for_ms == 0 ? HOLD_MS :
		    MIN(c->hold_for_ms * 2, HOLD_MAX_MS);
	c->hold_ms = c->broken ? INT64_MAX : now_ms + c->hold_for_ms;
}

int
consumer_settle(struct consumer *c, int64_t now_ms)
{
	struct run	*r;
	int		 rc;

	while ((r = shift(&c->dropped)) != NULL)
		consumer_free_run(c, r);
	drop_late(c, now_ms);
	if (c->held > 0 && now_ms >= c->renew_ms && renew(c, now_ms) == -1)
		return -1;
	if (c->outcomes != NULL && write_outcomes(c) == -1)
		return -1;
	while ((r = shift(&c->printed)) != NULL) {
		rc = commit_one(c, r);
		if (rc == -1) {
			consumer_put(&c->printed, r);
			return -1;
		}
		if (rc == 0)
			consumer_free_run(c, r);
		if (c->outcomes != NULL && write_outcomes(c) == -1)
			return -1;
		if (follow_now_ms() >= c->renew_ms &&
		    renew(c, follow_now_ms()) == -1)
			return -1;
	}
	return 0;
}

/* What waits and is not ours for sure is for whoever has it now. */
static void
drop_late(struct consumer *c, int64_t now_ms)
{
	struct runs	 still = { NULL, &still.first, 0 };
	struct run	*r;

	while ((r = shift(&c->waiting)) != NULL)
		if (now_ms >= lease_of(r))
			consumer_free_run(c, r);
		else
			consumer_put(&still, r);
	c->waiting = still;
	if (still.first == NULL)
		c->waiting.end = &c->waiting.first;
}

static int
renew(struct consumer *c, int64_t now_ms)
{
	struct runs	*all[] = { &c->waiting, &c->running, &c->printed };
	struct parcel	**list, *m;
	struct run	*r;
	size_t		 i, n = 0;
	int		 rc;

	if ((list = calloc(c->held + 1, sizeof(*list))) == NULL)
		return 0;
	for (i = 0; i < 3; i++)
		for (r = all[i]->first; r != NULL; r = r->next)
			for (m = r->list; m != NULL && n < c->held;
			    m = m->next)
				list[n++] = m;
	for (m = c->outcomes; m != NULL && n < c->held; m = m->next)
		list[n++] = m;
	rc = feed_renew(&c->feed, list, n);
	free(list);
	if (rc == -1)
		return -1;
	c->renew_ms = now_ms + c->feed.lease_ms / 3;
	for (r = c->running.first; r != NULL; r = r->next)
		guard_tell(&c->guard, r->h.pid, lease_of(r));
	return 0;
}

static int
write_outcomes(struct consumer *c)
{
	struct parcel	*list = c->outcomes, *m, **last = c->outcomes_end;

	c->outcomes = NULL;
	c->outcomes_end = &c->outcomes;
	if (feed_ack(&c->feed, list) == -1) {
		/* Others may have come while it was tried. */
		*last = c->outcomes;
		if (c->outcomes == NULL)
			c->outcomes_end = last;
		c->outcomes = list;
		return -1;
	}
	for (m = list; m != NULL; m = m->next)
		c->held--;
	parcel_free(list);
	return 0;
}

/*
 * 0: its messages are done with; 1: it is in another place now; -1: it stays,
 * and the database is to blame.
 */
static int
commit_one(struct consumer *c, struct run *r)
{
	struct parcel	*m;
	char		 why[600];
	int		 rc;

	for (m = r->list; m != NULL; m = m->next)
		m->outcome = "done";
	rc = feed_ack_with(&c->feed, r->list, (enum feed_print)(c->prints - 1),
	    &r->h.output, c->max_payload, why, sizeof(why));
	if (rc == 1 && c->verbose)
		log_event(LOG_INFO, "message", "outcome", "done", "source",
		    c->feed.source, "message_id", r->list->message_id, NULL);
	if (rc != -1)
		return 0;
	if (db_exitcode(&c->feed.db) == EX_DATAERR) {
		consumer_failed(c, r, why);
		return 1;
	}
	if (++r->tries < COMMIT_TRIES)
		return -1;
	consumer_outcome(c, r->list, "retry", why);
	r->list = NULL;
	return 0;
}
