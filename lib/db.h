/*
 * db.h - one connection to the hook database.
 *
 * Ownership: a struct db owns its connection and its last result.  Strings
 * from db_col() and db_error() point into them and live until the next db_
 * call on the same handle; copy what must outlive that.
 *
 * Errors: functions returning int give -1 on failure.  They never print and
 * never exit: db_error() says what went wrong, db_exitcode() says whether
 * trying again could help.
 *
 * A session has HOOK_SCHEMA (default public) and pg_temp as its search path,
 * UTF-8, UTC, and no server-side timeouts: those a role or database sets are
 * switched off, since a tool bounds its own statements by their size.
 */
#ifndef DB_H
#define DB_H

#include <stddef.h>
#include <stdint.h>

#define DB_CHECKED	__attribute__((__warn_unused_result__))

struct pg_conn;
struct pg_result;

/* One SQL statement, generated from sql/query/NAME.sql as stmt_NAME. */
struct stmt {
	const char	*name;		/* also the prepared-statement name */
	const char	*text;
	size_t		 nparam;	/* highest $n in text */
};

struct db {
	struct pg_conn		*conn;
	struct pg_result	*res;		/* last result, or NULL */
	struct pg_result	*got;		/* of db_send(), so far */
	const char		*tool;
	int			 connecting, sending, wants_write;
	char			 sqlstate[6];	/* "" until one fails */
	int			 code;		/* sysexits code, or 0 */
	char			 why[512];	/* db_error() */
	const struct stmt	*ready[64];	/* prepared so far */
	size_t			 nready;
};

#define DB_INIT	{ 0 }

/* One parameter; val NULL is SQL null.  Binary where len is not DB_TEXT. */
struct db_arg {
	const void	*val;
	int		 len;		/* bytes, or DB_TEXT */
};
#define DB_TEXT	(-1)

/* The argument count and array for db_run(); a NULL argument is SQL null. */
#define DB_ARGS(...)							\
	sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *),	\
	(const char *[]){ __VA_ARGS__ }

/*
 * Connect.  conninfo is a libpq connection string or URI; NULL means the
 * PG* environment.  tool becomes application_name.  Refuses a schema of
 * another version than SCHEMA_VERSION, and a server that is read-only.  On
 * failure db is still valid for db_error() and db_close().
 */
int	 db_open(struct db *, const char *conninfo, const char *tool)
	    DB_CHECKED;

/* Disconnect and free.  Safe on a handle whose db_open() failed. */
void	 db_close(struct db *);

/*
 * Run one statement with text parameters, and keep its result.
 * Returns the number of rows, which is 0 for a statement returning none.
 * narg must equal stmt->nparam; anything else is a bug and aborts.
 */
int	 db_run(struct db *, const struct stmt *, size_t narg,
	    const char *const *arg) DB_CHECKED;

/* The same with parameters that may be binary. */
int	 db_runv(struct db *, const struct stmt *, size_t narg,
	    const struct db_arg *) DB_CHECKED;

/* begin, commit, rollback; or any constant text without parameters. */
int	 db_exec(struct db *, const char *sql) DB_CHECKED;

/* commit; the last result stays the last, to be printed now that it holds. */
int	 db_commit(struct db *) DB_CHECKED;

/* Text of one field of the last result; NULL if it is SQL null. */
const char *db_col(const struct db *, int row, int col);
size_t	 db_len(const struct db *, int row, int col);	/* its bytes */
int64_t	 db_int(const struct db *, int row, int col);	/* 0 for null */

/* Why the last call failed: one line, no trailing newline, no secret. */
const char *db_error(const struct db *);

/*
 * The sysexits(3) code for the last failure:
 *	EX_TEMPFAIL	connection lost, deadlock, out of resources
 *	EX_DATAERR	the database refused the caller's data
 *	EX_UNAVAILABLE	no hookutils schema there, or another version's
 *	EX_SOFTWARE	anything else: our statement or schema is wrong
 */
int	 db_exitcode(const struct db *);

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
 * db_prepare(), which blocks; binary asks for binary results.
 */
int	 db_start(struct db *, const char *conninfo, const char *tool)
	    DB_CHECKED;
int	 db_step(struct db *) DB_CHECKED;
int	 db_prepare(struct db *, const struct stmt *) DB_CHECKED;
int	 db_send(struct db *, const struct stmt *, size_t narg,
	    const struct db_arg *, int binary) DB_CHECKED;
int	 db_socket(const struct db *);
int	 db_writes(struct db *);
int	 db_rows(const struct db *);	/* of the last result */

/* After a failure: is the connection of no more use? */
int	 db_lost(const struct db *);

/*
 * Did a notification come since the last call?  2 if one said that a
 * subscription was changed, 1 for others.  Reads none from the net.
 */
int	 db_notified(struct db *);

/* Plans for statements that join arrays by index, whatever statistics say. */
int	 db_plan_by_index(struct db *) DB_CHECKED;

#endif /* DB_H */
