#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rerun.h"
#include "redo.h"
#include "stmt.h"

#define NUMBER	24	/* bytes of a bigint's text */
#define TRIES	20
#define AIM	20000	/* deliveries of the outbox in one statement */
#define MAX_EVENTS 500	/* ... of so many events */

/* Columns of replay-job.sql, after the parts. */
enum { COL_RATE = RERUN_PARTS + 1, COL_CURSOR, COL_DONE, COL_TOTAL, COL_MADE,
	COL_STATE };

static int	 fan_out(struct rerun *, struct db *, const char *);
static int	 keep(char **, const char *);
static int	 locked_fan_out(struct rerun *, struct db *, const char *);
static const char *number(char *, int64_t);
static int	 progress(struct rerun *, struct db *);
static int	 step_deliveries(struct rerun *, struct db *, const char *);
static int	 step_outbox(struct rerun *, struct db *, const char *);

int
rerun_init(struct rerun *j, const struct select *sel, int outbox, int force)
{
	const char	*part[RERUN_PARTS] = { sel->states, sel->event,
			    sel->subscription, sel->tenant, sel->type,
			    sel->prefix, select_since(sel), select_until(sel),
			    force ? "true" : "false", "0" };
	int		 i;

	memset(j, 0, sizeof(*j));
	j->outbox = outbox;
	j->running = 1;
	if (!outbox && sel->states == NULL)
		part[RERUN_STATES] = "{failed,expired}";
	for (i = 0; i < RERUN_PARTS; i++)
		if (keep(&j->part[i], part[i]) == -1)
			return -1;
	return 0;
}

int
rerun_pruned(struct rerun *j, struct db *db)
{
	int	 n = db_run(db, &stmt_replay_pruned,
		    DB_ARGS(j->part[RERUN_EVENT], j->part[RERUN_SINCE]));

	snprintf(j->pruned, sizeof(j->pruned), "%s", n > 0 ?
	    db_col(db, 0, 0) : "");
	return n;
}

int
rerun_count(struct rerun *j, struct db *db)
{
	char	**p = j->part;
	int	  rc;

	if (j->outbox)
		rc = db_run(db, &stmt_replay_events_count,
		    DB_ARGS(p[RERUN_EVENT], p[RERUN_TENANT], p[RERUN_TYPE],
		    p[RERUN_PREFIX], p[RERUN_SINCE], p[RERUN_UNTIL]));
	else
		rc = db_run(db, &stmt_replay_count,
		    DB_ARGS(p[RERUN_STATES], p[RERUN_EVENT],
		    p[RERUN_SUBSCRIPTION], p[RERUN_TENANT], p[RERUN_TYPE],
		    p[RERUN_PREFIX], p[RERUN_SINCE], p[RERUN_UNTIL]));
	if (rc == -1)
		return -1;
	j->total = db_int(db, 0, 0);
	return keep(&p[RERUN_LAST], db_col(db, 0, 1));
}

int
rerun_create(struct rerun *j, struct db *db, const char *rate,
    const char *actor, const char *reason)
{
	char	**p = j->part, total[NUMBER];

	if (db_run(db, &stmt_replay_job_new,
	    DB_ARGS(j->outbox ? "outbox" : "deliveries", p[RERUN_STATES],
	    p[RERUN_EVENT], p[RERUN_SUBSCRIPTION], p[RERUN_TENANT],
	    p[RERUN_TYPE], p[RERUN_PREFIX], p[RERUN_SINCE], p[RERUN_UNTIL],
	    p[RERUN_FORCE], p[RERUN_LAST], number(total, j->total), rate,
	    actor, reason)) == -1)
		return -1;
	snprintf(j->id, sizeof(j->id), "%s", db_col(db, 0, 0));
	j->cursor = db_int(db, 0, 1);
	return 0;
}

int
rerun_load(struct rerun *j, struct db *db, const char *id)
{
	const char	*rate;
	int		 i;

	memset(j, 0, sizeof(*j));
	if ((i = db_run(db, &stmt_replay_job, DB_ARGS(id))) <= 0)
		return i;
	j->outbox = strcmp(db_col(db, 0, 0), "outbox") == 0;
	for (i = 0; i < RERUN_PARTS; i++)
		if (keep(&j->part[i], db_col(db, 0, i + 1)) == -1)
			return -1;
	rate = db_col(db, 0, COL_RATE);
	snprintf(j->rate, sizeof(j->rate), "%s", rate == NULL ? "" : rate);
	snprintf(j->id, sizeof(j->id), "%s", id);
	j->cursor = db_int(db, 0, COL_CURSOR);
	j->done = db_int(db, 0, COL_DONE);
	j->total = db_int(db, 0, COL_TOTAL);
	j->made = db_int(db, 0, COL_MADE);
	j->running = strcmp(db_col(db, 0, COL_STATE), "running") == 0;
	return 1;
}

int
rerun_claim(struct db *db, const char *id)
{
	if (db_run(db, &stmt_replay_job_claim, DB_ARGS(id)) == -1)
		return -1;
	return *db_col(db, 0, 0) == 't';
}

int
rerun_plan(const struct rerun *j, struct db *db)
{
	return j->outbox ? db_exec(db, "set enable_nestloop = off") :
	    redo_plan(db);
}

