/*
 * hook-consume: hand the messages of a source to a command, each to one run
 * of it, and write down what came of it.
 *
 * lib/feed.c talks to the database, lib/handler.c runs the command,
 * lib/consumer.c and lib/outcome.c hold the rules between them; nothing waits
 * for anything but all of it at once (consumer_wait).  No transaction is open
 * while a handler runs.
 *
 * A kill at any moment loses no message: it is pending until its outcome is
 * written, and somebody else's when its lease runs out.  By then its handler
 * is dead: lib/guard.c sees to that.
 */
#include <sys/param.h>
#include <sys/resource.h>

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "config.h"
#include "consumer.h"
#include "db_async.h"
#include "hide.h"
#include "log.h"
#include "opt.h"
#include "select.h"

#define JOBS_MAX	1000
#define BATCH_MAX	10000		/* messages */
#define FAST_POLL_MS	5
#define FAST_FOR_MS	200	/* after work was found, before sleeping */
#define HEAD_SHARE	20	/* a look from the head costs <= 1/20 of time */
#define HEAD_MAX_MS	10000	/* but is never put off for longer */
#define HEAD_MIN_MS	1000	/* nor comes sooner while there is work */
#define TICK_MS		20000
#define LAST_WORDS_MS	5000	/* to write outcomes, after the grace */

enum { BATCH = SELECT_END, SQL };

/* When to look for messages. */
struct look {
	int64_t	 poll_ms;
	int64_t	 at_ms;		/* next */
	int64_t	 head_at_ms;	/* from the head, if idle */
	int64_t	 head_by_ms;	/* at the latest */
	int64_t	 work_ms;	/* when some was found */
	int64_t	 tick_ms, pause_ms;	/* until then nothing is asked */
	int	 want_head, drained;
};

static int	 bad(struct consumer *, struct look *);
static int	 connect_db(struct consumer *, struct look *);
static int	 dry_run(struct consumer *);
static void	 duration(int, int64_t, int64_t, int64_t *);
static int	 find_work(struct consumer *, struct look *, size_t);
static int	 found_none(struct consumer *, struct look *, int, int64_t);
static int	 given_up(const struct consumer *, int64_t);
static int64_t	 number(const char *, int64_t);
static void	 options(struct consumer *, int, char *[]);
static int	 run(struct consumer *);
static void	 set_up(struct consumer *);
static int	 step_db(struct consumer *, struct look *, int64_t);
static _Noreturn void usage(int);
static void	 wait_some(struct consumer *, struct look *, int64_t);

static struct select	 sel;
static int64_t		 poll_ms = 1000;
static int		 dry;

int
main(int argc, char *argv[])
{
	static struct consumer	 c;
	int			 fd, rc;

	/* Whoever started us may have closed some of the first three. */
	while ((fd = open("/dev/null", O_RDWR)) >= 0 && fd < 3)
		;
	c.feed.tool = "hook-consume";
	c.feed.lease_ms = 30000;
	c.jobs = 1;
	c.max_failures = 3;
	c.timeout_ms = 300000;
	c.grace_ms = 20000;
	c.npauses = 4;
	memcpy(c.pause_ms, (int64_t []){ 10000, 60000, 300000, 1800000 },
	    4 * sizeof(*c.pause_ms));
	options(&c, argc, argv);
	set_up(&c);
	rc = dry ? dry_run(&c) : run(&c);
	if (rc != EX_OK)
		log_event(LOG_ERROR, "stopped", "reason", c.feed.no_source ?
		    "no such source" : *c.why != '\0' ? c.why :
		    db_error(&c.feed.db), NULL);
	feed_close(&c.feed);
	guard_stop(&c.guard);
	feed_free(&c.feed);
	select_free(&sel);
	return rc == EX_OK ? follow_code : rc;
}

