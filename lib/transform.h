/*
 * transform.h - the jq children of a delivery worker: a few at once, each
 * working on one delivery.  Nothing here waits or talks to the database.
 *
 * Ownership: a delivery is lent from transform_start() until
 * transform_next() gives it back; a result then is its body.
 */
#ifndef TRANSFORM_H
#define TRANSFORM_H

#include <stddef.h>
#include <stdint.h>

#include "delivery.h"
#include "jq.h"

#define TRANSFORMS	4	/* children at once */
#define TRANSFORM_FDS	(TRANSFORMS * 3)

struct pollfd;

struct transforms {
	struct {
		struct jq	 jq;
		struct delivery	*d;	/* NULL: free */
	} child[TRANSFORMS];
	char	why[sizeof(((struct jq *)0)->why) + 16];
};

/* Is a child free? */
int	 transform_room(const struct transforms *);

/* Start one; -1 with why set, and errno as jq_start() left it. */
int	 transform_start(struct transforms *, struct delivery *,
	    const char *program, size_t max_output);

/*
 * The next delivery whose child ended, and how (JQ_DONE, JQ_EMPTY, or
 * JQ_FAILED with why set); NULL when none has.
 */
struct delivery *transform_next(struct transforms *, int64_t now_ms,
	    enum jq_state *);

/* Add the descriptors to wait for; how many. */
unsigned transform_fds(const struct transforms *, struct pollfd *);

/* End one that still runs; its delivery, NULL: none does. */
struct delivery *transform_abort(struct transforms *);

#endif /* TRANSFORM_H */
