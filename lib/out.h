/*
 * out.h - lists: an aligned table for people, NDJSON for pipes.
 *
 * The rows are a result of db_run(): column names are the keys, column types
 * say how a value is written in JSON (numbers and booleans bare, json and
 * jsonb as they are, timestamptz as RFC 3339 with a Z, arrays of text or
 * numbers as JSON arrays, bytea as text with \xNN for what is no text, all
 * else as strings; SQL null as null).  An object is one line, whatever is in
 * it.  Control characters, invalid UTF-8 and marks that turn the writing
 * direction are escaped, so that a remote side can't drive a terminal; in a
 * table, a cell that is not the last is cut at OUT_CELL columns.
 */
#ifndef OUT_H
#define OUT_H

#include <stddef.h>
#include <stdio.h>

#include "buf.h"

struct db;

#define OUT_CELL	60	/* columns on the screen */

enum out_form { OUT_AUTO, OUT_TABLE, OUT_JSON };

/* Read the argument of -o: "table" or "json"; -1 if it is neither. */
int	 out_form(const char *arg, enum out_form *);

/*
 * Print the last result of db on standard output.  OUT_AUTO is a table when
 * that is a terminal.  An empty result prints nothing (a table: its heading).
 * Returns the number of rows, or -1 when writing failed (errno).
 */
int	 out_rows(const struct db *, enum out_form);

/* One row of the last result as one JSON object and a newline; -1 likewise. */
int	 out_row(const struct db *, int row);

/*
 * The same with more members behind it: more is NULL or JSON text as it
 * stands between braces, "a":1,"b":2.
 */
int	 out_row_more(const struct db *, int row, const char *more);

/* A result as a table on any stream; as a JSON array.  -1: see errno. */
int	 out_table(FILE *, const struct db *);
int	 out_array(struct buf *, const struct db *) BUF_CHECKED;

/* Append text as a JSON string, quotes included; -1 as buf_add() has it. */
int	 out_string(struct buf *, const char *, size_t len) BUF_CHECKED;

#endif /* OUT_H */
