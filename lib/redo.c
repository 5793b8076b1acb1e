#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "follow.h"
#include "redo.h"
#include "stmt.h"

#define LIST_MAX	(REDO_BATCH * 21 + 2)	/* bytes of an array */
#define TRIES		20

static int	 apply(struct redo *, struct db *);
static int	 apply_inbox(struct redo *, struct db *);
static int	 by_value(const void *, const void *);
static void	 must(int);
static void	 note_done(struct redo *, struct db *, int);

int
redo_start(struct redo *r)
{
	struct ids	*ids = r->ids;
	size_t		 i, n = 0;

	if (r->batch == 0 || r->batch > REDO_BATCH)
		r->batch = REDO_BATCH;
	r->asked.max = r->done.max = LIST_MAX;
	if (buf_room(&r->asked, LIST_MAX) == -1 ||
	    buf_room(&r->done, LIST_MAX) == -1)
		return -1;
	if (ids->n > 0)
		qsort(ids->id, ids->n, sizeof(*ids->id), by_value);
	for (i = 0; i < ids->n; i++)
		if (n == 0 || ids->id[n - 1] != ids->id[i])
			ids->id[n++] = ids->id[i];
	ids->n = n;
	r->from = 0;
	return 0;
}

int
redo_next(struct redo *r, struct db *db)
{
	size_t	 n = r->ids->n - r->from;
	int	 rows;

	if (n == 0)
		return 0;
	if (n > r->batch)
		n = r->batch;
	buf_reset(&r->asked);
	must(ids_array(r->ids, r->from, n, &r->asked));
	if (r->inbox)
		rows = apply_inbox(r, db);
	else if (r->dry)
		rows = db_run(db, &stmt_replay_judge,
		    DB_ARGS(r->asked.s, "{}", r->what, "t"));
	else if (strcmp(r->what, REDO_DROP) == 0)
		rows = redo_run(db, &stmt_dlq_drop,
		    DB_ARGS(r->asked.s, r->actor, r->reason));
	else
		rows = apply(r, db);
	if (rows == -1)
		return -1;
	note_done(r, db, rows);
	r->refused = (int)n - rows;
	r->from += n;
	return 1;
}

static int
apply_inbox(struct redo *r, struct db *db)
{
	if (r->dry)
		return db_run(db, &stmt_dead_judge,
		    DB_ARGS(r->asked.s, "{}", "t"));
	return redo_run(db, strcmp(r->what, REDO_DROP) == 0 ?
	    &stmt_dead_drop : &stmt_dead_retry,
	    DB_ARGS(r->asked.s, r->actor, r->reason));
}

static int
apply(struct redo *r, struct db *db)
{
	return redo_run(db, &stmt_replay_apply, DB_ARGS(r->asked.s,
	    strcmp(r->what, REDO_FORCE) == 0 ? "t" : "f", r->actor, r->reason,
	    r->tool, NULL, NULL, NULL));
}

/*
 * A row's fifth column is the delivery that was sent again as a new one; an
 * id with an m is a message's.
 */
static void
note_done(struct redo *r, struct db *db, int rows)
{
	const char	*id;
	int		 i;

	buf_reset(&r->done);
	must(buf_adds(&r->done, "{"));
	for (i = 0; i < rows; i++) {
		id = r->dry ? NULL : db_col(db, i, 4);
		if (id == NULL)
			id = db_col(db, i, 0);
		must(buf_addf(&r->done, "%s%s", i > 0 ? "," : "",
		    id + (*id == 'm')));
	}
	must(buf_adds(&r->done, "}"));
}

/* redo_start() made room for the longest list. */
static void
must(int rc)
{
	if (rc == -1)
		abort();
}

int
redo_refused(struct redo *r, struct db *db)
{
	if (r->refused == 0)
		return 0;
	if (r->inbox)
		return db_run(db, &stmt_dead_judge,
		    DB_ARGS(r->asked.s, r->done.s, "f"));
	return db_run(db, &stmt_replay_judge,
	    DB_ARGS(r->asked.s, r->done.s, r->what, "f"));
}

const char *
redo_why(const struct db *db, int row)
{
	const char	*why = db_col(db, row, 4);

	return why == NULL ? "changed just now: try again" : why;
}

void
redo_free(struct redo *r)
{
	buf_free(&r->asked);
	buf_free(&r->done);
}

int
redo_plan(struct db *db)
{
	return db_exec(db, "set plan_cache_mode = force_custom_plan;"
	    " set enable_seqscan = off; set enable_hashjoin = off;"
	    " set enable_mergejoin = off");
}

int
redo_run(struct db *db, const struct stmt *st, size_t narg,
    const char *const *arg)
{
	int	 i, rows;

	for (i = 1; (rows = db_run(db, st, narg, arg)) == -1; i++)
		if (i == TRIES || (strcmp(db->sqlstate, "40001") != 0 &&
		    strcmp(db->sqlstate, "40P01") != 0))
			return -1;
	return rows;
}

void
redo_pace(double rate, int64_t made, int64_t start_ms)
{
	struct timespec	 ts;
	int64_t		 ms;

	if (rate <= 0)
		return;
	ms = start_ms + (int64_t)((double)made * 1000 / rate) -
	    follow_now_ms();
	if (ms <= 0 || follow_stop)
		return;
	ts.tv_sec = ms / 1000;
	ts.tv_nsec = ms % 1000 * 1000000;
	nanosleep(&ts, NULL);
}

static int
by_value(const void *a, const void *b)
{
	const int64_t	*x = a, *y = b;

	return (*x > *y) - (*x < *y);
}
