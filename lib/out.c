/*
 * out.c - lists: an aligned table for people, NDJSON for pipes.
 *
 * Values come as PostgreSQL's text forms, in a session that db_open() set up
 * (UTC, ISO dates, hex bytea).  A value that does not look as its type should
 * is written as a string.
 */
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libpq-fe.h>

#include "db.h"
#include "opt.h"
#include "out.h"

#define MAX_ROW		(256 * 1024 * 1024)	/* bytes of one JSON object */

/* pg_type.dat: these never change. */
enum {
	T_BOOL = 16, T_BYTEA = 17, T_INT8 = 20, T_INT2 = 21, T_INT4 = 23,
	T_JSON = 114, T_FLOAT4 = 700, T_FLOAT8 = 701, T_INT4S = 1007,
	T_TEXTS = 1009, T_INT8S = 1016, T_TIMESTAMPTZ = 1184, T_NUMERIC = 1700,
	T_JSONB = 3802
};

static int	 add_array(struct buf *, const char *, size_t, int);
static int	 add_cell(struct buf *, const PGresult *, int, int);
static int	 add_json(struct buf *, const char *, size_t);
static int	 add_row(struct buf *, const PGresult *, int);
static int	 add_safe(struct buf *, const char *, size_t, int);
static int	 add_text(struct buf *, int, const char *, size_t);
static int	 add_value(struct buf *, int, const char *, size_t);
static int	 columns(const char *);
static int	 encoding(void);
static int	 is_number(int);
static size_t	 plain(const char *, size_t);
static int	 print_line(FILE *, const PGresult *, int, const int *);
static int	 table(FILE *, const PGresult *);
static int	 unsafe(unsigned int);
static size_t	 utf8(const char *, size_t, unsigned int *);

int
out_form(const char *arg, enum out_form *form)
{
	if (strcmp(arg, "table") == 0)
		*form = OUT_TABLE;
	else if (strcmp(arg, "json") == 0)
		*form = OUT_JSON;
	else
		return -1;
	return 0;
}

int
out_rows(const struct db *db, enum out_form form)
{
	int	 i, n = PQntuples(db->res);

	if (form == OUT_AUTO)
		form = isatty(STDOUT_FILENO) ? OUT_TABLE : OUT_JSON;
	if (form == OUT_TABLE) {
		if (table(stdout, db->res) == -1)
			return -1;
	} else {
		for (i = 0; i < n; i++)
			if (out_row(db, i) == -1)
				return -1;
	}
	return fflush(stdout) == EOF ? -1 : n;
}

int
out_table(FILE *f, const struct db *db)
{
	return table(f, db->res);
}

int
out_array(struct buf *b, const struct db *db)
{
	int	 i, n = PQntuples(db->res);

	for (i = 0; i < n; i++)
		if (buf_adds(b, i == 0 ? "[{" : ",{") == -1 ||
		    add_row(b, db->res, i) == -1 || buf_adds(b, "}") == -1)
			return -1;
	return buf_adds(b, n == 0 ? "[]" : "]");
}

int
out_row(const struct db *db, int row)
{
	return out_row_more(db, row, NULL);
}

int
out_row_more(const struct db *db, int row, const char *more)
{
	struct buf	 b = BUF_INIT(MAX_ROW);
	int		 rc = -1;

	if (buf_adds(&b, "{") == -1 || add_row(&b, db->res, row) == -1)
		goto out;
	if (more != NULL && (buf_adds(&b, ",") == -1 ||
	    buf_adds(&b, more) == -1))
		goto out;
	if (buf_adds(&b, "}\n") == -1)
		goto out;
	rc = fwrite(b.s, 1, b.len, stdout) == b.len ? 0 : -1;
out:
	buf_wipe(&b);
	return rc;
}

int
out_string(struct buf *b, const char *s, size_t len)
{
	unsigned int	 c;
	size_t		 i, n;
	int		 rc;

	if (buf_adds(b, "\"") == -1)
		return -1;
	for (i = 0; i < len; i += n) {
		if ((n = plain(s + i, len - i)) > 0)
			rc = buf_add(b, s + i, n);
		else if ((n = utf8(s + i, len - i, &c)) == 0) {
			rc = buf_addf(b, "\\\\x%02x", (unsigned char)s[i]);
			n = 1;
		} else if (c == '"' || c == '\\')
			rc = buf_addf(b, "\\%c", (int)c);
		else if (c == '\n')
			rc = buf_adds(b, "\\n");
		else if (unsafe(c))
			rc = buf_addf(b, "\\u%04x", c);
		else
			rc = buf_add(b, s + i, n);
		if (rc == -1)
			return -1;
	}
	return buf_adds(b, "\"");
}

