/*
 * consumer.h - messages, handlers, and the rules between them.
 *
 * Every message that is claimed is in one place: in a run that waits, runs,
 * or has printed what is to be committed with its ack; or in the list of
 * outcomes to be written.  Its lease is renewed in all of them.
 *
 * One loop, one wait: consumer_wait() serves the handlers, and the database's
 * session waits by it, too, so that a slow statement holds up no handler.
 *
 * Units: milliseconds of CLOCK_MONOTONIC.
 */
#ifndef CONSUMER_H
#define CONSUMER_H

#include <stddef.h>
#include <stdint.h>

#include "follow.h"
#include "guard.h"
#include "feed.h"
#include "run.h"

#define CONSUMER_PAUSES	16

struct consumer {
	struct feed	 feed;
	struct follow	 life;
	struct guard	 guard;
	const char	*path;		/* of the command */
	char		**argv;
	size_t		 jobs, batch;	/* batch: lines at most; 0: a body */
	int		 prints;	/* 0, or 1 + enum feed_print */
	int		 max_failures, verbose;
	int64_t		 timeout_ms, grace_ms;
	int64_t		 pause_ms[CONSUMER_PAUSES];
	int		 npauses;
	size_t		 max_payload;

	int		 ended_fd;	/* a child ended */
	struct runs	 waiting, running, printed;
	struct runs	 dropped;	/* to be freed */
	struct parcel	*outcomes, **outcomes_end;
	size_t		 held;		/* messages in all of these */
	double		 run_ms;	/* that a run takes, of late */
	int64_t		 renew_ms;
	int64_t		 stop_ms;	/* when handlers are stopped; 0: no */
	int		 stopping;	/* 1 finish, 2 stop them, 3 kill them */
	int64_t		 hold_ms, hold_for_ms;	/* nothing is started before */
	int		 broken;	/* no more claims: exit status, and */
	char		 why[600];
};

void	 consumer_init(struct consumer *);

/* Take messages that were claimed. */
int	 consumer_take(struct consumer *, struct parcel *) BUF_CHECKED;

/*
 * Start what waits, as there is room; how many more runs are wanted: some
 * ahead of those that run, where these are short.
 */
size_t	 consumer_start(struct consumer *, int64_t now_ms);

/* Serve the handlers: take what they wrote, signals that are due, ends. */
void	 consumer_serve(struct consumer *, int64_t now_ms);

/*
 * Wait until fd (or -1) can be read, or written to if write is set, or a
 * handler wants something, or timeout_ms are over, and serve.  1: fd can.
 */
int	 consumer_wait(struct consumer *, int fd, int write, int timeout_ms);

/* Write outcomes, commit what was printed, renew; -1: see feed.db. */
int	 consumer_settle(struct consumer *, int64_t now_ms) DB_CHECKED;

/*
 * The command can't be started, or nobody takes what it prints, which is no
 * message's fault: all that wait go back.
 */
void	 consumer_hold(struct consumer *, int64_t now_ms);

/* Start nothing more; 2: stop what runs; 3: kill it. */
void	 consumer_stop(struct consumer *, int how, int64_t now_ms);

/* An outcome for a list that is in no other place now: outcome.c. */
void	 consumer_outcome(struct consumer *, struct parcel *,
	    const char *outcome, const char *error);

/* What came of a run that ended; it is in no other place, and is freed. */
void	 consumer_judge(struct consumer *, struct run *);

/* The same when what it printed was no good. */
void	 consumer_failed(struct consumer *, struct run *, const char *why);

void	 consumer_put(struct runs *, struct run *);
void	 consumer_free_run(struct consumer *, struct run *);

#endif /* CONSUMER_H */
