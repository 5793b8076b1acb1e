/*
 * hook-fanout: turn each committed outbox row into one delivery per matching
 * subscription.
 *
 * All of it is one statement (sql/query/fanout.sql), so a kill at any moment
 * leaves an event either waiting or fanned out, never half.  Only one
 * hook-fanout works at a time; others stand by.
 *
 * "fanned_out_at is null" is the truth about what waits.  A cursor on the id
 * only saves walking over index entries of rows that are done but can't be
 * vacuumed while somebody holds an old snapshot; a look from the head, which
 * finds rows that committed late, follows as often as it is cheap.  Likewise
 * only a look from the head, and what follows it until nothing is found, goes
 * through all days of the outbox.
 */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "config.h"
#include "db.h"
#include "db_async.h"
#include "follow.h"
#include "hide.h"
#include "log.h"
#include "notify.h"
#include "opt.h"
#include "stmt.h"

#define LOCK_TIMEOUT	"10s"	/* then it is told that somebody locks */
#define WORK_MEM	"64MB"	/* sorts 100,000 deliveries of one event */
#define DELIVERIES_AIM	20000	/* a statement: keeps it about 0.2 s */
#define FAST_POLL_MS	5
#define FAST_FOR_MS	200	/* after work was found, before sleeping */
#define NEAR		"1 day"	/* created so long ago, or ahead, */
#define ANY_TIME	NULL	/* or by a clock or a client that is wrong */
#define HEAD_SHARE	20	/* a look from the head costs <= 1/20 of time */
#define HEAD_MAX_MS	10000	/* but is never put off for longer */
#define HEAD		INT64_MIN	/* a cursor below all ids */
#define SKIPPED		16	/* told of once: so many */
#define SEEN_MS		5000	/* how often we say that we live, */
#define BEAT_MS		60000	/* and see to the minute's sample */

static const char	*conninfo;
static int64_t		 batch_max = 500, poll_ms = 1000;

struct fanout {
	struct db	 db;
	struct follow	 life;
	int64_t		 cursor, last, batch;
	int64_t		 head_at_ms;	/* next look from the head, if idle */
	int64_t		 head_by_ms;	/* at the latest */
	int		 want_head, looked_head;
	int		 wide;		/* the last look was at all days */
	int		 asleep;	/* we told the producers so */
	char		 name[112];	/* in webhook_workers */
	int64_t		 seen_at_ms, beat_at_ms;	/* next time */
	int64_t		 skipped[SKIPPED];	/* outbox ids */
	size_t		 nskipped;
};

/* What one look at the outbox found. */
enum look { FOUND, NOTHING, BUSY, FAILED };

static int	 beat(struct fanout *, int);
static int	 connect_db(struct fanout *);
static int	 dry_run(struct fanout *);
static enum look look(struct fanout *);
static int	 event_is_bad(const struct db *);
static void	 lose(struct fanout *);
static int	 run(struct fanout *, int);
static int	 skip(struct fanout *);
static int	 skipped(struct fanout *, int64_t);
static int	 sleep_until_told(struct fanout *);
static int	 tell_sleep(struct fanout *, int);
static _Noreturn void usage(int);

int
main(int argc, char *argv[])
{
	struct fanout	 f = { 0 };
	const char	*why;
	int		 ch, follow = 0, dry = 0, rc;

	while ((ch = getopt(argc, argv, "Vb:d:fhi:n")) != -1)
		switch (ch) {
		case 'V':
			puts(VERSION);
			return EX_OK;
		case 'b':
			if (opt_int(optarg, 1, 100000, &batch_max, &why) == -1)
				errx(EX_USAGE, "-b %s: %s", optarg, why);
			break;
		case 'd':
			conninfo = hide_arg(optarg);
			break;
		case 'f':
			follow = 1;
			break;
		case 'h':
			usage(EX_OK);
		case 'i':
			if (opt_duration(optarg, 10, 60000, &poll_ms,
			    &why) == -1)
				errx(EX_USAGE, "-i %s: %s", optarg, why);
			break;
		case 'n':
			dry = 1;
			break;
		default:
			usage(EX_USAGE);
		}
	if (optind != argc)
		usage(EX_USAGE);

	follow_signals();
	f.db.wait = follow_db_wait;
	f.batch = 1;
	rc = dry ? dry_run(&f) : run(&f, follow);
	if (rc != EX_OK && follow_code == EX_OK)
		log_event(LOG_ERROR, "stopped", "reason", db_error(&f.db),
		    NULL);
	db_close(&f.db);
	return rc;
}

