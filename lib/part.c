#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "part.h"
#include "stmt.h"

#define FEW_TRIES	2
#define PASSES		10	/* after new rows of a default partition */
#define FEW_ROWS	20	/* that are moved under the lock */
#define PAUSE_MS	100	/* between tries, doubling to ... */
#define PAUSE_MAX_MS	1000
#define NUMBER		24	/* bytes of a bigint's text */

static int	 attach(struct part *, const char *, const char *);
static int	 catch_up(struct part *, const char *, const char *);
static enum part_done left(struct part *);
static void	 pause_ms(int);
static int	 shrink(struct part *, const char *);

enum part_done
part_make(struct part *p, const char *parent, const char *day)
{
	int	 rc;

	if (db_exec(p->db, "begin") == -1 ||
	    db_run(p->db, &stmt_prune_fill, DB_ARGS(parent, day)) == -1)
		return PART_FAILED;
	if (db_col(p->db, 0, 0) == NULL)
		return db_exec(p->db, "rollback") == -1 ? PART_FAILED :
		    PART_GONE;
	p->rows = db_int(p->db, 0, 0);
	if ((rc = attach(p, parent, day)) == 1)
		p->rows += db_int(p->db, 0, 0);
	if (rc == -1 || db_exec(p->db, rc ? "commit" : "rollback") == -1 ||
	    part_limit(p->db, 0, 0) == -1)
		return PART_FAILED;
	if (rc == 0)
		return left(p);
	return p->rows > 0 && shrink(p, parent) == -1 ? PART_FAILED : PART_DONE;
}

/* The default partition, since the next attach reads it again. */
static int
shrink(struct part *p, const char *parent)
{
	static const char	*const all[] = {
		"vacuum webhook_outbox_default",
		"vacuum webhook_attempts_default",
		"vacuum webhook_deliveries_done_default",
		"vacuum webhook_deliveries_dead_default",
	};
	size_t	 i, skip = strlen("vacuum ");

	if (part_limit(p->db, p->wait_ms, 0) == -1)
		return -1;
	for (i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (strncmp(all[i] + skip, parent, strlen(parent)) == 0 &&
		    db_exec(p->db, all[i]) == -1 && !part_busy(p->db))
			return -1;
	return part_limit(p->db, 0, 0);
}

/* Whatever can be moved before the lock is; with it go the last ones. */
static int
attach(struct part *p, const char *parent, const char *day)
{
	int	 i;

	for (i = 0; ; i++) {
		if (part_limit(p->db, 0, 0) == -1 ||
		    catch_up(p, parent, day) == -1 ||
		    db_exec(p->db, "savepoint attach") == -1 ||
		    part_limit(p->db, p->wait_ms / 2, p->wait_ms) == -1)
			return -1;
		if (db_run(p->db, &stmt_prune_attach,
		    DB_ARGS(parent, day)) != -1)
			return 1;
		if (!part_busy(p->db))
			return -1;
		if (i == p->tries)
			return 0;
		if (db_exec(p->db, "rollback to attach") == -1)
			return -1;
		pause_ms(i);
	}
}

static int
catch_up(struct part *p, const char *parent, const char *day)
{
	int64_t	 n = FEW_ROWS;
	int	 i;

	for (i = 0; i < PASSES && n >= FEW_ROWS; i++) {
		if (db_run(p->db, &stmt_prune_move, DB_ARGS(parent, day)) == -1)
			return -1;
		p->rows += n = db_int(p->db, 0, 0);
	}
	return 0;
}

enum part_done
part_detach(struct part *p, const char *name)
{
	const char	*why;
	int		 i, n;

	p->needed = 0;
	if (part_limit(p->db, p->wait_ms / 2, p->wait_ms) == -1)
		return PART_FAILED;
	for (i = 0; (n = db_run(p->db, &stmt_prune_detach,
	    DB_ARGS(name, p->actor, p->reason))) == -1; i++) {
		if (!part_busy(p->db))
			return PART_FAILED;
		if (i == p->tries)
			break;
		pause_ms(i);
	}
	if (n > 0 && (why = db_col(p->db, 0, 0)) != NULL) {
		p->needed = 1;
		snprintf(p->why, sizeof(p->why), "%s", why);
	}
	if (part_limit(p->db, 0, 0) == -1)
		return PART_FAILED;
	if (p->needed)
		return PART_LEFT;
	return n == -1 ? left(p) : n == 0 ? PART_GONE : PART_DONE;
}

/* Only its own readers could have to wait, and there are none. */
enum part_done
part_drop(struct part *p, const char *name)
{
	int	 i, n;

	if (part_limit(p->db, p->wait_ms, 0) == -1)
		return PART_FAILED;
	for (i = 0; (n = db_run(p->db, &stmt_prune_drop,
	    DB_ARGS(name, p->actor, p->reason))) == -1; i++) {
		if (!part_busy(p->db))
			return PART_FAILED;
		if (i == p->tries)
			break;
		pause_ms(i);
	}
	if (n != -1 && db_col(p->db, 0, 0) == NULL)
		n = 0;
	else if (n != -1)
		p->rows = db_int(p->db, 0, 0);
	if (part_limit(p->db, 0, 0) == -1)
		return PART_FAILED;
	return n == -1 ? left(p) : n == 0 ? PART_GONE : PART_DONE;
}

/* The reason is that of the last statement that failed. */
static enum part_done
left(struct part *p)
{
	p->needed = 0;
	p->tries = FEW_TRIES;
	snprintf(p->why, sizeof(p->why), "%s",
	    strcmp(p->db->sqlstate, "57014") == 0 ?
	    "it takes longer than -w allows" :
	    "in use: no lock on it within what -w allows");
	return PART_LEFT;
}

int
part_limit(struct db *db, int64_t lock_ms, int64_t all_ms)
{
	char	 lock[NUMBER], all[NUMBER];

	snprintf(lock, sizeof(lock), "%" PRId64, lock_ms);
	snprintf(all, sizeof(all), "%" PRId64, all_ms);
	return db_run(db, &stmt_prune_limit, DB_ARGS(lock, all));
}

int
part_busy(const struct db *db)
{
	return strcmp(db->sqlstate, "55P03") == 0 ||	/* lock_timeout */
	    strcmp(db->sqlstate, "57014") == 0 ||	/* statement_timeout */
	    strcmp(db->sqlstate, "40P01") == 0;		/* deadlock */
}

static void
pause_ms(int tries)
{
	int64_t		 ms = PAUSE_MS;
	struct timespec	 ts;

	while (tries-- > 0 && ms < PAUSE_MAX_MS)
		ms *= 2;
	ts.tv_sec = ms / 1000;
	ts.tv_nsec = ms % 1000 * 1000000;
	nanosleep(&ts, NULL);
}
