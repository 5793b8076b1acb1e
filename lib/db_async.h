/*
 * db_async.h - the part of db.h for programs that wait for other things as
 * well: followers, and the worker that never blocks.
 *
 * Ownership, errors and units are those of db.h.
 */
#ifndef DB_ASYNC_H
#define DB_ASYNC_H

#include "db.h"

/*
 * Wait up to timeout_ms for a notification (after db_listen()), or until a
 * signal; 1 came, 0 not, -1 lost.  db_listen() takes a follower's name.
 */
int	 db_listen(struct db *, const char *follower) DB_CHECKED;
int	 db_wait(struct db *, int timeout_ms) DB_CHECKED;

/*
 * Without blocking, for a program that waits for other things as well.
 * db_start() begins to connect; db_step() moves whatever is under way and
 * returns 1 when it is done (connected; or the statement's result is there),
 * 0 when it waits for db_socket() (writable too if db_writes()), -1 when it
 * failed.  db_send() sends one statement, already made ready by
 * db_prepare(), which blocks, or by db_send_prepare(); binary asks for binary
 * results.  db_send_exec() sends constant text, of one statement.
 */
int	 db_start(struct db *, const char *conninfo, const char *tool)
	    DB_CHECKED;
int	 db_step(struct db *) DB_CHECKED;
int	 db_prepare(struct db *, const struct stmt *) DB_CHECKED;
int	 db_send(struct db *, const struct stmt *, size_t narg,
	    const struct db_arg *, int binary) DB_CHECKED;
int	 db_send_prepare(struct db *, const struct stmt *) DB_CHECKED;
int	 db_send_exec(struct db *, const char *sql) DB_CHECKED;
int	 db_socket(const struct db *);
int	 db_writes(struct db *);

#define DB_LOCKED	"55P03"	/* sqlstate: not got within lock_timeout */

/* After a failure: is the connection of no more use? */
int	 db_lost(const struct db *);

/*
 * Did a notification come since the last call?  2 if one said that a
 * subscription was changed, 1 for others.  Reads none from the net.
 */
int	 db_notified(struct db *);

/*
 * Where db.wait is set, db_open(), db_run() and their kin wait by it instead
 * of by poll(2), so that a program can serve others meanwhile: until fd can
 * be read, or written to; -1 gives up, and the connection is closed.  It
 * stays set over db_close() and db_open().
 */

/*
 * After others could change the session: its role and settings as db_open()
 * made them; all of it, prepared statements, locks and LISTEN included.
 */
int	 db_settings(struct db *) DB_CHECKED;
int	 db_fresh(struct db *) DB_CHECKED;

/*
 * What a follower learns of the schema as it goes: -1 if this is not the
 * version that it is for, as db_open() fails.
 */
int	 db_version_is(struct db *, int64_t version) DB_CHECKED;

/* Plans for statements that join arrays by index, whatever statistics say. */
int	 db_plan_by_index(struct db *) DB_CHECKED;

#endif /* DB_ASYNC_H */
