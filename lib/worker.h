/*
 * worker.h - what a delivery worker does between its waits: begin requests
 * and transforms, take what came of them, stop.  It joins the store (the
 * database), the sender (the endpoints) and the lanes (the rules).
 *
 * Times are CLOCK_MONOTONIC milliseconds.
 */
#ifndef WORKER_H
#define WORKER_H

#include "send.h"
#include "store.h"
#include "transform.h"
#include "turn.h"

struct worker {
	struct store	 store;
	struct sender	*sender;
	struct transforms transforms;
	struct turn	 turn;
	struct delivery	*made;		/* transformed, waiting for a slot */
	int64_t		 grace_ms, stop_ms;
	size_t		 max_payload;
	int		 verbose, aborted;
};

/* Answers, and what the jq children made. */
void	 worker_take(struct worker *, int64_t now_ms);

/* Fill the free slots. */
void	 worker_launch(struct worker *, int64_t now_ms);

/*
 * After a signal: nothing new is begun; what is under way may finish until
 * the grace is over, or hurry is set, and is cut off then.
 */
void	 worker_stop(struct worker *, int hurry, int64_t now_ms);

#endif /* WORKER_H */
