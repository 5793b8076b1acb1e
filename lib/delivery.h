/*
 * delivery.h - one delivery in a worker's memory.
 *
 * It is in exactly one place: waiting (in its lane's queue), out (a request
 * or a transform of it runs), or done (its outcome is not yet written).
 * Its lane owns it; delivery_free() takes it out of there.
 */
#ifndef DELIVERY_H
#define DELIVERY_H

#include <sys/tree.h>

#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "retry.h"

enum place { WAITING, OUT, DONE };

struct delivery {
	RB_ENTRY(delivery) link;	/* all of the lane's */
	struct delivery	*after;		/* queue, or the unwritten ones */
	struct lane	*lane;
	enum place	 place;
	int64_t		 id;
	char		 event_id[65];
	char		*event_type;
	int		 attempts;	/* before this one */
	int		 round_start;
	char		*head;		/* envelope up to payload, or NULL */
	char		*body;		/* whole body; or a transform's input */
	size_t		 body_len;
	int		 raw_input;	/* body is a transform's input still */
	struct buf	 text;		/* header lines of the request */
	int64_t		 started_ms;	/* 0: nothing was sent */
	int		 probe;
	/* the outcome */
	const char	*outcome;	/* delivered, later, failed, ... */
	int		 status;	/* 0: none */
	int64_t		 pause_ms;	/* -1: until the deadline */
	char		*error;
	unsigned char	*answer;	/* first bytes of its body */
	size_t		 answer_len;
	int		 duration_ms;
	int64_t		 ended_ms;
};

/* By id. */
RB_HEAD(deliveries, delivery);
RB_PROTOTYPE(deliveries, delivery, link, delivery_compare)

/* Put its outcome in words; error is NULL where the status says it all. */
void	 delivery_judge(struct delivery *, enum retry_class,
	    const char *error, int abort);

/* Remove from its lane and free. */
void	 delivery_free(struct delivery *);

#endif /* DELIVERY_H */