/* How many bytes at its start stand for themselves in any JSON string. */
static size_t
plain(const char *s, size_t len)
{
	size_t	 n;

	for (n = 0; n < len; n++)
		if (s[n] < ' ' || s[n] > '~' || s[n] == '"' || s[n] == '\\')
			break;
	return n;
}

/* Add "key":value,... of one row. */
static int
add_row(struct buf *b, const PGresult *r, int row)
{
	const char	*key;
	int		 i, n = PQnfields(r);

	for (i = 0; i < n; i++) {
		key = PQfname(r, i);
		if (i > 0 && buf_adds(b, ",") == -1)
			return -1;
		if (out_string(b, key, strlen(key)) == -1 ||
		    buf_adds(b, ":") == -1)
			return -1;
		if (PQgetisnull(r, row, i) ? buf_adds(b, "null") == -1 :
		    add_value(b, (int)PQftype(r, i), PQgetvalue(r, row, i),
		    (size_t)PQgetlength(r, row, i)) == -1)
			return -1;
	}
	return 0;
}

static int
add_value(struct buf *b, int type, const char *s, size_t len)
{
	struct buf	 text = BUF_INIT(MAX_ROW);
	int		 rc;

	switch (type) {
	case T_BOOL:
		return buf_adds(b, *s == 't' ? "true" : "false");
	case T_JSON:
	case T_JSONB:
		return add_json(b, s, len);
	case T_TEXTS:
		return add_array(b, s, len, 0);
	case T_INT4S:
	case T_INT8S:
		return add_array(b, s, len, T_INT8);
	case T_BYTEA:
	case T_TIMESTAMPTZ:
		rc = add_text(&text, type, s, len);
		if (rc == 0)
			rc = out_string(b, text.s, text.len);
		buf_free(&text);
		return rc;
	default:
		/* Not NaN, nor Infinity. */
		if (is_number(type) && isdigit((unsigned char)s[*s == '-']))
			return buf_add(b, s, len);
		return out_string(b, s, len);
	}
}

/* In valid JSON a line break can only stand between tokens. */
static int
add_json(struct buf *b, const char *s, size_t len)
{
	size_t	 i, from = b->len;

	if (buf_add(b, s, len) == -1)
		return -1;
	for (i = from; i < b->len; i++)
		if (b->s[i] == '\n' || b->s[i] == '\r')
			b->s[i] = ' ';
	return 0;
}

/* An array's text form: {a,"b \"c\"",NULL}, of one dimension. */
static int
add_array(struct buf *b, const char *s, size_t len, int type)
{
	struct buf	 item = BUF_INIT(MAX_ROW);
	const char	*p = s + 1;
	int		 quoted, rc = -1;

	if (*s != '{' || strncmp(s, "{{", 2) == 0)
		return out_string(b, s, len);
	if (buf_adds(b, "[") == -1)
		return -1;
	while (*p != '}' && *p != '\0') {
		buf_reset(&item);
		quoted = *p == '"';
		for (p += quoted; *p != '\0'; p++) {
			if (quoted ? *p == '"' : *p == ',' || *p == '}')
				break;
			if (*p == '\\' && p[1] != '\0')
				p++;
			if (buf_add(&item, p, 1) == -1)
				goto out;
		}
		if (quoted && *p == '"')
			p++;
		if (!quoted && item.s != NULL && strcmp(item.s, "NULL") == 0) {
			if (buf_adds(b, "null") == -1)
				goto out;
		} else if (add_value(b, type, item.s == NULL ? "" : item.s,
		    item.len) == -1)
			goto out;
		if (*p == ',' && (p++, buf_adds(b, ",") == -1))
			goto out;
	}
	rc = buf_adds(b, "]");
out:
	buf_free(&item);
	return rc;
}

/* The text of a value, for people and for JSON strings. */
static int
add_text(struct buf *b, int type, const char *s, size_t len)
{
	unsigned int	 byte;
	char		 c;

	/* "2026-01-02 03:04:05.678+00", but neither infinity nor BC */
	if (type == T_TIMESTAMPTZ && len >= 22 && s[10] == ' ' &&
	    strcmp(s + len - 3, "+00") == 0)
		return buf_addf(b, "%.10sT%.*sZ", s, (int)len - 14, s + 11);
	if (type != T_BYTEA || strncmp(s, "\\x", 2) != 0)
		return buf_add(b, s, len);
	for (s += 2; sscanf(s, "%2x", &byte) == 1; s += 2) {
		c = (char)byte;
		if (buf_add(b, &c, 1) == -1)
			return -1;
	}
	return 0;
}

