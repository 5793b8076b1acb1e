/*
 * db, arr: sessions, errors and their exit codes, arrays there and back.
 * Against the server of the PG* environment, in a schema of its own.
 */
#include <poll.h>
#include <stdlib.h>
#include <sysexits.h>
#include <unistd.h>

#include "arr.h"
#include "db_async.h"
#include "tap.h"

static const struct stmt	 one = { "t_one",
    "select $1::text, current_setting('statement_timeout'),"
    " current_setting('lock_timeout'), current_setting('TimeZone'),"
    " current_setting('application_name'), current_setting('search_path')",
    1 };
static const struct stmt	 arrays = { "t_arrays",
    "select a, b, convert_from(c, 'latin1'), d, e, f"
    " from unnest($1::bigint[], $2::text[], $3::bytea[], $4::integer[],"
    " $5::boolean[], $6::timestamptz[]) u (a, b, c, d, e, f)", 6 };

static void
refused(void)
{
	struct db	 db = DB_INIT;

	is_int(db_open(&db, "nonsense==", "unit"), -1, "nonsense is refused");
	is_int(db_exitcode(&db), EX_USAGE, "... as a usage error");
	ok(strchr(db_error(&db), '\n') == NULL, "... in one line");
	db_close(&db);
	is_int(db_open(&db, "host=/nowhere", "unit"), -1, "no server");
	is_int(db_exitcode(&db), EX_TEMPFAIL, "... is to be tried again");
	ok(strchr(db_error(&db), '\n') == NULL && *db_error(&db) != '\0',
	    "... in one line");
	db_close(&db);
	db_close(&db);
	ok(1, "closed twice does no harm");
	setenv("HOOK_SCHEMA", "no such \"schema\"", 1);
	is_int(db_open(&db, NULL, "unit"), -1, "no schema");
	is_int(db_exitcode(&db), EX_UNAVAILABLE, "... is a service missing");
	is(db_error(&db), "schema no such \"schema\": no hookutils tables:"
	    " run hook-migrate", "... and says what to do");
	db_close(&db);
}

static void
session(struct db *db)
{
	setenv("PGOPTIONS", "-c statement_timeout=1234 -c lock_timeout=1234"
	    " -c TimeZone=Asia/Kolkata", 1);
	is_int(db_open(db, NULL, "unit"), 0, "a session");
	is_int(db_run(db, &one, DB_ARGS("it's")), 1, "a statement");
	is(db_col(db, 0, 0), "it's", "its parameter comes back");
	is(db_col(db, 0, 1), "0", "timeouts of the role are off");
	is(db_col(db, 0, 2), "0", "... for locks, too");
	is(db_col(db, 0, 3), "UTC", "the zone is UTC");
	is(db_col(db, 0, 4), "unit", "the tool is the application's name");
	ok(strstr(db_col(db, 0, 5), "pg_temp") != NULL,
	    "... pg_temp is last in the path");
	is_int(db_run(db, &one, DB_ARGS(NULL)), 1, "null");
	ok(db_col(db, 0, 0) == NULL && db_int(db, 0, 0) == 0, "... is null");
}

static void
errors(struct db *db)
{
	static const struct {
		const char	*state;
		int		 code;
	} want[] = {
		{ "08006", EX_TEMPFAIL }, { "40001", EX_TEMPFAIL },
		{ "40P01", EX_TEMPFAIL }, { "53100", EX_TEMPFAIL },
		{ "55P03", EX_TEMPFAIL }, { "57014", EX_TEMPFAIL },
		{ "57P01", EX_TEMPFAIL }, { "57P03", EX_TEMPFAIL },
		{ "25006", EX_TEMPFAIL }, { "25P03", EX_TEMPFAIL },
		{ "58030", EX_TEMPFAIL }, { "0A000", EX_TEMPFAIL },
		{ "22P02", EX_DATAERR }, { "23505", EX_DATAERR },
		{ "54000", EX_DATAERR }, { "P0001", EX_DATAERR },
		{ "42501", EX_UNAVAILABLE }, { "42P01", EX_UNAVAILABLE },
		{ "28000", EX_UNAVAILABLE }, { "42703", EX_SOFTWARE },
		{ "XX000", EX_SOFTWARE },
	};
	char	 sql[200];
	size_t	 i;

	for (i = 0; i < sizeof(want) / sizeof(*want); i++) {
		snprintf(sql, sizeof(sql), "do $$ begin raise exception 'of"
		    "\tall\nlines' using errcode = '%s'; end $$",
		    want[i].state);
		ok(db_exec(db, sql) == -1 &&
		    strcmp(db->sqlstate, want[i].state) == 0, want[i].state);
		is_int(db_exitcode(db), want[i].code, "... its exit status");
	}
	is(db_error(db), "of all lines", "a reason is one line");
	ok(!db_lost(db), "the session is good for more");
}

