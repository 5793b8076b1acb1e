/*
 * out.h - lists: an aligned table for people, NDJSON for pipes.
 *
 * The rows are a result of db_run(): column names are the keys, column types
 * say how a value is written in JSON (numbers and booleans bare, json and
 * jsonb as they are, timestamptz as RFC 3339 with a Z, arrays of text as
 * JSON arrays, bytea as text with \xNN escapes, all else as strings; SQL null
 * as null).  In a table, control characters and invalid UTF-8 of remote
 * origin are escaped, so that they can't drive a terminal.
 */
#ifndef OUT_H
#define OUT_H

struct db;

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

#endif /* OUT_H */