int64_t
rerun_limit(const struct rerun *j, double most)
{
	double	 aim = j->outbox ? AIM : REDO_BATCH;

	if (most > 0)
		aim = fmin(aim, fmax(most, 1));
	if (!j->outbox)
		return (int64_t)aim;

	/* As many events as lately became so many deliveries; but slowly. */
	if (j->step_made > 0)
		aim *= (double)j->step_seen / (double)j->step_made;
	aim = fmin(fmin(aim, (double)j->step_seen * 2), MAX_EVENTS);
	return (int64_t)fmax(aim, 1);
}

int
rerun_step(struct rerun *j, struct db *db, int64_t limit)
{
	char	 most[NUMBER];
	int	 rc;

	number(most, limit);
	rc = j->outbox ? step_outbox(j, db, most) :
	    step_deliveries(j, db, most);
	if (rc == 1) {
		j->done += j->step_seen;
		j->made += j->step_made;
	}
	return rc;
}

/*
 * What is there is looked up first, by a statement of its own: whether it may
 * be replayed is judged when it is, and the cursor holds the rest together.
 * Without sorts it is found in the order of an index, so that all looks
 * together are one walk; what may be sorted is looked at by each.
 */
static int
step_deliveries(struct rerun *j, struct db *db, const char *most)
{
	char	**p = j->part, from[NUMBER], to[NUMBER], *ids = NULL;
	int	  rc = -1;

	number(from, j->cursor);
	if (db_exec(db, "set enable_sort = off") == -1 ||
	    db_run(db, &stmt_replay_pick, DB_ARGS(p[RERUN_STATES],
	    p[RERUN_EVENT], p[RERUN_SUBSCRIPTION], p[RERUN_TENANT],
	    p[RERUN_TYPE], p[RERUN_PREFIX], p[RERUN_SINCE], p[RERUN_UNTIL],
	    from, p[RERUN_LAST], most)) == -1)
		return -1;
	if (db_col(db, 0, 0) == NULL)
		return 0;
	if (keep(&ids, db_col(db, 0, 0)) == -1)
		return -1;
	j->step_seen = db_int(db, 0, 1);
	j->cursor = db_int(db, 0, 2);
	number(to, j->cursor);
	if (db_exec(db, "set enable_sort = on") == -1)
		goto out;
	j->step_made = redo_run(db, &stmt_replay_apply, DB_ARGS(ids,
	    p[RERUN_FORCE], NULL, NULL, NULL, j->id, from, to));
	if (j->step_made != -1)
		rc = progress(j, db);
out:
	free(ids);
	return rc;
}

/* Did our step count?  Not if the job was cancelled, or another moved it. */
static int
progress(struct rerun *j, struct db *db)
{
	if (db_run(db, &stmt_replay_job, DB_ARGS(j->id)) == -1)
		return -1;
	return db_rows(db) == 1 && db_int(db, 0, COL_CURSOR) == j->cursor &&
	    strcmp(db_col(db, 0, COL_STATE), "running") == 0;
}

static int
step_outbox(struct rerun *j, struct db *db, const char *most)
{
	int	 i;

	if (*j->id == '\0')
		return fan_out(j, db, most);
	for (i = 1; locked_fan_out(j, db, most) == -1; i++) {
		if (i == TRIES || strcmp(db->sqlstate, "40P01") != 0)
			return -1;
		if (db_exec(db, "rollback") == -1)
			return -1;
	}
	return j->step_seen > 0;
}

/*
 * The lock comes in a statement of its own, so that the next one's snapshot
 * shows what another replay made before it gave the lock up.
 */
static int
locked_fan_out(struct rerun *j, struct db *db, const char *most)
{
	if (db_exec(db, "begin") == -1 ||
	    db_run(db, &stmt_replay_lock, 0, NULL) == -1 ||
	    fan_out(j, db, most) == -1)
		return -1;
	return db_exec(db, "commit");
}

static int
fan_out(struct rerun *j, struct db *db, const char *most)
{
	char	**p = j->part, from[NUMBER];

	number(from, j->cursor);
	if (db_run(db, &stmt_replay_events, DB_ARGS(p[RERUN_EVENT],
	    p[RERUN_TENANT], p[RERUN_TYPE], p[RERUN_PREFIX], p[RERUN_SINCE],
	    p[RERUN_UNTIL], p[RERUN_SUBSCRIPTION], p[RERUN_FORCE],
	    *j->id == '\0' ? NULL : j->id, from, p[RERUN_LAST], most)) == -1)
		return -1;
	j->step_seen = db_int(db, 0, 0);
	j->step_made = db_int(db, 0, 1);
	if (j->step_seen > 0)
		j->cursor = db_int(db, 0, 2);
	return j->step_seen > 0;
}

int
rerun_finish(struct rerun *j, struct db *db)
{
	char	 cursor[NUMBER];

	return db_run(db, &stmt_replay_job_end, DB_ARGS(j->id, "finished",
	    number(cursor, j->cursor), NULL, NULL));
}

int
rerun_cancel(struct db *db, const char *id, const char *actor,
    const char *reason)
{
	return db_run(db, &stmt_replay_job_end,
	    DB_ARGS(id, "cancelled", NULL, actor, reason));
}

void
rerun_free(struct rerun *j)
{
	int	 i;

	for (i = 0; i < RERUN_PARTS; i++) {
		free(j->part[i]);
		j->part[i] = NULL;
	}
}

static int
keep(char **part, const char *s)
{
	free(*part);
	*part = NULL;
	return s != NULL && (*part = strdup(s)) == NULL ? -1 : 0;
}

static const char *
number(char *out, int64_t n)
{
	snprintf(out, NUMBER, "%" PRId64, n);
	return out;
}
