/*
 * A session: how it begins, is waited for, and ends.
 *
 * A session has HOOK_SCHEMA (default public) and pg_temp as its search path,
 * UTF-8, UTC, and no server-side timeouts: those a role or database sets are
 * switched off, since a tool bounds its own statements by their size.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

#include <libpq-fe.h>

#include "config.h"
#include "db.h"
#include "db_async.h"
#include "db_int.h"

#define CONNECT_TIMEOUT	"10"	/* seconds, unless conninfo says otherwise */
#define TCP_TIMEOUT_MS	"30000"	/* a host that vanished is noticed */

/* What db.connecting waits for. */
enum { LOGIN = 1, SETUP, VERSION_ROW };

static int	 connected(struct db *);
static int	 finish_connect(struct db *);
static int	 good_setup(struct db *);
static int	 log_in(struct db *);
static int	 next_to_connect(struct db *);
static int	 send_setup(struct db *);
static int	 step_sent(struct db *);

/*
 * Everything a session needs, in one round trip.  Timeouts that a role or a
 * database sets would end our statements at random; ours are bounded by
 * their size instead.  jit costs more than it gives on short statements.
 */
static const char setup[] =
    "select pg_is_in_recovery()"
    "  or current_setting('default_transaction_read_only')::boolean,"
    " exists (select from pg_class c join pg_namespace n"
    "  on n.oid = c.relnamespace where n.nspname = $1"
    "  and c.relname = 'webhook_migrations'),"
    " set_config('search_path', quote_ident($1) || ', pg_temp', false),"
    " set_config('TimeZone', 'UTC', false),"
    " set_config('DateStyle', 'ISO, YMD', false),"
    " set_config('IntervalStyle', 'postgres', false),"
    " set_config('bytea_output', 'hex', false),"
    " set_config('standard_conforming_strings', 'on', false),"
    " set_config('jit', 'off', false),"
    " set_config('default_transaction_isolation', 'read committed', false),"
    " (select count(set_config(name, '0', false)) from pg_settings"
    "  where name in ('statement_timeout', 'lock_timeout',"
    "  'idle_in_transaction_session_timeout', 'idle_session_timeout',"
    "  'transaction_timeout'))";

static const char version_row[] =
    "select coalesce(max(version), 0) from webhook_migrations";

static const char *
schema(void)
{
	const char	*s = getenv("HOOK_SCHEMA");

	return s == NULL || *s == '\0' ? "public" : s;
}

