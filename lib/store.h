/*
 * store.h - a delivery worker's conversation with the database: one
 * statement at a time, never waiting for it.
 *
 * store_step() is called in a loop.  It collects the answer of the statement
 * under way, and starts the next one that has something to do; the kinds of
 * statements take turns, so that none is starved by another.  What the
 * database says ends up in the lanes; what the sender found goes back by
 * store_done().
 *
 * When the database is away, outcomes are kept and written after it is back.
 * The lanes stay ours as long as nobody else took them: the fence tells.
 * Times are CLOCK_MONOTONIC milliseconds unless a name says otherwise.
 */
#ifndef STORE_H
#define STORE_H

#include <stddef.h>
#include <stdint.h>

#include "addr.h"
#include "arr.h"
#include "db.h"
#include "follow.h"
#include "lane.h"
#include "seal.h"

#define STORE_LANES	1000		/* owned at once, at most */
#define STORE_BATCH	1000		/* outcomes in one statement */
#define STORE_PAGE_BYTES (4 << 20)	/* payload read ahead for one lane */
#define STORE_BODY_MAX	(16 << 20)	/* bytes; a longer payload fails */

struct store {
	struct db	 db;
	struct follow	 life;
	const char	*conninfo, *tool;
	char		 name[160];	/* this worker's */
	int64_t		 lease_ms, poll_ms;
	size_t		 slots;		/* requests at once, of the program */
	int		 follow;	/* keep dry lanes a while */
	struct seal	 seal;
	struct addr_allow allow;
	int		 up;		/* 0 away, 1 connecting, 2 there */
	int64_t		 try_ms;	/* next attempt to connect */
	int64_t		 server_ms;	/* unix time minus monotonic time */
	struct lane	*lanes;
	size_t		 nlane;
	struct delivery	*done, **done_end;	/* outcomes to write */
	struct delivery	*writing, *parked;
	size_t		 ndone, batch;
	int64_t		 done_ms;	/* when the oldest came */
	struct delivery	*bodies, **bodies_end, *ready;	/* to keep; kept */
	const struct job *job;		/* the statement under way */
	size_t		 turn;
	int64_t		 sent_ms;
	struct arr	 arr[13], rest[3];	/* rest: for lane_earliest */
	struct lane	*page[STORE_LANES];
	size_t		 npage, page_max;
	enum health	 health;
	int64_t		 tick_ms, beat_ms, next_ms, pause_ms;
	int64_t		 claim_ms, claim_floor_ms, claim_paid_ms;
	int64_t		 back_ms;	/* when an outage ended; 0: none */
	int64_t		 locked_ms;	/* pause: due lanes are locked; 0 */
	int64_t		 rest_ms, state_ms, park_ms, replan_ms;	/* not before */
	int		 bad, claiming;	/* failed in a row; lanes asked for */
	int		 hungry, shared, stopping, ask_next, clock_told, slow;
	int		 code;		/* why store_step() gave up */
};

/* Take the options; connects later.  -1 with *why: the key file. */
int	 store_init(struct store *, const char **why);
void	 store_free(struct store *);

/* SIGHUP: the key file and all settings again; -1 likewise. */
int	 store_reload(struct store *, const char **why);

/*
 * Go on.  -1 when it can't: db_error(&s->db), and code for exit: away
 * without follow, or a schema or a right that waiting will not mend.
 */
int	 store_step(struct store *, int64_t now_ms);

/* Milliseconds that store_step() has nothing to do, apart from the socket. */
int64_t	 store_wait(const struct store *, int64_t now_ms);

/* An outcome to write of one that is DONE; a transform's result to keep, */
void	 store_done(struct store *, struct delivery *);
void	 store_body(struct store *, struct delivery *);

/* and one that was kept, ready to be sent; NULL: none is. */
struct delivery *store_ready(struct store *);

/* Unix seconds by the database's clock. */
int64_t	 store_now_s(const struct store *, int64_t now_ms);

/* Nothing owned, unwritten, or due when last asked; look again at once. */
int	 store_idle(const struct store *);
void	 store_look(struct store *);

#endif /* STORE_H */
