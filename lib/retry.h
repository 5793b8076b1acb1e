/*
 * retry.h - what an outcome means, and when to try again.  Pure.
 *
 * The classes: hook-deliver(1), table of outcomes.  All delays are
 * milliseconds and never negative; nothing here can overflow, whatever a
 * remote side sends.
 */
#ifndef RETRY_H
#define RETRY_H

#include <stddef.h>
#include <stdint.h>

enum retry_class {
	RETRY_OK,		/* 2xx */
	RETRY_LATER,		/* transient */
	RETRY_NEVER,		/* permanent: failed */
	RETRY_GONE		/* 410: permanent, and disable */
};

/*
 * Class of a final status (0: none came).  retry_4xx makes every 4xx but 410
 * transient; abort is the response header "webhook-delivery: abort", which
 * makes all but a success and 410 permanent.
 */
enum retry_class retry_classify(int status, int retry_4xx, int abort);

/* Does this status let Retry-After (or the backoff) hold the whole lane? */
int	 retry_holds_lane(int status);

/*
 * Retry-After, RFC 9110 10.2.3: delta-seconds, or a date in one of the three
 * HTTP forms, GMT, against now_s (unix seconds).  Milliseconds from now, at
 * most RETRY_AFTER_MAX_MS; -1 for anything unreadable, negative or past.
 * Spaces and tabs around it are ignored.  0 is 0.  The name of the day must
 * be one, but need not be the date's.  Of two header lines the caller takes
 * the larger result.
 */
#define RETRY_AFTER_MAX_MS	(INT64_C(30) * 86400 * 1000)
int64_t	 retry_after(const char *value, size_t len, int64_t now_s);

/*
 * Pause after the n-th failed attempt of a round (1 = first): schedule[n-1]
 * with +-20 % jitter (r in [0,1) is the dice), -1 past the schedule's end:
 * wait for the deadline.  after_ms is what retry_after() gave, or -1; it only
 * ever lengthens the pause, and gets no jitter.
 */
int64_t	 retry_delay(const int64_t *schedule, size_t len, int n,
	    int64_t after_ms, double r);

/*
 * Pause before the n-th probe of an open breaker (1 = first): 5 s doubling to
 * 5 minutes, +-20 % but never more than 5 minutes.
 */
int64_t	 retry_probe(int n, double r);

#define RETRY_BREAKER_AFTER	5	/* consecutive failures open it */

#endif /* RETRY_H */
