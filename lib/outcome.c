/*
 * What came of a run of the command: consumer.h.
 */
#include <sys/wait.h>

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "consumer.h"
#include "log.h"
#include "opt.h"

#define TAKEOVERS_MAX	10	/* then it may be what kills consumers */

static void	 fail_one(struct consumer *, struct parcel *, const char *);
static void	 halve(struct consumer *, struct run *);
static int64_t	 pause_after(const struct consumer *, int);
static void	 note(struct run *);
static void	 not_started(struct consumer *, struct run *);
static void	 said(const struct consumer *, const struct parcel *);
static int	 unheard(struct consumer *);
static char	*utf8(const char *);
static const char *why_failed(const struct run *, char *, size_t);

void
consumer_outcome(struct consumer *c, struct parcel *list,
    const char *outcome, const char *error)
{
	struct parcel	*m = list;

	for (;; m = m->next) {
		m->outcome = outcome;
		free(m->error);
		m->error = error == NULL ? NULL : utf8(error);
		if (strcmp(outcome, "retry") == 0)
			m->pause_ms = pause_after(c, m->attempts);
		if (c->verbose || strcmp(outcome, "dead") == 0 ||
		    strcmp(outcome, "failed") == 0)
			said(c, m);
		if (m->next == NULL)
			break;
	}
	*c->outcomes_end = list;
	c->outcomes_end = &m->next;
}

/* Text for a column: what is no UTF-8 is not worth keeping. */
static char *
utf8(const char *s)
{
	char	*copy = strdup(s), *p;

	if (copy != NULL && !opt_utf8(copy, strlen(copy)))
		for (p = copy; *p != '\0'; p++)
			if ((unsigned char)*p >= 0x80)
				*p = '?';
	return copy;
}

static void
said(const struct consumer *c, const struct parcel *m)
{
	enum log_level	 level = LOG_INFO;
	char		 id[24], attempt[16];

	if (strcmp(m->outcome, "dead") == 0)
		level = LOG_ERROR;
	else if (strcmp(m->outcome, "failed") == 0)
		level = LOG_WARNING;
	snprintf(id, sizeof(id), "m%" PRId64, m->id);
	snprintf(attempt, sizeof(attempt), "%d", m->attempts);
	log_event(level, "message", "outcome", m->outcome, "id", id,
	    "source", c->feed.source, "message_id", m->message_id, "attempt",
	    attempt, "reason", m->error, NULL);
}

/* +-20 %, so that what failed together does not come back together. */
static int64_t
pause_after(const struct consumer *c, int nth)
{
	int64_t	 ms;

	if (nth < 1)
		nth = 1;
	ms = c->pause_ms[(nth > c->npauses ? c->npauses : nth) - 1];
	return ms - ms / 5 + (int64_t)arc4random_uniform(
	    (uint32_t)(ms / 5 * 2 + 1));
}

void
consumer_judge(struct consumer *c, struct run *r)
{
	char	 why[160];

	note(r);
	if (r->lost) {
		log_event(LOG_WARNING, "lease lost, outcome dropped",
		    "source", c->feed.source, NULL);
		consumer_put(&c->dropped, r);	/* they may be looked at */
		return;
	}
	if (r->h.no_exec != 0) {
		not_started(c, r);
	} else if (r->cut && !(WIFEXITED(r->h.status) &&
	    WEXITSTATUS(r->h.status) == 0)) {
		consumer_outcome(c, r->list, "back", NULL);
	} else if (r->h.overdue || r->h.too_long ||
	    !WIFEXITED(r->h.status) || (WEXITSTATUS(r->h.status) != 0 &&
	    WEXITSTATUS(r->h.status) != EX_TEMPFAIL)) {
		if (!c->prints && unheard(c)) {
			consumer_outcome(c, r->list, "back", NULL);
			goto out;
		}
		consumer_failed(c, r, why_failed(r, why, sizeof(why)));
		return;
	} else if (WEXITSTATUS(r->h.status) == EX_TEMPFAIL) {
		consumer_outcome(c, r->list, "retry", "exit status 75");
	} else if (c->prints && r->h.output.len > 0) {
		consumer_put(&c->printed, r);
		return;
	} else
		consumer_outcome(c, r->list, "done", NULL);
out:
	r->list = NULL;
	consumer_free_run(c, r);
}

/*
 * An environment or a batch that is too much is this one's; all else is the
 * command's, or ours, and would be that of the next message, too.
 */
static void
not_started(struct consumer *c, struct run *r)
{
	char	 why[600];
	int	 n = r->h.no_exec;

	snprintf(why, sizeof(why), "%s: %s", c->path, strerror(n));
	if (n == E2BIG || n == EFBIG) {
		log_event(LOG_WARNING, "message is too much for the command",
		    "source", c->feed.source, "message_id",
		    r->list->message_id, "reason", why, NULL);
		consumer_outcome(c, r->list, "retry", why);
		return;
	}
	consumer_outcome(c, r->list, "unused", NULL);
	if (c->feed.follow && c->hold_for_ms == 0)
		log_event(LOG_ERROR, "command can't be started, messages wait",
		    "reason", why, NULL);
	if (!c->feed.follow && !c->broken) {
		strlcpy(c->why, why, sizeof(c->why));
		c->broken = n == EAGAIN || n == ENOMEM || n == EMFILE ||
		    n == ENFILE || n == ETXTBSY ? EX_TEMPFAIL :
		    EX_UNAVAILABLE;
	}
	consumer_hold(c, follow_now_ms());
}