static void
roundtrip(struct db *db)
{
	struct arr	 a[6];
	struct db_arg	 arg[6];
	enum arr_type	 type[] = { ARR_INT8, ARR_TEXT, ARR_BYTEA, ARR_INT4,
			    ARR_BOOL, ARR_TIMESTAMPTZ };
	size_t		 i;

	for (i = 0; i < 6; i++)
		arr_init(&a[i], type[i]);
	arr_int8(&a[0], INT64_MIN);
	arr_bytes(&a[1], "{\"a,\\}\n", 7);
	arr_bytes(&a[2], "\001\377'\\", 4);
	arr_int4(&a[3], -1);
	arr_bool(&a[4], 1);
	arr_int8(&a[5], 1);
	for (i = 0; i < 6; i++) {
		arr_null(&a[i]);
		arg[i] = arr_arg(&a[i]);
	}
	is_int(db_runv(db, &arrays, 6, arg), 2, "arrays of each type");
	is(db_col(db, 0, 0), "-9223372036854775808", "a bigint");
	is(db_col(db, 0, 1), "{\"a,\\}\n", "a text");
	is(db_col(db, 0, 2), "\001\303\277'\\", "bytes");
	is(db_col(db, 0, 3), "-1", "an integer");
	is(db_col(db, 0, 4), "t", "a boolean");
	is(db_col(db, 0, 5), "2000-01-01 00:00:00.000001+00", "a time");
	for (i = 0; i < 6; i++) {
		ok(db_col(db, 1, (int)i) == NULL, "... and null");
		arr_reset(&a[i]);
		arg[i] = arr_arg(&a[i]);
	}
	is_int(db_runv(db, &arrays, 6, arg), 0, "empty arrays");
	arr_bytes(&a[1], "\xff", 1);
	arg[1] = arr_arg(&a[1]);
	is_int(db_runv(db, &arrays, 6, arg), -1, "text that is not UTF-8");
	is_int(db_exitcode(db), EX_DATAERR, "... is the caller's fault");
	for (i = 0; i < 6; i++)
		arr_free(&a[i]);
}

static int
step(struct db *db)
{
	struct pollfd	 pfd;
	int		 rc;

	while ((rc = db_step(db)) == 0) {
		pfd.fd = db_socket(db);
		pfd.events = db_writes(db) ? POLLIN | POLLOUT : POLLIN;
		if (db->connecting)
			pfd.events = db_writes(db) ? POLLOUT : POLLIN;
		if (poll(&pfd, 1, 10000) != 1)
			return -2;
	}
	return rc;
}

static void
async(struct db *other)
{
	struct db	 db = DB_INIT;

	is_int(db_start(&db, NULL, "unit"), 0, "begin to connect");
	is_int(step(&db), 1, "... connected");
	ok(db_listen(&db, "unit") == 0 && db_prepare(&db, &one) == 0,
	    "listen, make a statement ready");
	is_int(db_send(&db, &one, 1, (struct db_arg[]){ { "x", DB_TEXT } }, 0),
	    0, "send it");
	is_int(step(&db), 1, "... its result is there");
	is(db_col(&db, 0, 0), "x", "... and right");
	is_int(db_notified(&db), 0, "nobody told anything");
	ok(db_exec(other, "select pg_notify(webhook_channel('unit'), '')") != -1
	    && db_wait(&db, 5000) == 1, "a notification");
	ok(db_exec(other, "select pg_notify(webhook_channel('unit'), ''),"
	    " pg_notify(webhook_channel('unit'), 'subscription')") != -1 &&
	    db_wait(&db, 5000) == 2, "... of a change");
	is_int(db_wait(&db, 10), 0, "... and no more");

	is_int(db_exec(&db, "select pg_terminate_backend(pg_backend_pid())"),
	    -1, "the server ends it");
	ok(db_lost(&db) && db_exitcode(&db) == EX_TEMPFAIL,
	    "... it is lost, and to be tried again");
	ok(strchr(db_error(&db), '\n') == NULL, "... said in one line");
	db_close(&db);
}

int
main(void)
{
	struct db	 db = DB_INIT;
	char		 sql[100], name[40];

	refused();
	snprintf(name, sizeof(name), "unit Db %ld", (long)getpid());
	setenv("HOOK_SCHEMA", name, 1);
	if (system("scripts/hook-migrate >/dev/null 2>&1") != 0) {
		ok(0, "hook-migrate makes a schema for this test");
		return done_testing();
	}
	session(&db);
	errors(&db);
	roundtrip(&db);
	async(&db);
	snprintf(sql, sizeof(sql), "set client_min_messages = error;"
	    " drop schema \"%s\" cascade", name);
	is_int(db_exec(&db, sql), 0, "clean up");
	db_close(&db);
	return done_testing();
}
