/*
 * follow.h - what every follower (-f) does the same way: end on a signal,
 * outlive the database, and tell the service manager (notify.h).
 */
#ifndef FOLLOW_H
#define FOLLOW_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

/* How often SIGTERM or SIGINT came, and whether SIGHUP did. */
extern volatile sig_atomic_t follow_stop, follow_hup;

/*
 * Catch them; ignore SIGPIPE.  System calls are interrupted, not resumed.
 * What the service manager told us is taken out of the environment.
 */
void	 follow_signals(void);

/* A name for this process, as webhook_workers has it: host:pid:random. */
void	 follow_name(char *, size_t);

/* CLOCK_MONOTONIC in milliseconds. */
int64_t	 follow_now_ms(void);

/*
 * Pauses between attempts to reach the database: 100 ms doubling to 5 s.
 * follow_lost() gives the next one and says so in the log, once an outage;
 * follow_back() says that it is over, and the first time that we are ready.
 */
struct follow {
	int64_t	 pause_ms;
	int64_t	 lost_at_ms;		/* 0: not lost */
};
int64_t	 follow_lost(struct follow *, const char *why);
void	 follow_back(struct follow *);

/*
 * Take what beat.sql gave: where the schema is of another version by now, we
 * end as on SIGTERM, and say why.  follow_code is then what to exit with.
 */
struct db;
extern int follow_code;
void	 follow_beat(struct db *);

/* Sleep, but not beyond the signal to end. */
void	 follow_pause(int64_t ms);

/*
 * db.wait (db_async.h) for one who has nothing else to do meanwhile: a server
 * that takes its time is no hang of ours.  Some time after a signal it gives
 * up.  arg is not used.
 */
int	 follow_db_wait(void *arg, int fd, int write, int timeout_ms);

#endif /* FOLLOW_H */
