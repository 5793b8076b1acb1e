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
	int			 any_schema;	/* set before db_open() */
	int			 patient;	/* db_open() waits for setup */
	int64_t			 connect_by_ms;	/* CLOCK_MONOTONIC */
	unsigned		 turn, hosts, timeout_s; /* db_host.h */
	char			 sqlstate[6];	/* "" until one fails */
	int			 code;		/* sysexits code, or 0 */
	char			 why[512];	/* db_error() */
	const struct stmt	*ready[64];	/* the nready prepared so far */
	size_t			 nready;
	int	(*wait)(void *, int fd, int write, int ms); /* db_async.h */
	void			*wait_arg;
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
 * Connect.  conninfo is libpq's, NULL: the PG* environment; tool becomes
 * application_name.  Refuses a read-only server, and a schema that is missing
 * or of another version, unless any_schema is set (it stays so).  db_error()
 * and db_close() work after a failure too.
 */
int	 db_open(struct db *, const char *conninfo, const char *tool)
	    DB_CHECKED;
void	 db_close(struct db *);

/* Run one with text parameters, keep its result: how many rows. */
int	 db_run(struct db *, const struct stmt *, size_t narg,
	    const char *const *arg) DB_CHECKED;

/* With parameters that may be binary. */
int	 db_runv(struct db *, const struct stmt *, size_t narg,
	    const struct db_arg *) DB_CHECKED;

int	 db_exec(struct db *, const char *sql) DB_CHECKED;	/* constant */
/* commit; the last result stays the last, to be printed now that it holds. */
int	 db_commit(struct db *) DB_CHECKED;
int	 db_rows(const struct db *);	/* of the last result */
/* Text of one of its fields; NULL if it is SQL null. */
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

#endif /* DB_H */
