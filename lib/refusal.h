/*
 * refusal.h - what the log says of a request that hook-receive refused.
 */
#ifndef REFUSAL_H
#define REFUSAL_H

#include <stddef.h>

#include "hint.h"
#include "receive.h"

/*
 * Append why, with the likely cause; for what is unknown too, or the time it
 * takes would tell which names are not.  Nothing where there is no hint;
 * without a cause where too much time went into those before.
 */
void	 refusal_reason(const struct receive *, const struct source *,
	    const char *why, const struct hint *, struct buf *);

/*
 * Nobody is to fill the disk: may there be another line?  1, and how many
 * were left out since the last, as text ("": none); 0.
 */
int	 refusal_may_log(char *skipped, size_t);

#endif /* REFUSAL_H */
