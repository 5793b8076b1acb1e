/*
 * ids.h - the ids a tool works on: its arguments, or where the only argument
 * is "-", the lines of standard input.
 *
 * A line is a bare id or an NDJSON object with an "id" key, so that what one
 * tool lists the next takes; PostgreSQL parses the JSON.  All of the input is
 * read and checked before anything is given back.  Ids are whole numbers from
 * 1 up; they are kept in the order given, repeats included.  Where messages is
 * set m17 is one, too: the inbox's message 17, kept as -17.
 *
 * Ownership: a struct ids owns id until ids_free().
 * Errors: -1 with one line in why ("standard input: line 3: ...") and the
 * sysexits code to leave with in code; the ids are of no use then.
 *
 *	if (ids_args(&ids, argc, argv) == -1)
 *		errx(ids.code, "%s", ids.why);
 *	... db_open() ...
 *	if (ids_stdin(&ids, &db) == -1)
 *		errx(ids.code, "%s", ids.why);
 */
#ifndef IDS_H
#define IDS_H

#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "db.h"

#define IDS_MAX		10000000	/* ids */
#define IDS_LINE_MAX	(1024 * 1024)	/* bytes */

struct ids {
	int64_t	*id;
	size_t	 n;
	size_t	 cap;		/* room in id, in elements */
	int	 from_stdin;	/* "-" was the argument */
	int	 messages;
	int	 code;		/* EX_USAGE, EX_DATAERR, ... */
	char	 why[256];
};

#define IDS_INIT	{ NULL, 0, 0, 0, 0, 0, "" }

/* Check the arguments and keep their ids; needs no server. */
int	 ids_args(struct ids *, int argc, char *const *argv) DB_CHECKED;

/* Read standard input if "-" was the argument, else do nothing. */
int	 ids_stdin(struct ids *, struct db *) DB_CHECKED;

/* Append ids [from, from + n) as an array literal, for a bigint[] parameter. */
int	 ids_array(const struct ids *, size_t from, size_t n, struct buf *)
	    DB_CHECKED;

/* Move messages, as their own ids, to another that is empty. */
int	 ids_split(struct ids *, struct ids *messages) DB_CHECKED;

void	 ids_free(struct ids *);

#endif /* IDS_H */
