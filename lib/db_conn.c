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
#include "db_host.h"
#include "db_int.h"

#define CONNECT_TIMEOUT_S 10	/* a host, unless connect_timeout is given */
#define TCP_TIMEOUT_MS	"30000"	/* a host that vanished is noticed */

/* What db.connecting waits for. */
enum { LOGIN = 1, SETUP };

static int	 connected(struct db *);
static int	 dial(struct db *, const char *);
static int	 finish_connect(struct db *);
static int	 good_setup(struct db *, int);
static int	 log_in(struct db *);
static int	 patiently(struct db *);
static int	 send_setup(struct db *);
static int	 step_sent(struct db *);

/*
 * Everything a session needs, in one round trip; settings by SET, which costs
 * a tenth of what set_config() and pg_settings do.  Timeouts that a role or a
 * database sets would end our statements at random; ours are bounded by
 * their size instead.  jit costs more than it gives on short statements.
 */
static const char setup[] =
    "set TimeZone = 'UTC'; set DateStyle = 'ISO, YMD';"
    " set IntervalStyle = 'postgres'; set bytea_output = 'hex';"
    " set standard_conforming_strings = on; set quote_all_identifiers = off;"
    " set jit = off;"
    " set default_transaction_isolation = 'read committed';"
    " set statement_timeout = 0; set lock_timeout = 0;"
    " set idle_in_transaction_session_timeout = 0;";
static const char since_14[] = " set idle_session_timeout = 0;";
static const char since_17[] = " set transaction_timeout = 0;";
static const char look[] = " select pg_is_in_recovery()"
    " or current_setting('default_transaction_read_only')::boolean";
static const char version_too[] =
    ", (select coalesce(max(version), 0) from webhook_migrations)";

#define NO_TABLE	"42P01"		/* sqlstate */
#define NO_RIGHT	"42501"

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
	int		 (*wait)(void *, int, int, int) = db->wait;
	void		*wait_arg = db->wait_arg;
	int		 any_schema = db->any_schema;
	unsigned	 turn = db->turn;
	PQconninfoOption *o;
	char		*why = NULL;

	memset(db, 0, sizeof(*db));
	db->wait = wait;
	db->wait_arg = wait_arg;
	db->any_schema = any_schema;
	db->turn = turn;
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
	if (dial(db, conninfo) == -1)
		return -1;
	db->connecting = LOGIN;
	db->wants_write = 1;
	db->connect_by_ms = now_ms() + (int64_t)db->timeout_s * 1000;
	return 0;
}

/* Begin to connect, to the host whose turn it is. */
static int
dial(struct db *db, const char *conninfo)
{
	struct db_hosts	 h = { 0 };
	/* What is before dbname gives way to the conninfo. */
	const char	*key[] = { "tcp_user_timeout", "keepalives_idle",
			    "keepalives_interval", "keepalives_count",
			    "target_session_attrs",
			    "fallback_application_name",
			    "dbname", "application_name", "client_encoding",
			    "host", "hostaddr", "port", NULL };
	const char	*val[] = { TCP_TIMEOUT_MS, "10", "5", "4",
			    "read-write", db->tool, conninfo, db->tool,
			    "UTF8", NULL, NULL, NULL, NULL };
	const size_t	 attrs = 4, host = 9;
	int		 rc;

	if (getenv("PGTARGETSESSIONATTRS") != NULL)
		val[attrs] = getenv("PGTARGETSESSIONATTRS");
	db->conn = PQconnectStartParams(key, val, 1);
	if (db->conn == NULL ||
	    (rc = db_hosts(&h, db->conn, db->turn)) == -1)
		return db_fail(db, EX_TEMPFAIL, "out of memory");
	db->hosts = h.n;
	db->timeout_s = h.timeout_s > 0 ? (unsigned)h.timeout_s :
	    CONNECT_TIMEOUT_S;
	if (db->turn % h.n != 0) {
		PQfinish(db->conn);
		val[host] = h.host;
		val[host + 1] = h.hostaddr;
		val[host + 2] = h.port;
		db->conn = PQconnectStartParams(key, val, 1);
	}
	db_hosts_free(&h);
	if (db->conn == NULL)
		return db_fail(db, EX_TEMPFAIL, "out of memory");
	PQsetNoticeProcessor(db->conn, no_notice, NULL);
	return PQstatus(db->conn) == CONNECTION_BAD ? db_failed_conn(db) : 0;
}

int
db_open(struct db *db, const char *conninfo, const char *tool)
{
	unsigned	 tried = 0, turn;
	int		 rc;

	do {
		turn = db->turn;
		db_close(db);
		rc = db_start(db, conninfo, tool) == -1 ? -1 : patiently(db);
	} while (rc == -1 && db->turn != turn && ++tried < db->hosts);
	return rc;
}

static int
patiently(struct db *db)
{
	struct pollfd	 pfd;
	int		 rc;

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
		rc = poll(&pfd, 1, db->connecting == LOGIN ? 1000 : -1);
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
	int	 rc;

	if (db->connecting == SETUP) {
		if ((rc = step_sent(db)) != 0) {
			db->connecting = 0;
			return good_setup(db, rc) == -1 ? -1 : 1;
		}
	} else if ((rc = log_in(db)) == 1) {
		if (PQsetnonblocking(db->conn, 1) == -1 ||
		    send_setup(db) == 0)
			return db_failed_conn(db);
		db->connecting = SETUP;
		db->sending = db->wants_write = 1;
		rc = 0;
	}
	if (rc == 0 && now_ms() >= db->connect_by_ms &&
	    (db->connecting == LOGIN || !db->patient)) {
		db->turn++;
		return db_fail(db, EX_TEMPFAIL, "database: no answer from"
		    " %s within %u s", PQhost(db->conn), db->timeout_s);
	}
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

/* Make the connection a session of ours: was it sent? */
static int
send_setup(struct db *db)
{
	int	 of = PQserverVersion(db->conn), sent = 0;
	char	*path, *sql = NULL;

	PQsetErrorVerbosity(db->conn, PQERRORS_DEFAULT);
	path = PQescapeIdentifier(db->conn, schema(), strlen(schema()));
	if (path != NULL && asprintf(&sql, "set search_path = %s, pg_temp;"
	    " %s%s%s%s%s", path, setup, of >= 140000 ? since_14 : "",
	    of >= 170000 ? since_17 : "", look,
	    db->any_schema ? "" : version_too) == -1)
		sql = NULL;
	if (sql != NULL)
		sent = PQsendQuery(db->conn, sql);
	PQfreemem(path);
	free(sql);
	return sent;
}

/* Is it one that we can use?  rc is what came of it. */
static int
good_setup(struct db *db, int rc)
{
	if (rc == -1 && strcmp(db->sqlstate, NO_RIGHT) == 0)
		return db_fail(db, EX_UNAVAILABLE, "schema %s: role %s may not"
		    " use it: grant it the webhook_ role of its work",
		    schema(), PQuser(db->conn));
	if (rc == -1)
		return strcmp(db->sqlstate, NO_TABLE) != 0 ? -1 :
		    db_fail(db, EX_UNAVAILABLE, "schema %s: no hookutils"
		    " tables: run hook-migrate", schema());
	if (*db_col(db, 0, 0) == 't')
		return db_fail(db, EX_TEMPFAIL, "database: server is read-only"
		    " (a standby, or default_transaction_read_only is on)");
	return db->any_schema ? 0 : db_version_is(db, db_int(db, 0, 1));
}

/* All of it, waiting. */
static int
connected(struct db *db)
{
	return good_setup(db, db_keep(db, db_await(db, send_setup(db))));
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