static void
options(struct consumer *c, int argc, char *argv[])
{
	static const struct option longs[] = {
		{ "batch", required_argument, NULL, BATCH },
		{ "sql", no_argument, NULL, SQL },
		{ NULL, 0, NULL, 0 }
	};
	const char	*why;
	int		 ch;

	while ((ch = getopt_long(argc, argv, "+S:Vd:efg:hi:j:k:l:ns:t:vw:x:",
	    longs, NULL)) != -1)
		switch (ch) {
		case 'S':
			c->npauses = opt_durations(optarg, 0, 86400000,
			    c->pause_ms, CONSUMER_PAUSES, &why);
			if (c->npauses <= 0)
				errx(EX_USAGE, "-S %s: %s", optarg,
				    c->npauses == 0 ? "invalid" : why);
			break;
		case 'V':
			puts(VERSION);
			exit(EX_OK);
		case 'd':
			c->feed.conninfo = hide_arg(optarg);
			break;
		case 'e':
			if (c->prints == 1 + FEED_SQL)
				usage(EX_USAGE);
			c->prints = 1 + FEED_EVENTS;
			break;
		case 'f':
			c->feed.follow = 1;
			break;
		case 'g':
			duration(ch, 0, 3600000, &c->grace_ms);
			break;
		case 'h':
			usage(EX_OK);
		case 'i':
			duration(ch, 10, 60000, &poll_ms);
			break;
		case 'j':
			c->jobs = (size_t)number("-j", JOBS_MAX);
			break;
		case 'k':
			c->feed.path = optarg;
			break;
		case 'l':
			duration(ch, 1000, 600000, &c->feed.lease_ms);
			break;
		case 'n':
			dry = 1;
			break;
		case 's':
			c->feed.source = optarg;
			break;
		case 't':
			if (select_option(&sel, ch, optarg) == -1)
				errx(EX_USAGE, "%s", sel.why);
			break;
		case 'v':
			c->verbose = 1;
			break;
		case 'w':
			duration(ch, 0, 86400000, &c->timeout_ms);
			break;
		case 'x':
			c->max_failures = (int)number("-x", 1000);
			break;
		case BATCH:
			c->batch = (size_t)number("--batch", BATCH_MAX);
			break;
		case SQL:
			if (c->prints == 1 + FEED_EVENTS)
				usage(EX_USAGE);
			c->prints = 1 + FEED_SQL;
			break;
		default:
			usage(EX_USAGE);
		}
	c->argv = argv + optind;
	if (c->feed.source == NULL || (optind == argc) != dry)
		usage(EX_USAGE);
}

static void
duration(int ch, int64_t min_ms, int64_t max_ms, int64_t *ms)
{
	const char	*why;

	if (opt_duration(optarg, min_ms, max_ms, ms, &why) == -1)
		errx(EX_USAGE, "-%c %s: %s", ch, optarg, why);
}

static int64_t
number(const char *option, int64_t max)
{
	const char	*why;
	int64_t		 n;

	if (opt_int(optarg, 1, max, &n, &why) == -1)
		errx(EX_USAGE, "%s %s: %s", option, optarg, why);
	return n;
}

/* All that can be checked without a server is checked before. */
static void
set_up(struct consumer *c)
{
	struct rlimit	 files;

	c->feed.type = sel.type;
	c->feed.prefix = sel.prefix;
	c->feed.json = c->batch > 0;
	if (opt_max_payload(&c->max_payload) == -1)
		errx(EX_USAGE, "HOOK_MAX_PAYLOAD: not a size in bytes");
	if (!dry && (c->path = handler_find(c->argv[0])) == NULL)
		err(EX_UNAVAILABLE, "%s", c->argv[0]);
	consumer_init(c);
	follow_signals();
	if (dry)
		return;
	if (guard_start(&c->guard) == -1 ||
	    (c->ended_fd = handler_signals()) == -1)
		err(EX_TEMPFAIL, NULL);

	/* For our ends of many pipes; handlers get what we were given. */
	if (getrlimit(RLIMIT_NOFILE, &files) == 0 &&
	    files.rlim_cur < 3 * c->jobs + 64) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
}

