/*
 * await.h - wait until every delivery of an event is final.
 *
 * Asks with growing pauses, and outlives a database that goes away: it
 * connects again until the deadline.
 */
#ifndef AWAIT_H
#define AWAIT_H

#include <stdint.h>

#include "db.h"

enum await {
	AWAIT_DELIVERED,	/* all of them */
	AWAIT_NOBODY,		/* fanned out, and nobody matched */
	AWAIT_NOT,		/* all final, not all delivered */
	AWAIT_PENDING,		/* the deadline came first */
	AWAIT_WAITING,		/* and it was not even fanned out */
	AWAIT_FAILED		/* db_error() says why */
};

/*
 * Wait until deadline_ms (CLOCK_MONOTONIC).  db's last result is then a row
 * for each delivery: id, event_id, subscription_id, state, attempts,
 * last_status, last_error; of no use after AWAIT_FAILED.  db must be open;
 * conninfo and tool are those that db_open() was given.
 */
enum await await_event(struct db *, const char *conninfo, const char *tool,
	    const char *event_id, int64_t deadline_ms);

int64_t	 await_deadline(int64_t timeout_ms);

/* In words, and as an exit status: 0 delivered, 1 not, 75 not yet. */
const char *await_phrase(enum await, const struct db *);
int	 await_exitcode(enum await, const struct db *);

#endif /* AWAIT_H */
