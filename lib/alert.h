/*
 * alert.h - what a monitor is told of the dead-letter queue: one line as
 * Nagios and its kin read it, with performance data; and below it a line for
 * each subscription and source that has too much of it.
 */
#ifndef ALERT_H
#define ALERT_H

#include <stdint.h>

#include "buf.h"
#include "db.h"
#include "select.h"

enum alert { ALERT_OK, ALERT_WARNING, ALERT_CRITICAL, ALERT_UNKNOWN };

/* Thresholds; 0: not given. */
struct alert_at {
	int64_t	 warn, crit, age_s;
};

/*
 * Judge what sel selects, of that kind ("message", or NULL: all): all of it
 * together, and what each subscription or source has; append the lines.  The
 * worst of it, ALERT_UNKNOWN if the database failed, or -1: out of memory.
 */
int	 alert_judge(struct db *, struct select *sel, const char *kind,
	    const struct alert_at *all, const struct alert_at *each,
	    struct buf *);

#endif /* ALERT_H */
