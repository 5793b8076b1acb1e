/*
 * turn.h - whose turn is it?  A program's slots are shared by the time they
 * are held, not by the number of requests: among the lanes that may send now,
 * those go first that will have held slots for the shortest time.  A lane
 * that had nothing to send has a little credit, and no more.  So an endpoint
 * that answers at once gets the next slot that comes free, however many
 * others hold theirs until a timeout.
 *
 * Lanes whose last attempt failed hold half of the slots at most; with those
 * that had no answer yet since they were claimed, three quarters.
 *
 * Pure, like lane.h; times are CLOCK_MONOTONIC milliseconds.
 */
#ifndef TURN_H
#define TURN_H

#include <stddef.h>
#include <stdint.h>

#include "lane.h"

struct turn {
	int64_t	 floor_ms;	/* the least use of a lane that has waited */
	int64_t	 least_ms;	/* of one that waits now, after its request */
	size_t	 failing, unsure;	/* slots that such lanes hold */
	size_t	 failing_max, unsure_max;
};

/*
 * Look at all lanes, before giving each of them at most one slot; again after
 * that.  transform: a transform can be started now.
 */
void	 turn_begin(struct turn *, struct lane *, size_t slots,
	    int transform, int64_t now_ms);

/* May this lane have one? */
int	 turn_may(const struct turn *, const struct lane *);

/* It has got one. */
void	 turn_took(struct turn *, const struct lane *);

/* Another lane goes first next time. */
void	 turn_rotate(struct lane **);

#endif /* TURN_H */
