/*
 * counts.h - the counters of hook-receive on their way to webhook_counters.
 *
 * They are counted in the sources and written now and then, not in the
 * transaction of the messages: a crash may lose the last second's.
 */
#ifndef COUNTS_H
#define COUNTS_H

#include "arr.h"
#include "db.h"
#include "sources.h"

struct counts {
	struct arr	  label, outcome, n;
	struct source	**source;
	int64_t		(*delta)[COUNT_MAX];
	size_t		  nsource;
};

void	 counts_init(struct counts *);
void	 counts_free(struct counts *);

/* Gather what is not stored yet; how many sources have something. */
size_t	 counts_collect(struct counts *, const struct sources *);

/* That as the parameters of receive_count; -1 without memory. */
int	 counts_args(struct counts *, struct db_arg arg[3]) DB_CHECKED;

/* It is stored. */
void	 counts_stored(struct counts *);

#endif /* COUNTS_H */
