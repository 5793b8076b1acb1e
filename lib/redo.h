/*
 * redo.h - work through deliveries by id, a batch at a time: put them back,
 * send them again, or drop them; likewise through messages of the inbox.
 *
 * Each id is judged alone: what may not be done is left out, and told with
 * its reason.  A batch is one statement, done as a whole or not at all.
 *
 * Ownership: a struct redo owns its buffers until redo_free(), and points at
 * the caller's strings and ids.
 * Errors: -1, db_error() and db_exitcode() say why.
 */
#ifndef REDO_H
#define REDO_H

#include <stdint.h>

#include "buf.h"
#include "db.h"
#include "ids.h"

#define REDO_BATCH	1000	/* deliveries a statement, at most */

/* What is wanted; the words that replay-judge.sql knows. */
#define REDO_RETRY	"retry"		/* only what is dead */
#define REDO_DROP	"drop"
#define REDO_REPLAY	"replay"	/* says how to get the rest, too */
#define REDO_FORCE	"force"		/* delivered and discarded ones, too */

struct redo {
	const char	*what;
	const char	*tool;
	const char	*actor;
	const char	*reason;	/* or NULL */
	int		 dry;		/* change nothing */
	int		 inbox;		/* ids are messages: retry, drop */
	size_t		 batch;		/* at most REDO_BATCH */
	struct ids	*ids;
	size_t		 from;		/* next of them */
	int		 refused;	/* of this batch */
	struct buf	 asked, done;	/* of this batch, as SQL arrays */
};

/* Begin: ids are sorted, repeats removed.  -1: out of memory. */
int	 redo_start(struct redo *) DB_CHECKED;

/*
 * The next batch.  1: the last result holds what was done (dry: what would
 * be): id, event_id, subscription_id, state, replay_of.  0: there is none.
 */
int	 redo_next(struct redo *, struct db *) DB_CHECKED;

/*
 * What was refused of that batch: returns how many; the last result holds
 * id, event_id, subscription_id, state, and redo_why() says why.
 */
int	 redo_refused(struct redo *, struct db *) DB_CHECKED;
const char *redo_why(const struct db *, int row);

void	 redo_free(struct redo *);

/*
 * Plans by index for batches of ids, whatever the statistics say, made anew
 * for each batch, so that partitions that can't hold a row are left out.
 */
int	 redo_plan(struct db *) DB_CHECKED;

/*
 * db_run() for statements that move rows between partitions: of two at once
 * one fails with a serialization error, and is run again here.
 */
int	 redo_run(struct db *, const struct stmt *, size_t narg,
	    const char *const *arg) DB_CHECKED;

/*
 * Wait until made deliveries since start_ms (CLOCK_MONOTONIC) are no more
 * than rate a second; 0 is no limit.  A signal ends the wait.
 */
void	 redo_pace(double rate, int64_t made, int64_t start_ms);

#endif /* REDO_H */