static int
dry_run(struct consumer *c)
{
	struct db	*db = &c->feed.db;

	c->feed.follow = 0;
	if (feed_open(&c->feed) == -1 || feed_due(&c->feed) == -1)
		return db_exitcode(db);
	if (c->feed.no_source)
		return 1;
	printf("{\"due\":%s,\"later\":%s,\"leased\":%s}\n", db_col(db, 0, 1),
	    db_col(db, 0, 2), db_col(db, 0, 3));
	return fflush(stdout) == EOF ? EX_TEMPFAIL : EX_OK;
}

static int
run(struct consumer *c)
{
	struct look	 l = { .poll_ms = poll_ms };
	int64_t		 now_ms;
	int		 rc;

	for (;;) {
		now_ms = follow_now_ms();
		if (follow_stop)
			consumer_stop(c, follow_stop > 1 ? 3 : 1, now_ms);
		consumer_serve(c, now_ms);
		rc = step_db(c, &l, now_ms);
		if (rc != EX_OK && rc != EX_TEMPFAIL)
			return rc;
		if (rc == EX_TEMPFAIL && !c->feed.follow && !c->broken)
			c->broken = rc;	/* what runs may still be acked */
		if (c->held == 0 && (c->stopping || l.drained || c->broken))
			return c->broken;
		if (given_up(c, now_ms))
			return EX_TEMPFAIL;
		wait_some(c, &l, now_ms);
	}
}

/* Nothing runs, and the database is away for too long to tell it. */
static int
given_up(const struct consumer *c, int64_t now_ms)
{
	if (c->life.lost_at_ms == 0 || c->running.n > 0)
		return 0;
	return (c->stopping && now_ms >= c->stop_ms + LAST_WORDS_MS) ||
	    (c->broken && now_ms >= c->life.lost_at_ms + c->feed.lease_ms);
}

/* All that the database is needed for; EX_OK, or why it was not done. */
static int
step_db(struct consumer *c, struct look *l, int64_t now_ms)
{
	size_t	 room;

	if (now_ms < l->pause_ms)
		return EX_OK;
	if ((c->feed.db.conn == NULL && connect_db(c, l) == -1) ||
	    consumer_settle(c, now_ms) == -1)
		return c->feed.no_source ? 1 : bad(c, l);
	if ((c->feed.follow && db_notified(&c->feed.db)) ||
	    (!c->feed.follow && c->held == 0))
		l->at_ms = 0;
	room = consumer_start(c, now_ms);
	if (room > 0 && !c->broken && now_ms >= l->at_ms &&
	    find_work(c, l, room) == -1)
		return bad(c, l);
	consumer_start(c, now_ms);
	if (c->feed.follow && (now_ms >= l->tick_ms || follow_hup)) {
		if (feed_tick(&c->feed) == -1)
			return bad(c, l);
		l->tick_ms = now_ms + TICK_MS;
	}
	return EX_OK;
}

static int
connect_db(struct consumer *c, struct look *l)
{
	if (feed_open(&c->feed) == -1)
		return -1;
	if (c->feed.no_source && c->life.lost_at_ms == 0)
		return -1;
	c->feed.no_source = 0;
	follow_back(&c->life);
	l->want_head = 1;
	l->at_ms = l->tick_ms = 0;
	c->renew_ms = 0;
	return 0;
}

/* It failed: try again, after a pause, where that may help. */
static int
bad(struct consumer *c, struct look *l)
{
	int	 code = db_exitcode(&c->feed.db);

	if (code == EX_DATAERR && c->life.lost_at_ms == 0 &&
	    c->feed.path != NULL)
		code = EX_USAGE;	/* -k, as the server read it */
	feed_error(&c->feed);
	strlcpy(c->why, db_error(&c->feed.db), sizeof(c->why));
	if (code == EX_TEMPFAIL)
		l->pause_ms = follow_now_ms() +
		    follow_lost(&c->life, db_error(&c->feed.db));
	return code;
}

