/*
 * notify.h - tell systemd, or who speaks sd_notify(3)'s protocol, how a
 * follower does.
 *
 * Where nobody listens, each of these does nothing.  None blocks: what could
 * not be said, for the listener had no room, is said again by the next call.
 *
 * libsystemd is not used: the protocol is a line in a datagram, documented
 * and stable so that programs need not link it, and the library (with the
 * four that it loads) would be the suite's largest dependency, absent from
 * systems without systemd.
 */
#ifndef NOTIFY_H
#define NOTIFY_H

#include <stdint.h>

/*
 * Who listens, and how often he wants to hear that we live; both are taken
 * out of the environment, so that no child speaks for us.
 */
void	 notify_init(void);

/* Start-up is over; the first status.  Costs nothing when said again. */
void	 notify_ready(const char *status);

/* One line for people, as `systemctl status' shows it. */
void	 notify_status(const char *what, const char *why);

/* The configuration is read again: from 1 to 0. */
void	 notify_reload(int under_way);

/* The end has begun.  Costs nothing when said again. */
void	 notify_stopping(void);

/*
 * The loop turns: to be called on each turn, and by nothing but the loop, or
 * a loop that hangs is not found out.  now_ms is CLOCK_MONOTONIC.
 */
extern int64_t notify_due_ms;		/* notify.c's */
void	 notify_beat(int64_t now_ms);

static inline void
notify_alive(int64_t now_ms)
{
	if (now_ms >= notify_due_ms)
		notify_beat(now_ms);
}

/* How long a loop that wants to wait for ms may, until it must turn. */
int	 notify_wait(int64_t ms, int64_t now_ms);

#endif /* NOTIFY_H */