static int64_t
now_ms(void)
{
	struct timespec	 ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* A server's notices are no business of a pipeline's stderr. */
static void
no_notice(void *arg, const char *text)
{
	(void)arg;
	(void)text;
}

int
db_start(struct db *db, const char *conninfo, const char *tool)
{
	/* What is before dbname gives way to the conninfo. */
	const char	*key[] = { "connect_timeout", "tcp_user_timeout",
			    "keepalives_idle", "keepalives_interval",
			    "keepalives_count", "fallback_application_name",
			    "dbname", "application_name", "client_encoding",
			    NULL };
	const char	*val[] = { CONNECT_TIMEOUT, TCP_TIMEOUT_MS, "10", "5",
			    "4", tool, conninfo, tool, "UTF8", NULL };
	int		 (*wait)(void *, int, int, int) = db->wait;
	void		*wait_arg = db->wait_arg;
	int		 any_schema = db->any_schema;
	PQconninfoOption *o;
	char		*why = NULL;

	memset(db, 0, sizeof(*db));
	db->wait = wait;
	db->wait_arg = wait_arg;
	db->any_schema = any_schema;
	db->tool = tool;
	if (conninfo != NULL && (strchr(conninfo, '=') != NULL ||
	    strstr(conninfo, "://") != NULL)) {
		if ((o = PQconninfoParse(conninfo, &why)) == NULL) {
			db_fail(db, EX_USAGE, "-d: %s",
			    why == NULL ? "out of memory" : why);
			PQfreemem(why);
			return -1;
		}
		PQconninfoFree(o);
	}
	if (getenv("PGCONNECT_TIMEOUT") != NULL)
		val[0] = getenv("PGCONNECT_TIMEOUT");
	db->conn = PQconnectStartParams(key, val, 1);
	if (db->conn == NULL)
		return db_fail(db, EX_TEMPFAIL, "out of memory");
	PQsetNoticeProcessor(db->conn, no_notice, NULL);
	if (PQstatus(db->conn) == CONNECTION_BAD)
		return db_failed_conn(db);
	db->connecting = LOGIN;
	db->wants_write = 1;
	db->connect_by_ms = now_ms() + atoi(CONNECT_TIMEOUT) * 1000;
	return 0;
}

int
db_open(struct db *db, const char *conninfo, const char *tool)
{
	struct pollfd	 pfd;
	int		 rc;

	if (db_start(db, conninfo, tool) == -1)
		return -1;
	db->patient = 1;
	while ((rc = db_step(db)) == 0) {
		if (db->wait != NULL) {
			if (db->wait(db->wait_arg, db_socket(db),
			    db->wants_write, 1000) == -1)
				return db_fail(db, EX_TEMPFAIL,
				    "database: given up");
			continue;
		}
		pfd.fd = db_socket(db);
		pfd.events = db->wants_write ? POLLOUT : POLLIN;
		rc = poll(&pfd, 1, db->connecting == LOGIN ?
		    atoi(CONNECT_TIMEOUT) * 1000 : -1);
		if (rc == 0)
			return db_fail(db, EX_TEMPFAIL,
			    "database: no answer within %s s",
			    CONNECT_TIMEOUT);
		if (rc == -1 && errno != EINTR)
			return db_fail(db, EX_TEMPFAIL, "poll: %s",
			    strerror(errno));
	}
	return rc == 1 && PQsetnonblocking(db->conn, 0) == 0 ? 0 : -1;
}

PGresult *
db_await(struct db *db, int sent)
{
	PGresult	*r, *last = NULL;
	int		 unsent = 1;

	if (sent == 0)
		return NULL;
	for (;;) {
		while (db->wait != NULL &&
		    ((unsent && (unsent = PQflush(db->conn)) == 1) ||
		    PQisBusy(db->conn))) {
			if (db->wait(db->wait_arg,
			    PQsocket(db->conn), unsent, 1000) == -1) {
				PQclear(last);
				db_close(db);
				return NULL;
			}
			if (PQconsumeInput(db->conn) == 0)
				break;
		}
		if ((r = PQgetResult(db->conn)) == NULL)
			return last;
		PQclear(last);
		last = r;
		if (PQresultStatus(r) == PGRES_COPY_IN ||
		    PQresultStatus(r) == PGRES_COPY_OUT ||
		    PQstatus(db->conn) == CONNECTION_BAD)
			return last;
	}
}

int
db_step(struct db *db)
{
	if (db->conn == NULL)
		return -1;
	return db->connecting ? finish_connect(db) : step_sent(db);
}

static int
step_sent(struct db *db)
{
	PGresult	*r;

	if (db->wants_write) {
		switch (PQflush(db->conn)) {
		case -1:
			return db_failed_conn(db);
		case 0:
			db->wants_write = 0;
		}
	}
	if (PQconsumeInput(db->conn) == 0)
		return db_failed_conn(db);
	if (!db->sending)
		return 1;
	while (PQisBusy(db->conn) == 0) {
		if ((r = PQgetResult(db->conn)) == NULL) {
			db->sending = 0;
			r = db->got;
			db->got = NULL;
			return r == NULL ? db_failed_conn(db) :
			    db_keep(db, r) == -1 ? -1 : 1;
		}
		if (db->got != NULL)
			PQclear(db->got);
		db->got = r;
	}
	return 0;
}

/*
 * A server may stop at any moment of this.  db_open() waits for one that has
 * let it in, since a migration may hold what is asked for.
 */
static int
finish_connect(struct db *db)
{
	int	 rc = db->connecting == LOGIN ? log_in(db) : step_sent(db);

	if (rc == 1)
		rc = next_to_connect(db);
	if (rc == 0 && now_ms() >= db->connect_by_ms &&
	    (db->connecting == LOGIN || !db->patient))
		return db_fail(db, EX_TEMPFAIL, "database: no answer"
		    " within %s s", CONNECT_TIMEOUT);
	return rc;
}

static int
log_in(struct db *db)
{
	switch (PQconnectPoll(db->conn)) {
	case PGRES_POLLING_OK:
		return 1;
	case PGRES_POLLING_READING:
		db->wants_write = 0;
		return 0;
	case PGRES_POLLING_WRITING:
		db->wants_write = 1;
		return 0;
	default:
		return db_failed_conn(db);
	}
}

/* One thing is done: send the next; 1 when there is none. */
static int
next_to_connect(struct db *db)
{
	int	 sent;

	switch (db->connecting) {
	case LOGIN:
		sent = PQsetnonblocking(db->conn, 1) == 0 && send_setup(db);
		break;
	case SETUP:
		if (good_setup(db) == -1)
			return -1;
		if (db->any_schema) {
			db->connecting = 0;
			return 1;
		}
		sent = PQsendQuery(db->conn, version_row);
		break;
	default:
		db->connecting = 0;
		return db_version_is(db, db_int(db, 0, 0)) == -1 ? -1 : 1;
	}
	if (!sent)
		return db_failed_conn(db);
	db->connecting++;
	db->sending = db->wants_write = 1;
	return 0;
}

/* Make the connection a session of ours. */
static int
send_setup(struct db *db)
{
	const char	*val[] = { schema() };

	PQsetErrorVerbosity(db->conn, PQERRORS_DEFAULT);
	return PQsendQueryParams(db->conn, setup, 1, NULL, val, NULL, NULL,
	    0);
}

/* Is it one that we can use? */
static int
good_setup(struct db *db)
{
	if (*db_col(db, 0, 0) == 't')
		return db_fail(db, EX_TEMPFAIL,
		    "database: server is read-only");
	if (!db->any_schema && *db_col(db, 0, 1) == 'f')
		return db_fail(db, EX_UNAVAILABLE, "schema %s: no hookutils"
		    " tables: run hook-migrate", schema());
	return 0;
}

/* All of it, waiting. */
static int
connected(struct db *db)
{
	if (db_keep(db, db_await(db, send_setup(db))) == -1 ||
	    good_setup(db) == -1)
		return -1;
	return db->any_schema ? 0 : db_exec(db, version_row) == -1 ? -1 :
	    db_version_is(db, db_int(db, 0, 0));
}

int
db_version_is(struct db *db, int64_t version)
{
	if (version == SCHEMA_VERSION)
		return 0;
	return db_fail(db, EX_UNAVAILABLE, "schema %s: version %lld, but this"
	    " is %s for version %d: %s", schema(), (long long)version,
	    db->tool, SCHEMA_VERSION, version < SCHEMA_VERSION ?
	    "run hook-migrate" : "install the newer hookutils");
}

void
db_close(struct db *db)
{
	PQclear(db->res);
	PQclear(db->got);
	PQfinish(db->conn);
	db->res = db->got = NULL;
	db->conn = NULL;
	db->nready = 0;
	db->connecting = db->sending = db->wants_write = 0;
}

int
db_plan_by_index(struct db *db)
{
	return db_exec(db,
	    "set enable_seqscan = off; set enable_hashjoin = off;"
	    " set enable_mergejoin = off; set enable_bitmapscan = off;"
	    " set plan_cache_mode = force_generic_plan;"
	    /* Since PostgreSQL 14; no row is looked up twice. */
	    " select set_config(name, 'off', false) from pg_settings"
	    " where name = 'enable_memoize'");
}

int
db_settings(struct db *db)
{
	if (db_exec(db, "reset session authorization") == -1 ||
	    db_exec(db, "reset all") == -1 ||
	    db_exec(db, "reset role") == -1)
		return -1;
	return connected(db);
}

int
db_fresh(struct db *db)
{
	db->nready = 0;
	return db_exec(db, "discard all") == -1 ? -1 : connected(db);
}

int
db_socket(const struct db *db)
{
	return db->conn == NULL ? -1 : PQsocket(db->conn);
}

int
db_writes(struct db *db)
{
	return db->wants_write;
}

int
db_lost(const struct db *db)
{
	return db->conn == NULL || PQstatus(db->conn) != CONNECTION_OK ||
	    strncmp(db->sqlstate, "08", 2) == 0 ||
	    strcmp(db->sqlstate, "25006") == 0 ||
	    strcmp(db->sqlstate, "0A000") == 0;
}
