/*
 * keep.h - how long hook-prune keeps what, as an operator types it.  Pure.
 */
#ifndef KEEP_H
#define KEEP_H

#include <stdint.h>

enum keep_what { KEEP_OUTBOX, KEEP_DONE, KEEP_DEAD, KEEP_ATTEMPTS, KEEP_KEYS,
	KEEP_INBOX, KEEP_JOBS, KEEP_AUDIT, KEEP_KINDS };

struct keep {
	int64_t	 ms[KEEP_KINDS];	/* 0: for ever */
	char	 why[192];
};

/* 30 days; keys 7; audit for ever. */
void	 keep_init(struct keep *);

/*
 * Take durations with commas between: "14d" is for everything but the audit,
 * "outbox=14d" for one kind.  "done" is for dead deliveries too, until "dead"
 * is given.  -1 with why set: one is no duration.
 */
int	 keep_take(struct keep *, const char *);

/*
 * After all were taken: would they break a promise?  -1 with why set.  Keys
 * and messages are remembered for 7 days at least, so that what is sent twice
 * is known; a delivery stays as long as its event, since hook-replay --fanout
 * makes what is missing.
 */
int	 keep_check(struct keep *);

#endif /* KEEP_H */
