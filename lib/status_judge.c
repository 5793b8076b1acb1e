/*
 * What is not well, in a sentence, and what to type next.  The limits are
 * those of the alert rules (scripts/etc/prometheus), or below.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

#include "status.h"

#define LATE_S		60	/* an event that waits */
#define DUE_S		300	/* a delivery or message that waits */
#define UNSEEN_S	600	/* no follower, no run of cron */
#define SNAPSHOT_S	300
#define AHEAD_S		(INT64_C(2) * 86400)
#define EXPIRY_S	(INT64_C(7) * 86400)
#define SKEW_MS		5000

static void	 judge_queues(struct status *);
static void	 judge_server(struct status *);
static void	 judge_subscriptions(struct status *);
static void	 judge_workers(struct status *);
static void	 unseen(struct status *, const char *, const char *,
		    const char *);

static void __attribute__((__format__(printf, 3, 4)))
add(struct status *s, const char *todo, const char *fmt, ...)
{
	struct problem	*p = &s->problem[s->nproblem];
	va_list		 ap;
	char		*c;

	if (s->nproblem == (int)(sizeof(s->problem) / sizeof(*s->problem)))
		return;
	va_start(ap, fmt);
	vsnprintf(p->what, sizeof(p->what), fmt, ap);
	va_end(ap);
	snprintf(p->todo, sizeof(p->todo), "%s", todo);
	/* Names are anybody's, and this goes to a terminal. */
	for (c = p->what; *c != '\0'; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	for (c = p->todo; *c != '\0'; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	s->nproblem++;
}

void
status_judge(struct status *s)
{
	s->nproblem = 0;
	judge_workers(s);
	judge_queues(s);
	judge_subscriptions(s);
	judge_server(s);
}

static void
judge_workers(struct status *s)
{
	unseen(s, "hook-fanout", "fanout_seen_s", "hook fanout -f");
	unseen(s, "hook-deliver", "deliver_seen_s", "hook deliver -f");
}

static void
unseen(struct status *s, const char *tool, const char *column,
    const char *todo)
{
	char	 age[32];

	if (status_text(s, STATUS_FACTS, 0, column) == NULL)
		add(s, todo, "%s was never seen", tool);
	else if (status_fact(s, column) > UNSEEN_S)
		add(s, todo, "%s was last seen %s ago", tool,
		    status_age(status_fact(s, column), age));
}

static void
judge_queues(struct status *s)
{
	char	 age[32], todo[100];
	int64_t	 n;
	int	 i;

	if ((n = status_fact(s, "outbox_oldest_s")) > LATE_S)
		add(s, "hook fanout -n", "events have waited %s for"
		    " hook-fanout", status_age(n, age));
	if ((n = status_fact(s, "deliveries_due_oldest_s")) > DUE_S)
		add(s, "hook deliver -f", "deliveries are due for %s: too few"
		    " workers, or too low a cap or rate", status_age(n, age));
	for (i = 0; s->read & STATUS_PART(STATUS_SOURCES) &&
	    i < db_rows(&s->part[STATUS_SOURCES]); i++) {
		if (status_int(s, STATUS_SOURCES, i, "oldest_s") <= DUE_S)
			continue;
		snprintf(todo, sizeof(todo), "hook consume -f -s %s -- ...",
		    status_text(s, STATUS_SOURCES, i, "source"));
		add(s, todo, "messages of %s have waited %s", status_text(s,
		    STATUS_SOURCES, i, "source"), status_age(status_int(s,
		    STATUS_SOURCES, i, "oldest_s"), age));
		if (s->nproblem > 10)
			break;
	}
}

static void
judge_subscriptions(struct status *s)
{
	char	 age[32];
	int64_t	 n;

	if ((n = status_fact(s, "subscriptions_failing")) > 0)
		add(s, "hook sub list", "%" PRId64 " %s, the longest for %s",
		    n, n == 1 ? "subscription fails" : "subscriptions fail",
		    status_age(status_fact(s,
		    "subscriptions_failing_oldest_s"), age));
	if ((n = status_fact(s, "subscriptions_disabled")) > 0)
		add(s, "hook sub list", "%" PRId64 " %s disabled", n,
		    n == 1 ? "subscription is" : "subscriptions are");
	if ((n = status_fact(s, "dead_deliveries")) > 0)
		add(s, "hook dlq list", "%" PRId64 "%s %s, the oldest %s ago",
		    n, n > 100000 ? " or more" : "", n == 1 ?
		    "delivery gave up" : "deliveries gave up",
		    status_age(status_fact(s, "dead_deliveries_oldest_s"),
		    age));
	if ((n = status_fact(s, "dead_messages")) > 0)
		add(s, "hook dlq list --inbox", "%" PRId64 "%s %s handled", n,
		    n > 10000 ? " or more" : "", n == 1 ?
		    "message could not be" : "messages could not be");
	if (status_text(s, STATUS_FACTS, 0, "secret_expires_s") != NULL &&
	    (n = status_fact(s, "secret_expires_s")) < EXPIRY_S)
		add(s, "hook sub rotate ...", "the last secret of a"
		    " subscription or source expires in %s",
		    status_age(n, age));
}

static void
judge_server(struct status *s)
{
	const char	*app;
	char		 age[32], todo[100];
	int64_t		 n;

	if ((n = status_fact(s, "snapshot_s")) > SNAPSHOT_S) {
		app = status_text(s, STATUS_FACTS, 0, "snapshot_application");
		snprintf(todo, sizeof(todo), "psql -c 'select"
		    " pg_terminate_backend(%" PRId64 ")'",
		    status_fact(s, "snapshot_pid"));
		if (status_fact(s, "snapshot_pid") == 0)
			snprintf(todo, sizeof(todo), "psql -c 'table"
			    " pg_prepared_xacts'");
		add(s, todo, "%s %" PRId64 " (%.40s) keeps a snapshot for"
		    " %s: nothing is vacuumed", status_text(s, STATUS_FACTS,
		    0, "snapshot_kind"), status_fact(s, "snapshot_pid"),
		    app == NULL ? "" : app, status_age(n, age));
	}
	if (strtod(status_text(s, STATUS_FACTS, 0, "notify_usage"), NULL) >
	    0.5)
		add(s, "psql -c 'table pg_stat_activity'", "the queue of"
		    " NOTIFY is half full: a session that listens is stuck in"
		    " a transaction");
	if (status_text(s, STATUS_FACTS, 0, "partitions_ahead_s") == NULL)
		add(s, "hook prune", "today's partition is missing");
	else if ((n = status_fact(s, "partitions_ahead_s")) < AHEAD_S)
		add(s, "hook prune", "partitions end in %s",
		    status_age(n, age));
	if (s->skew_ms > SKEW_MS || s->skew_ms < -SKEW_MS)
		add(s, "timedatectl", "this machine's clock is %s off the"
		    " database's", status_age(llabs(s->skew_ms) / 1000, age));
}
