/*
 * dlq.h - the dead-letter queue by days: a statement that is told of which
 * days it is takes a new session a third of the time to plan.
 */
#ifndef DLQ_H
#define DLQ_H

#include "db.h"
#include "select.h"

/* Points in time, as parameters of a statement. */
struct dlq_days {
	char	 from[64], until[64];
};

/*
 * From when (inclusive) until when (exclusive) deliveries of a table can have
 * been finished; of those since and until, where they are not NULL.  0 or -1.
 */
#define DLQ_DEAD	"webhook_deliveries_dead"
#define DLQ_DONE	"webhook_deliveries_done"
int	 dlq_days(struct db *, const char *table, const char *since,
	    const char *until, struct dlq_days *) DB_CHECKED;

/*
 * How many are in it: the row of dlq-count.  kind is delivery, message, or
 * NULL for both.
 */
int	 dlq_count(struct db *, const struct select *, const char *kind)
	    DB_CHECKED;

/*
 * One delivery with all that is known of it: its JSON object is column 0 of
 * the result; how many rows: 0 where there is no such delivery; -1.  id is a
 * number as text.
 */
int	 dlq_show(struct db *, const char *id) DB_CHECKED;

#endif /* DLQ_H */
