/* out: a value's type decides how it is written; nothing breaks the line. */
#include <stdlib.h>
#include <unistd.h>

#include <libpq-fe.h>

#include "db.h"
#include "out.h"
#include "tap.h"

#define MAX_COLUMNS	8

static FILE	*file;

static char *
printed(void)
{
	static char	 text[8192];
	size_t		 n;

	fflush(stdout);
	rewind(file);
	n = fread(text, 1, sizeof(text) - 1, file);
	text[n] = '\0';
	rewind(file);
	if (ftruncate(fileno(file), 0) == -1)
		abort();
	return text;
}

/* A result of one row; types, names and values by turns. */
static PGresult *
row(int n, const Oid *type, const char *const *name, const char *const *value)
{
	PGresAttDesc	 desc[MAX_COLUMNS];
	PGresult	*r = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
	int		 i;

	memset(desc, 0, sizeof(desc));
	for (i = 0; i < n; i++) {
		desc[i].name = (char *)(uintptr_t)name[i];
		desc[i].typid = type[i];
	}
	PQsetResultAttrs(r, n, desc);
	for (i = 0; i < n; i++)
		PQsetvalue(r, 0, i, (char *)(uintptr_t)value[i],
		    value[i] == NULL ? -1 : (int)strlen(value[i]));
	return r;
}

/* What one value of a type becomes as JSON. */
static char *
json(Oid type, const char *value)
{
	struct db	 db = DB_INIT;

	db.res = row(1, &type, (const char *const []){ "v" },
	    (const char *const []){ value });
	out_row(&db, 0);
	PQclear(db.res);
	return printed();
}

static char *
shown(const struct db *db, enum out_form form)
{
	if (out_rows(db, form) == -1)
		return NULL;
	return printed();
}

static void
values(void)
{
	static const struct {
		Oid		 type;
		const char	*value, *want, *name;
	} t[] = {
		{ 20, "-7", "-7", "bigint" },
		{ 701, "1.5e-07", "1.5e-07", "float" },
		{ 701, "NaN", "\"NaN\"", "NaN is no JSON number" },
		{ 1700, "-Infinity", "\"-Infinity\"", "nor is infinity" },
		{ 16, "t", "true", "boolean" },
		{ 25, NULL, "null", "null" },
		{ 25, "", "\"\"", "empty text" },
		{ 25, "a\"b\\c\nd\te", "\"a\\\"b\\\\c\\nd\\u0009e\"",
		    "text is escaped" },
		{ 25, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
		    "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"",
		    "UTF-8 stays as it is" },
		{ 25, "\x1b[2J\x7f\xc2\x9b\xe2\x80\xae",
		    "\"\\u001b[2J\\u007f\\u009b\\u202e\"",
		    "controls and direction marks are escaped" },
		{ 25, "\xff" "a\xc3", "\"\\\\xffa\\\\xc3\"",
		    "invalid UTF-8 is shown as bytes" },
		{ 114, "{\"a\" :1,\r\n \"a\":1.0}", "{\"a\" :1,   \"a\":1.0}",
		    "json as it is, on one line" },
		{ 1184, "2026-01-02 03:04:05.678+00",
		    "\"2026-01-02T03:04:05.678Z\"", "a time is RFC 3339" },
		{ 1184, "2026-01-02 03:04:05+00", "\"2026-01-02T03:04:05Z\"",
		    "also without a fraction" },
		{ 1184, "infinity", "\"infinity\"", "infinity stays" },
		{ 1184, "0044-03-15 00:00:00+00 BC",
		    "\"0044-03-15 00:00:00+00 BC\"", "so does BC" },
		{ 1009, "{}", "[]", "an empty array" },
		{ 1009, "{a,\"b \\\"c\\\\\",NULL,\"NULL\",\"\",\"x,}\"}",
		    "[\"a\",\"b \\\"c\\\\\",null,\"NULL\",\"\",\"x,}\"]",
		    "an array of text" },
		{ 1016, "{5000,-1}", "[5000,-1]", "an array of numbers" },
		{ 1009, "{{a},{b}}", "\"{{a},{b}}\"",
		    "two dimensions are text" },
		{ 17, "\\x6f6b0a00ffc3a9", "\"ok\\n\\u0000\\\\xff\xc3\xa9\"",
		    "bytea is text as far as it goes" },
		{ 3904, "[1,2)", "\"[1,2)\"", "any other type is text" },
	};
	char	 want[128];
	size_t	 i;

	for (i = 0; i < sizeof(t) / sizeof(*t); i++) {
		snprintf(want, sizeof(want), "{\"v\":%s}\n", t[i].want);
		is(json(t[i].type, t[i].value), want, t[i].name);
	}
}

static void
forms(void)
{
	static const Oid	 type[] = { 20, 25, 1184, 25 };
	static const char *const name[] = { "id", "name", "at", "error" };
	static const char *const one[] = {
		"12345", "\xe6\x97\xa5", "2026-01-02 03:04:05+00", "x\x1b[2J"
	};
	char			 longer[80];
	const char		*cut[4] = { "1", longer, NULL, longer };
	struct db		 db = DB_INIT;
	enum out_form		 form = OUT_AUTO;

	ok(out_form("table", &form) == 0 && form == OUT_TABLE, "-o table");
	ok(out_form("json", &form) == 0 && form == OUT_JSON, "-o json");
	ok(out_form("xml", &form) == -1 && form == OUT_JSON, "-o xml is not");

	db.res = row(4, type, name, one);
	is(shown(&db, OUT_TABLE),
	    "   id  name  at                    error\n"
	    "12345  \xe6\x97\xa5    2026-01-02T03:04:05Z  x\\x1b[2J\n",
	    "a table is aligned, wide characters and all");
	is(shown(&db, OUT_AUTO), "{\"id\":12345,\"name\":\"\xe6\x97\xa5\","
	    "\"at\":\"2026-01-02T03:04:05Z\",\"error\":\"x\\u001b[2J\"}\n",
	    "where there is no terminal, NDJSON");
	out_row_more(&db, 0, "\"more\":[1]");
	ok(strstr(printed(), "\",\"more\":[1]}\n") != NULL,
	    "members can be added");
	PQclear(db.res);

	memset(longer, 'a', 79);
	longer[79] = '\0';
	db.res = row(4, type, name, cut);
	is(strchr(shown(&db, OUT_TABLE), '\n'),
	    "\n 1  aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	    "...  -   aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	    "aaaaaaaaaaaaaaaaaaaaaaa\n", "a cell is cut, but not the last");
	PQclear(db.res);
}

int
main(void)
{
	int	 fd;

	/* What is tested goes into a file. */
	if ((file = tmpfile()) == NULL || (fd = dup(STDOUT_FILENO)) == -1 ||
	    (tap_file = fdopen(fd, "w")) == NULL ||
	    dup2(fileno(file), STDOUT_FILENO) == -1)
		return 1;
	values();
	forms();
	return done_testing();
}