static int
dry_run(struct fanout *f)
{
	if (connect_db(f) == -1 ||
	    db_run(&f->db, &stmt_fanout_waiting, DB_ARGS("0", ANY_TIME)) == -1)
		return db_exitcode(&f->db);
	printf("{\"waiting\":%s}\n", db_col(&f->db, 0, 0));
	return fflush(stdout) == EOF ? EX_TEMPFAIL : EX_OK;
}

/* Until the outbox is empty; with follow, until a signal. */
static int
run(struct fanout *f, int follow)
{
	int64_t	 work_at_ms = follow_now_ms();

	while (!follow_stop) {
		notify_alive(follow_now_ms());
		if (f->db.conn == NULL && connect_db(f) == -1) {
			if (!follow || db_exitcode(&f->db) != EX_TEMPFAIL)
				return db_exitcode(&f->db);
			lose(f);
			db_close(&f->db);
			continue;
		}
		if (beat(f, follow) == -1) {
			if (!follow)
				return db_exitcode(&f->db);
			lose(f);
			continue;
		}
		switch (look(f)) {
		case FOUND:
			work_at_ms = follow_now_ms();
			if (f->asleep && tell_sleep(f, 0) == -1)
				lose(f);
			break;
		case FAILED:
			if (event_is_bad(&f->db)) {
				if (skip(f) == 0)
					break;
				return db_exitcode(&f->db);
			}
			if (!follow || db_exitcode(&f->db) != EX_TEMPFAIL)
				return db_exitcode(&f->db);
			lose(f);
			break;
		case BUSY:
			follow_pause(follow ? poll_ms : FAST_POLL_MS);
			break;
		case NOTHING:
			if (!f->looked_head && (follow ?
			    follow_now_ms() >= f->head_at_ms :
			    f->nskipped == 0)) {
				f->want_head = 1;
				break;
			}
			if (!follow)
				return EX_OK;
			if (follow_now_ms() - work_at_ms < FAST_FOR_MS)
				follow_pause(FAST_POLL_MS);
			else if (sleep_until_told(f) == -1)
				lose(f);
		}
	}
	notify_stopping();
	/* If that fails it costs producers a little, no more. */
	if (f->db.conn != NULL && (!f->asleep || tell_sleep(f, 0) != -1) &&
	    db_run(&f->db, &stmt_worker_gone, DB_ARGS(f->name)) == -1)
		return follow_code;
	return follow_code;
}

/* We live.  The fan-out does not wait for a statistic that fails. */
static int
beat(struct fanout *f, int follow)
{
	int64_t	 now_ms = follow_now_ms();

	if (follow && now_ms >= f->seen_at_ms) {
		if (*f->name == '\0')
			follow_name(f->name, sizeof(f->name));
		f->seen_at_ms = now_ms + SEEN_MS;
		if (db_run(&f->db, &stmt_worker_seen, DB_ARGS(f->name,
		    "hook-fanout")) == -1)
			return -1;
	}
	if (now_ms < f->beat_at_ms && !follow_hup)
		return 0;
	follow_hup = 0;
	f->beat_at_ms = now_ms + BEAT_MS;
	if (db_run(&f->db, &stmt_beat, DB_ARGS("hook-fanout")) == -1)
		return db_lost(&f->db) ? -1 : 0;
	follow_beat(&f->db);
	return 0;
}

static int
connect_db(struct fanout *f)
{
	if (db_open(&f->db, conninfo, "hook-fanout") == -1)
		return -1;
	if (db_plan_by_index(&f->db) == -1 ||
	    db_exec(&f->db, "set lock_timeout = '" LOCK_TIMEOUT "';"
	    " set work_mem = '" WORK_MEM "'") == -1 ||
	    db_listen(&f->db, "fanout") == -1)
		return -1;
	f->cursor = HEAD;
	f->asleep = 0;
	f->seen_at_ms = 0;
	return 0;
}

/* Away, or it refuses to work: wait, and try again. */
static void
lose(struct fanout *f)
{
	int64_t	 ms = follow_lost(&f->life, db_error(&f->db));

	if (db_lost(&f->db))
		db_close(&f->db);
	follow_pause(ms);
}

