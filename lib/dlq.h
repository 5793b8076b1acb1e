/*
 * dlq.h - one delivery with all that is known of it, for hook-dlq show.
 */
#ifndef DLQ_H
#define DLQ_H

#include "db.h"

/*
 * Its JSON object is column 0 of the result; how many rows: 0 where there is
 * no such delivery; -1.  id is a number as text.
 */
int	 dlq_show(struct db *, const char *id) DB_CHECKED;

#endif /* DLQ_H */