/*
 * Look from where the last look ended, and now and then from the head, where
 * rows that committed late and leases that ran out are.
 */
static int
find_work(struct consumer *c, struct look *l, size_t room)
{
	struct parcel	*list;
	int64_t		 start_ms = follow_now_ms(), rest_ms;
	int		 head, n;

	head = l->want_head || start_ms >= l->head_by_ms;
	l->want_head = 0;
	n = feed_claim(&c->feed, room * (c->batch > 0 ? c->batch : 1), head,
	    &list);
	if (n == -1)
		return -1;
	follow_back(&c->life);
	if (head) {
		rest_ms = (follow_now_ms() - start_ms) * HEAD_SHARE;
		if (rest_ms > HEAD_MAX_MS)
			rest_ms = HEAD_MAX_MS;
		l->head_at_ms = start_ms + rest_ms;
		l->head_by_ms = start_ms + MAX(rest_ms, HEAD_MIN_MS);
	}
	l->drained = 0;
	l->at_ms = 0;
	if (n == 0 && !c->feed.more)
		return found_none(c, l, head, start_ms);
	l->work_ms = start_ms;
	if (c->renew_ms == 0 || c->held == 0)
		c->renew_ms = start_ms + c->feed.lease_ms / 3;
	if (consumer_take(c, list) == -1)
		log_event(LOG_WARNING, "out of memory", NULL);
	return c->feed.asleep ? feed_sleep(&c->feed, 0) : 0;
}

static int
found_none(struct consumer *c, struct look *l, int head, int64_t now_ms)
{
	if (!c->feed.follow) {
		l->drained = head && c->held == 0;
		l->want_head = !head && c->held == 0;
		l->at_ms = l->want_head || l->drained ? 0 :
		    now_ms + l->poll_ms;
		return 0;
	}
	if (!head && now_ms >= l->head_at_ms) {
		l->want_head = 1;
		return 0;
	}
	if (now_ms - l->work_ms < FAST_FOR_MS) {
		l->at_ms = now_ms + FAST_POLL_MS;
		return 0;
	}
	if (!c->feed.asleep)	/* and look once more */
		return feed_sleep(&c->feed, 1);
	l->at_ms = now_ms + l->poll_ms;
	return 0;
}

static void
wait_some(struct consumer *c, struct look *l, int64_t now_ms)
{
	int64_t	 until_ms = now_ms + 1000;
	int	 rc = 0;

	if (now_ms < l->pause_ms)
		until_ms = l->pause_ms;
	else if (c->outcomes != NULL || c->printed.first != NULL)
		return;
	else if (!c->broken && l->at_ms < until_ms &&
	    consumer_start(c, now_ms) > 0)
		until_ms = l->at_ms;
	if (c->held > 0 && c->renew_ms < until_ms && now_ms >= l->pause_ms)
		until_ms = c->renew_ms;
	if (until_ms < now_ms)
		until_ms = now_ms;
	if (consumer_wait(c, db_socket(&c->feed.db), 0,
	    (int)(until_ms - now_ms)) && c->feed.db.conn != NULL)
		rc = db_wait(&c->feed.db, 0);
	l->at_ms = rc == 1 ? 0 : l->at_ms;
	if (rc == -1)
		bad(c, l);
}

static _Noreturn void
usage(int status)
{
	fprintf(status == EX_OK ? stdout : stderr, "usage: %s [-e | --sql]"
	    " [-fhnvV] [-S pauses] [-d conninfo] [-g grace] [-i poll]"
	    " [-j jobs] [-k jsonpath] [-l lease] [-t type] [-w timeout]"
	    " [-x max-failures] [--batch n] -s source -- command"
	    " [argument ...]\n", getprogname());
	exit(status);
}