/*
 * It failed, and what it prints can't be written any more, as in a pipe into
 * head(1): that was why, most likely, and would be the end of the others.
 */
static int
unheard(struct consumer *c)
{
	struct pollfd	 pfd = { .fd = STDOUT_FILENO };

	if (poll(&pfd, 1, 0) != 1 || (pfd.revents & (POLLERR | POLLHUP)) == 0)
		return 0;
	strlcpy(c->why, "standard output: nobody reads it", sizeof(c->why));
	c->broken = EX_TEMPFAIL;
	consumer_hold(c, follow_now_ms());
	return 1;
}

/* How the handler of one message ended is kept with it. */
static void
note(struct run *r)
{
	struct parcel		*m = r->list;
	const unsigned char	*tail;
	size_t			 n;

	if (r->n != 1)
		return;
	m->status = WIFEXITED(r->h.status) ? WEXITSTATUS(r->h.status) : -1;
	m->sig = WIFSIGNALED(r->h.status) ? WTERMSIG(r->h.status) : -1;
	free(m->tail);
	n = handler_tail(&r->h, &tail);
	m->tail_len = (m->tail = malloc(n + 1)) == NULL ? 0 : n;
	if (m->tail_len > 0)
		memcpy(m->tail, tail, n);
}

static const char *
why_failed(const struct run *r, char *why, size_t whylen)
{
	const struct handler	*h = &r->h;

	if (h->overdue)
		snprintf(why, whylen, "timed out");
	else if (h->too_long)
		snprintf(why, whylen, "standard output: more than %zu bytes",
		    h->output.max);
	else if (WIFEXITED(h->status))
		snprintf(why, whylen, "exit status %d",
		    WEXITSTATUS(h->status));
	else
		snprintf(why, whylen, "killed by signal %d",
		    WTERMSIG(h->status));
	return why;
}

void
consumer_failed(struct consumer *c, struct run *r, const char *why)
{
	if (r->n > 1)
		halve(c, r);
	else {
		fail_one(c, r->list, why);
		r->list = NULL;
	}
	consumer_free_run(c, r);
}

static void
fail_one(struct consumer *c, struct parcel *m, const char *why)
{
	if (m->failures + 1 >= c->max_failures) {
		consumer_outcome(c, m, "dead", why);
		return;
	}
	m->pause_ms = pause_after(c, m->failures + 1);
	consumer_outcome(c, m, "failed", why);
}

/*
 * One of these is bad, or some: each half again, until it stands alone, so
 * that its neighbours do not fail with it.
 */
static void
halve(struct consumer *c, struct run *r)
{
	struct run	*half[2];
	struct parcel	**end = &r->list;
	size_t		 i, n = r->n / 2;

	half[0] = calloc(1, sizeof(*r));
	half[1] = calloc(1, sizeof(*r));
	if (half[0] == NULL || half[1] == NULL) {
		free(half[0]);
		free(half[1]);
		consumer_outcome(c, r->list, "retry", "out of memory");
		r->list = NULL;
		return;
	}
	for (i = 0; i < n; i++)
		end = &(*end)->next;
	half[0]->list = r->list;
	half[0]->n = n;
	half[1]->list = *end;
	half[1]->n = r->n - n;
	*end = NULL;
	r->list = NULL;
	consumer_put(&c->waiting, half[0]);
	consumer_put(&c->waiting, half[1]);
}

/*
 * Messages that failed before, or whose consumer stopped without a word, are
 * handled alone: they may be what did it.
 */
int
consumer_take(struct consumer *c, struct parcel *list)
{
	struct parcel	*m, *next;
	struct run	*r = NULL;
	struct parcel	**end = NULL;
	char		 why[80];
	int		 alone;

	for (m = list; m != NULL; m = next) {
		next = m->next;
		m->next = NULL;
		c->held++;
		if (m->takeovers >= TAKEOVERS_MAX) {
			snprintf(why, sizeof(why), "no outcome known:"
			    " consumers stopped, %d times", m->takeovers);
			consumer_outcome(c, m, "dead", why);
			continue;
		}
		alone = m->failures > 0 || m->takeovers > 0;
		if (r == NULL || alone || r->n >= c->batch) {
			if ((r = calloc(1, sizeof(*r))) == NULL) {
				m->next = next;
				parcel_free(m);	/* its lease ends */
				return -1;
			}
			end = &r->list;
			consumer_put(&c->waiting, r);
		}
		*end = m;
		end = &m->next;
		r->n++;
		if (alone)
			r = NULL;
	}
	return 0;
}