/* One batch, from the cursor on. */
static enum look
look(struct fanout *f)
{
	char	 cursor[24], batch[24];
	int64_t	 start_ms = follow_now_ms(), events, made, cost_ms;

	f->looked_head = f->want_head || f->cursor == HEAD ||
	    start_ms >= f->head_by_ms;
	f->want_head = 0;
	f->wide |= f->looked_head;
	if (f->looked_head) {
		f->cursor = HEAD;
		f->head_by_ms = start_ms + HEAD_MAX_MS;
	}
	snprintf(cursor, sizeof(cursor), "%" PRId64, f->cursor);
	snprintf(batch, sizeof(batch), "%" PRId64, f->batch);
	if (db_run(&f->db, &stmt_fanout, DB_ARGS(cursor, batch,
	    f->wide ? ANY_TIME : NEAR)) == -1)
		return FAILED;
	follow_back(&f->life);
	if (*db_col(&f->db, 0, 0) == 't')
		return BUSY;
	events = db_int(&f->db, 0, 1);
	made = db_int(&f->db, 0, 2);
	cost_ms = (follow_now_ms() - start_ms) * HEAD_SHARE;
	if (f->looked_head)
		f->head_at_ms = start_ms +
		    (cost_ms > HEAD_MAX_MS ? HEAD_MAX_MS : cost_ms);
	if (events == 0) {
		f->wide = 0;
		f->cursor = f->last;
		return NOTHING;
	}
	f->cursor = db_int(&f->db, 0, 3);
	if (f->last < f->cursor)
		f->last = f->cursor;

	/* Grow, but keep a statement short where many subscriptions match. */
	f->batch *= 2;
	if (made > 0 && f->batch > DELIVERIES_AIM * events / made)
		f->batch = DELIVERIES_AIM * events / made;
	if (f->batch > batch_max)
		f->batch = batch_max;
	if (f->batch < 1)
		f->batch = 1;
	return FOUND;
}

/* Would others be fanned out, and this one never? */
static int
event_is_bad(const struct db *db)
{
	return db_exitcode(db) == EX_DATAERR ||
	    strncmp(db->sqlstate, "XX", 2) == 0;
}

/*
 * A batch failed, and would again: find the event that does it by going one
 * at a time, and pass over it, so that the others are not held up.
 */
static int
skip(struct fanout *f)
{
	char	 cursor[24], why[sizeof(f->db.why)];
	int64_t	 id;

	if (f->batch > 1) {
		f->batch = 1;
		return 0;
	}
	snprintf(why, sizeof(why), "%s", db_error(&f->db));
	snprintf(cursor, sizeof(cursor), "%" PRId64, f->cursor);
	if (db_run(&f->db, &stmt_fanout_waiting, DB_ARGS(cursor,
	    f->wide ? ANY_TIME : NEAR)) == -1)
		return -1;
	if (db_col(&f->db, 0, 1) == NULL)
		return 0;		/* somebody saw to it */
	id = db_int(&f->db, 0, 1);
	if (!skipped(f, id))
		log_event(LOG_ERROR, "event can't be fanned out, left waiting",
		    "event_id", db_col(&f->db, 0, 2), "reason", why, NULL);
	f->cursor = id;
	if (f->last < id)
		f->last = id;
	f->head_at_ms = follow_now_ms() + HEAD_MAX_MS;
	return 0;
}

/* Were we here before?  So a bad event is told of once, not every time. */
static int
skipped(struct fanout *f, int64_t id)
{
	size_t	 i;

	for (i = 0; i < f->nskipped && i < SKIPPED; i++)
		if (f->skipped[i] == id)
			return 1;
	f->skipped[f->nskipped++ % SKIPPED] = id;
	return 0;
}

/*
 * Say that we sleep, look once more (an event may have been committed before
 * the flag was seen), and wait for a notification or the next poll.
 */
static int
sleep_until_told(struct fanout *f)
{
	if (!f->asleep)
		return tell_sleep(f, 1);
	return db_wait(&f->db, notify_wait(poll_ms, follow_now_ms())) == -1 ?
	    -1 : 0;
}

static int
tell_sleep(struct fanout *f, int asleep)
{
	f->asleep = asleep;
	return db_run(&f->db, &stmt_wakeup_set,
	    DB_ARGS("fanout", asleep ? "t" : "f"));
}

static _Noreturn void
usage(int status)
{
	fprintf(status == EX_OK ? stdout : stderr, "usage: %s [-fhnV]"
	    " [-b batch] [-d conninfo] [-i poll]\n", getprogname());
	exit(status);
}
