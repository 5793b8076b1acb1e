/*
 * guard.h - a process that ends our handlers when we can't.
 *
 * It is told of each handler, and until when it may run.  When we are gone,
 * or were stopped and did not move that time on, it kills the handler's
 * process group: whoever takes the message over is alone with it.  It is
 * forked early, holds nothing but the pipe, and ends when we do.
 */
#ifndef GUARD_H
#define GUARD_H

#include <sys/types.h>

#include <stdint.h>

#define GUARD_MAX	1100	/* handlers */

struct guard {
	pid_t	 pid;		/* 0: none */
	int	 fd;
};

/* Start it; -1 with errno. */
int	 guard_start(struct guard *);

/*
 * The process group pid may run until then (CLOCK_MONOTONIC); 0 forgets it,
 * to be said before the leader is reaped.  A system call and no more, so a
 * child may say it of itself between vfork(2) and exec.
 */
void	 guard_tell(const struct guard *, pid_t, int64_t until_ms);

/* Did it die?  Then it is reaped, and pid is 0. */
int	 guard_died(struct guard *);

/* End it: handlers that it still knows are killed. */
void	 guard_stop(struct guard *);

#endif /* GUARD_H */
