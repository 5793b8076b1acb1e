/*
 * lane.h - a lane in a worker's memory, and its rules.  Pure: no database, no
 * network; times are CLOCK_MONOTONIC milliseconds.
 *
 * A lane is one subscription's line of due deliveries.  While this worker
 * owns it, it is the only one sending to that subscription, so the rules here
 * (cap, rate, hold, breaker) hold everywhere.
 *
 * Ownership: a lane owns its sub and its deliveries; lane_drop() and
 * lane_free() free them.
 */
#ifndef LANE_H
#define LANE_H

#include <stddef.h>
#include <stdint.h>

#include "delivery.h"
#include "retry.h"
#include "sub.h"

/* What the tenant _ops is to hear, or the database to know. */
enum health { HEALTH_NONE, HEALTH_FIRST, HEALTH_WELL, HEALTH_FAILING,
	HEALTH_DISABLED, HEALTH_RECOVERED };

struct lane {
	struct lane	*next;
	int64_t		 id, fence;
	struct sub	*sub;		/* NULL until loaded */
	struct deliveries all;
	struct delivery	*first, *last;	/* the queue */
	size_t		 queued, out, done;
	int64_t		 lease_ms;	/* nothing is started after this */
	int64_t		 since_ms;	/* claimed */
	int64_t		 used_ms, cost_ms;	/* slot time: see turn.h */
	int		 idle;		/* had nothing to send */
	/* paging */
	int64_t		 after_at;	/* microseconds since 2000-01-01 */
	int64_t		 after_id;	/* or order key */
	int64_t		 head_ms;	/* next look from the head */
	int		 dry;		/* the last page was its last */
	int64_t		 dry_ms;	/* since when */
	int		 from_head;	/* the page under way is */
	size_t		 asked, bytes;	/* of the last page */
	size_t		 rows, fresh;	/* ... in all, and new to us */
	/* rules */
	int64_t		 hold_ms;	/* nothing is sent before; 0: none */
	int		 failures, open;
	int		 failing;	/* no success since a failure */
	int		 failing_told;	/* what the database knows of that */
	int64_t		 told_ms;
	double		 tokens;
	int64_t		 tokens_ms;
	/* what is to be written or done next */
	int		 taken, reload, dirty, expire, yield;
	int		 stale;		/* not ours any more */
	int		 resting;	/* being given back */
	enum health	 health[4];
	const char	*disable_why;
};

#define LANE_AFTER_AT_NONE	(INT64_MIN + 1)

void	 lane_init(struct lane *, int64_t id, int64_t fence, int64_t now_ms);
void	 lane_free(struct lane *);

/* Take settings just read; resumed by somebody is healthy. */
void	 lane_settings(struct lane *, struct sub *);

/* Forget what waits (it is still pending in the database). */
void	 lane_drop(struct lane *);

/* Add at the queue's end; 0 if that delivery is in memory already. */
int	 lane_push(struct lane *, struct delivery *);

/* The next to send, now OUT; NULL if there is none or the rules forbid it. */
struct delivery *lane_pop(struct lane *, int64_t now_ms);

/* Milliseconds until the rules allow the next; -1: not by waiting. */
int64_t	 lane_wait(const struct lane *, int64_t now_ms);

/*
 * An outcome came for one that was OUT: it is DONE, and failures, breaker,
 * hold and health follow.  sent: a request was really made.
 */
void	 lane_outcome(struct lane *, struct delivery *, enum retry_class,
	    int sent, int64_t after_ms, int64_t now_ms, double dice);

/*
 * Does the outcome disable the subscription: 410, or 5 days of failing
 * without one success?  Then it is noted, and nothing more is sent.
 */
void	 lane_disable(struct lane *, enum retry_class, int sent,
	    int64_t now_s);

/* Remember a health change; take the next one. */
void	 lane_note(struct lane *, enum health);
enum health lane_next_note(struct lane *);

#endif /* LANE_H */
