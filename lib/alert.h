/*
 * alert.h - what a monitor is told of the dead-letter queue: one line as
 * Nagios and its kin read it, with performance data.
 */
#ifndef ALERT_H
#define ALERT_H

#include <stdint.h>

#include "buf.h"
#include "db.h"

enum alert { ALERT_OK, ALERT_WARNING, ALERT_CRITICAL, ALERT_UNKNOWN };

/* Thresholds; 0: not given. */
struct alert_at {
	int64_t	 warn, crit, age_s;
};

/*
 * Append the line for what dlq-count gave, db's last result, and judge it.
 * -1: out of memory.
 */
int	 alert_line(const struct db *, const struct alert_at *, struct buf *)
	    BUF_CHECKED;

#endif /* ALERT_H */
