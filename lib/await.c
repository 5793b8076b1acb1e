#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "await.h"
#include "db_async.h"
#include "follow.h"
#include "stmt.h"

#define FIRST_PAUSE_MS	10
#define LONGEST_PAUSE_MS 1000

static enum await	 ask(struct db *, const char *);
static int64_t		 rest(int64_t *, int64_t);

enum await
await_event(struct db *db, const char *conninfo, const char *tool,
    const char *event_id, int64_t deadline_ms)
{
	enum await	 state;
	int64_t		 pause_ms = FIRST_PAUSE_MS;

	do {
		state = db->conn == NULL && db_open(db, conninfo, tool) == -1 ?
		    AWAIT_FAILED : ask(db, event_id);
		if (state == AWAIT_FAILED) {
			if (db_exitcode(db) != EX_TEMPFAIL)
				break;
			db_close(db);
		} else if (state != AWAIT_PENDING && state != AWAIT_WAITING)
			break;
	} while (rest(&pause_ms, deadline_ms) > 0);
	return state;
}

int64_t
await_deadline(int64_t timeout_ms)
{
	return follow_now_ms() + timeout_ms;
}

const char *
await_phrase(enum await state, const struct db *db)
{
	switch (state) {
	case AWAIT_DELIVERED:
		return "delivered";
	case AWAIT_NOBODY:
		return "no subscription matched";
	case AWAIT_NOT:
		return "not delivered to all";
	case AWAIT_PENDING:
		return "not yet final";
	case AWAIT_WAITING:
		return "not yet fanned out (does hook-fanout run?)";
	default:
		return db_error(db);
	}
}

int
await_exitcode(enum await state, const struct db *db)
{
	switch (state) {
	case AWAIT_DELIVERED:
	case AWAIT_NOBODY:
		return EX_OK;
	case AWAIT_NOT:
		return 1;
	case AWAIT_PENDING:
	case AWAIT_WAITING:
		return EX_TEMPFAIL;
	default:
		return db_exitcode(db);
	}
}

static enum await
ask(struct db *db, const char *event_id)
{
	int	 i, n, undelivered = 0;

	if (db_run(db, &stmt_await_event, DB_ARGS(event_id)) == -1)
		return AWAIT_FAILED;
	if (db_rows(db) == 0 || db_col(db, 0, 0) == NULL)
		return db_run(db, &stmt_await_deliveries, DB_ARGS(event_id)) ==
		    -1 ? AWAIT_FAILED : AWAIT_WAITING;
	if ((n = db_run(db, &stmt_await_deliveries, DB_ARGS(event_id))) == -1)
		return AWAIT_FAILED;
	for (i = 0; i < n; i++)
		if (*db_col(db, i, 3) == 'p')
			return AWAIT_PENDING;
		else if (strcmp(db_col(db, i, 3), "delivered") != 0)
			undelivered = 1;
	return n == 0 ? AWAIT_NOBODY : undelivered ? AWAIT_NOT :
	    AWAIT_DELIVERED;
}

/* Sleep, ever longer; how much time is left then. */
static int64_t
rest(int64_t *pause_ms, int64_t deadline_ms)
{
	int64_t	 left_ms = deadline_ms - follow_now_ms();

	if (left_ms <= 0)
		return 0;
	if (*pause_ms > left_ms)
		*pause_ms = left_ms;
	usleep((useconds_t)(*pause_ms * 1000));
	*pause_ms += *pause_ms / 2;
	if (*pause_ms > LONGEST_PAUSE_MS)
		*pause_ms = LONGEST_PAUSE_MS;
	return left_ms;
}
