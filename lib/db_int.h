/*
 * db_int.h - what db.c and db_conn.c share; nobody else includes it.
 */
#ifndef DB_INT_H
#define DB_INT_H

#include "db.h"

/* Note an error: -1, with one line and the sysexits code kept. */
int	 db_fail(struct db *, int code, const char *, ...)
	    __attribute__((__format__(printf, 3, 4)));
int	 db_failed_conn(struct db *);

/*
 * The result of what was just sent (sent: that went well), like PQexec()'s;
 * NULL if the connection was lost.
 */
struct pg_result *db_await(struct db *, int sent);

/* Take over a result: its number of rows, or -1 with the error noted. */
int	 db_keep(struct db *, struct pg_result *);

#endif /* DB_INT_H */
