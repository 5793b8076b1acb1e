/*
 * part.h - partitions made, taken out and dropped while others work.
 *
 * What locks others out is given little time, and tried again after a pause.
 * Each call is a transaction or two of its own; killed between them, it
 * leaves what part_drop() finishes.
 *
 * Ownership: a struct part points at the caller's strings.
 * Errors: PART_FAILED, db_error() and db_exitcode() say why.
 */
#ifndef PART_H
#define PART_H

#include <stdint.h>

#include "db.h"

#define PART_TRIES	10	/* to get a lock */

enum part_done {
	PART_FAILED = -1,
	PART_LEFT,		/* not done: part_why() */
	PART_DONE,
	PART_GONE		/* nothing to do: somebody was faster */
};

struct part {
	struct db	*db;
	int64_t		 wait_ms;	/* nobody is to wait longer for us */
	int		 tries;		/* PART_TRIES; few once all failed */
	const char	*actor, *reason;
	int		 needed;	/* LEFT since it is needed, for good */
	int64_t		 rows;		/* of one that was made or dropped */
	char		 why[256];
};

/*
 * Make a day's partition of parent.  Its rows in the default partition are
 * copied before anything is locked; with the lock come those that are new.
 */
enum part_done part_make(struct part *, const char *parent, const char *day)
	    DB_CHECKED;

/* Take one out, unless it is needed; with an audit row. */
enum part_done part_detach(struct part *, const char *name) DB_CHECKED;

/* Drop one that was taken out, count its rows; with an audit row. */
enum part_done part_drop(struct part *, const char *name) DB_CHECKED;

/* Wait for locks for so long, and work for so long; 0 is no limit. */
int	 part_limit(struct db *, int64_t lock_ms, int64_t all_ms) DB_CHECKED;

/* Did the last statement fail since somebody was in the way? */
int	 part_busy(const struct db *);

#endif /* PART_H */
