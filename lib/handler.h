/*
 * handler.h - one run of a command that works on messages.
 *
 * It has a session of its own, which ends with it: what it left running in
 * its process group is killed.  It gets no descriptor but 0, 1 and 2, and
 * dies with us (guard.h).  Started with vfork(2), for there may be hundreds
 * a second; up to its exec the child only makes system calls.
 *
 * Ownership: a struct handler owns its pipes and buffers until
 * handler_free(), which wants the run to have ended.
 * Units: milliseconds of CLOCK_MONOTONIC.
 * Errors: -1 with errno.
 */
#ifndef HANDLER_H
#define HANDLER_H

#include <sys/types.h>

#include <stdint.h>

#include "buf.h"
#include "guard.h"

#define HANDLER_TAIL	2048	/* bytes of standard error that are kept */

struct handler {
	pid_t		 pid;		/* 0: none runs */
	int		 out, err;	/* our ends, or -1 */
	struct buf	 output;	/* its standard output, if kept */
	int		 too_long;	/* ... which was more than max */
	unsigned char	 tail[2 * HANDLER_TAIL];
	size_t		 tail_len;
	int64_t		 until_ms;	/* it gets SIGTERM then, */
	int64_t		 kill_ms;	/* and SIGKILL then */
	int		 overdue;	/* until_ms came */
	int		 status;	/* of waitpid(2), after the end */
	int		 no_exec;	/* errno of the exec that failed */
};

/* Catch SIGCHLD; a descriptor that can be read when a child ended. */
int	 handler_signals(void);

/* Has a child ended since the last call?  Empties the descriptor. */
int	 handler_some_ended(void);

/* The file that execvp(3) would run, to be freed; NULL with errno. */
char	*handler_find(const char *command);

/*
 * Start path with in as its standard input.  keep: bytes of standard output
 * to be kept at most, or 0: it is ours.  It gets SIGTERM at until_ms; the
 * guard kills it at lease_ms.  0 also where the exec failed: see no_exec.
 */
int	 handler_start(struct handler *, const char *path, char *const *argv,
	    char *const *env, int in, size_t keep, int64_t until_ms,
	    const struct guard *, int64_t lease_ms) BUF_CHECKED;

/* Take what it wrote. */
void	 handler_drain(struct handler *);

/* Signals that are due.  1: it has ended, and is reaped; look says wait. */
int	 handler_step(struct handler *, const struct guard *, int look,
	    int64_t now_ms) BUF_CHECKED;

/* SIGTERM now, SIGKILL after a moment; or SIGKILL. */
void	 handler_stop(struct handler *, int64_t now_ms);
void	 handler_kill(struct handler *);

/* The last of its standard error; its bytes are returned. */
size_t	 handler_tail(const struct handler *, const unsigned char **);

void	 handler_free(struct handler *);

#endif /* HANDLER_H */