static int
table(FILE *f, const PGresult *r)
{
	struct buf	 cell = BUF_INIT(MAX_ROW);
	int		*width, row, col, w, rc = -1;
	int		 nrow = PQntuples(r), ncol = PQnfields(r);

	if ((width = calloc((size_t)ncol + 1, sizeof(*width))) == NULL)
		return -1;
	for (row = -1; row < nrow; row++)
		for (col = 0; col < ncol; col++) {
			if (add_cell(&cell, r, row, col) == -1)
				goto out;
			w = columns(cell.s);
			if (w > width[col])
				width[col] = w;
		}
	for (row = -1; row < nrow; row++)
		if (print_line(f, r, row, width) == -1)
			goto out;
	rc = 0;
out:
	buf_free(&cell);
	free(width);
	return rc;
}

/* Row -1 is the heading. */
static int
print_line(FILE *f, const PGresult *r, int row, const int *width)
{
	struct buf	 cell = BUF_INIT(MAX_ROW);
	int		 col, pad, right, rc = -1, ncol = PQnfields(r);

	for (col = 0; col < ncol; col++) {
		if (add_cell(&cell, r, row, col) == -1)
			goto out;
		right = is_number((int)PQftype(r, col));
		pad = width[col] - columns(cell.s);
		if (col + 1 == ncol && !right)
			pad = 0;
		if (fprintf(f, "%s%*s%s%*s", col > 0 ? "  " : "",
		    right ? pad : 0, "", cell.s, right ? 0 : pad, "") < 0)
			goto out;
	}
	rc = putc('\n', f) == EOF ? -1 : 0;
out:
	buf_free(&cell);
	return rc;
}

/* One cell as it is shown.  Row -1 is the heading. */
static int
add_cell(struct buf *cell, const PGresult *r, int row, int col)
{
	struct buf	 text = BUF_INIT(MAX_ROW);
	int		 rc, type = (int)PQftype(r, col);
	const char	*s = row < 0 ? PQfname(r, col) :
			    PQgetvalue(r, row, col);
	size_t		 len = strlen(s);

	buf_reset(cell);
	if (row >= 0 && PQgetisnull(r, row, col))
		return buf_adds(cell, "-");
	if (row >= 0 && (type == T_BOOL || type == T_JSON ||
	    type == T_JSONB || type == T_TEXTS || type == T_INT8S))
		rc = add_value(&text, type, s, len);
	else
		rc = add_text(&text, row < 0 ? 0 : type, s, len);
	if (rc == 0)
		rc = add_safe(cell, text.s, text.len,
		    col + 1 < PQnfields(r) ? OUT_CELL : INT_MAX);
	buf_free(&text);
	return rc;
}

/* Text as a terminal may have it, at most max columns wide. */
static int
add_safe(struct buf *cell, const char *s, size_t len, int max)
{
	unsigned int	 c;
	size_t		 i, n;
	int		 width = 0, w;

	if (buf_adds(cell, "") == -1)
		return -1;
	for (i = 0; i < len; i += n) {
		n = utf8(s + i, len - i, &c);
		w = n == 0 || unsafe(c) ? 4 : PQdsplen(s + i, encoding());
		if (width + w > max)
			return buf_adds(cell, "...");
		width += w;
		if (n > 0 && !unsafe(c)) {
			if (buf_add(cell, s + i, n) == -1)
				return -1;
			continue;
		}
		n = 1;
		if (buf_addf(cell, "\\x%02x", (unsigned char)s[i]) == -1)
			return -1;
	}
	return 0;
}

/* How wide safe text is on a screen. */
static int
columns(const char *s)
{
	int	 w = 0;

	for (; *s != '\0'; s += PQmblen(s, encoding()))
		w += PQdsplen(s, encoding());
	return w;
}

static int
encoding(void)
{
	static int	 utf8_id = -1;

	if (utf8_id == -1)
		utf8_id = pg_char_to_encoding("UTF8");
	return utf8_id;
}

static int
is_number(int type)
{
	return type == T_INT2 || type == T_INT4 || type == T_INT8 ||
	    type == T_FLOAT4 || type == T_FLOAT8 || type == T_NUMERIC;
}

/* The first character: its length in bytes, 0 if it is none. */
static size_t
utf8(const char *s, size_t len, unsigned int *c)
{
	static const unsigned char mask[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	unsigned char	 first = (unsigned char)*s;
	size_t		 i, n;

	n = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
	if (n > len || !opt_utf8(s, n))
		return 0;
	*c = first & mask[n];
	for (i = 1; i < n; i++)
		*c = *c << 6 | ((unsigned char)s[i] & 0x3f);
	return n;
}

/* Controls, and marks that are not seen or that turn the direction. */
static int
unsafe(unsigned int c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) ||
	    (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
	    (c >= 0x2060 && c <= 0x206f) || c == 0xfeff;
}
