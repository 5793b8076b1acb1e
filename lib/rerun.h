/*
 * rerun.h - long replays, as rows of webhook_jobs: counted, paced, and resumed
 * where they stopped.
 *
 * A job moves its cursor in the statement that makes the deliveries, and only
 * from where it was read.  So a process killed at any moment leaves no row
 * twice and none out, and two on one job can't both advance it.  What the
 * replay itself makes lies beyond the job's last id.
 *
 * Ownership: a struct rerun owns its strings until rerun_free().
 * Errors: -1, db_error() and db_exitcode() say why.
 */
#ifndef RERUN_H
#define RERUN_H

#include <stdint.h>

#include "db.h"
#include "select.h"

/* The parts of its query, each NULL or the text of an SQL value. */
enum rerun_part {
	RERUN_STATES, RERUN_EVENT, RERUN_SUBSCRIPTION, RERUN_TENANT, RERUN_TYPE,
	RERUN_PREFIX, RERUN_SINCE, RERUN_UNTIL, RERUN_FORCE, RERUN_LAST,
	RERUN_PARTS
};

struct rerun {
	char	 id[24];	/* "" before rerun_create(), or in a dry run */
	int	 outbox;	/* makes deliveries of events, or of others */
	char	*part[RERUN_PARTS];
	char	 rate[32];	/* deliveries a second, or "" */
	int64_t	 cursor, done, total, made;
	int	 running;
	int64_t	 step_seen, step_made;	/* of the last step */
	char	 pruned[256];	/* what is asked for and gone, or "" */
};

/* Make one of options.  -1: out of memory. */
int	 rerun_init(struct rerun *, const struct select *, int outbox,
	    int force) DB_CHECKED;

/* Is it asked for what was pruned?  Before rerun_count(). */
int	 rerun_pruned(struct rerun *, struct db *) DB_CHECKED;

/*
 * Count what there is to do: total and the last id.  The last result is of
 * replay-count (or replay-events-count).
 */
int	 rerun_count(struct rerun *, struct db *) DB_CHECKED;

/* Store it, with an audit row. */
int	 rerun_create(struct rerun *, struct db *, const char *rate,
	    const char *actor, const char *reason) DB_CHECKED;

/* Read it back by id: 1, or 0 where there is none. */
int	 rerun_load(struct rerun *, struct db *, const char *id) DB_CHECKED;

/* Keep other processes off it while connected: 1, or 0 where one is on it. */
int	 rerun_claim(struct db *, const char *id) DB_CHECKED;

/*
 * Plans that suit its statements: deliveries by index; events with time that
 * grows no faster than they do.
 */
int	 rerun_plan(const struct rerun *, struct db *) DB_CHECKED;

/*
 * How many to look at next, so that no more than about most deliveries are
 * made at once (0: as is good for the server).  A single event may make more.
 */
int64_t	 rerun_limit(const struct rerun *, double most);

/*
 * Look at up to limit deliveries (or events).  1: step_seen and step_made say
 * how many; 0: there are no more, or the job does not run any longer.
 * Without an id nothing is changed, and step_made is what would be made.
 */
int	 rerun_step(struct rerun *, struct db *, int64_t limit) DB_CHECKED;

/* It is finished: 1, or 0 where somebody cancelled it. */
int	 rerun_finish(struct rerun *, struct db *) DB_CHECKED;

/* Cancel a running one: 1, or 0 where there is none. */
int	 rerun_cancel(struct db *, const char *id, const char *actor,
	    const char *reason) DB_CHECKED;

void	 rerun_free(struct rerun *);

#endif /* RERUN_H */
