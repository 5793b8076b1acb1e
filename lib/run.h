/*
 * run.h - runs of the command, and lists of them.
 *
 * Ownership: a run owns its messages until it is judged (consumer.h), and is
 * in one list at a time.
 */
#ifndef RUN_H
#define RUN_H

#include <stddef.h>
#include <stdint.h>

#include "handler.h"
#include "parcel.h"

/* One run of the command. */
struct run {
	struct run	*next;
	struct parcel	*list;		/* 1 or more */
	size_t		 n;
	struct handler	 h;
	int64_t		 start_ms;
	int		 lost;		/* its lease ended */
	int		 cut;		/* stopped with us */
	int		 tries;		/* to commit what it printed */
};

struct runs {
	struct run	*first, **end;
	size_t		 n;
};

#endif /* RUN_H */
