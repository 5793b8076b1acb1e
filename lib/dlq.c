#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "db_int.h"
#include "dlq.h"
#include "stmt.h"

#define TRIES	5
#define FOUND	5	/* columns of dlq-find */

static int	 find(struct db *, const char *);

int
dlq_days(struct db *db, const char *table, const char *since,
    const char *until, struct dlq_days *d)
{
	if (db_run(db, &stmt_dlq_days, DB_ARGS(table, since, until)) == -1)
		return -1;
	if (strlcpy(d->from, db_col(db, 0, 0), sizeof(d->from)) >=
	    sizeof(d->from) || strlcpy(d->until, db_col(db, 0, 1),
	    sizeof(d->until)) >= sizeof(d->until))
		abort();
	return 0;
}

int
dlq_count(struct db *db, const struct select *s, const char *kind)
{
	struct dlq_days	 d;

	if (dlq_days(db, DLQ_DEAD, select_since(s), select_until(s),
	    &d) == -1)
		return -1;
	return db_run(db, &stmt_dlq_count, DB_ARGS(s->subscription, s->tenant,
	    s->type, s->prefix, select_since(s), select_until(s), kind,
	    d.from, d.until));
}

/*
 * Where it stands first, so that the server plans the rest for one partition
 * of each table, not for all.  It may move between the two.
 */
int
dlq_show(struct db *db, const char *id)
{
	char		*at[FOUND] = { NULL };
	const char	*s;
	int		 i, tries, n = 0;

	for (tries = 0; tries < TRIES && n == 0; tries++) {
		if ((n = find(db, id)) <= 0)
			break;
		for (i = 0; i < FOUND; i++) {
			free(at[i]);
			s = db_col(db, 0, i);
			at[i] = s == NULL ? NULL : strdup(s);
			if (at[i] == NULL && s != NULL) {
				n = db_fail(db, EX_TEMPFAIL, "out of memory");
				goto out;
			}
		}
		n = db_run(db, &stmt_dlq_show, DB_ARGS(id, at[0], at[1], at[2],
		    at[3], at[4]));
	}
out:
	for (i = 0; i < FOUND; i++)
		free(at[i]);
	return n;
}

/*
 * One place after another, since most are asked for that are in the first
 * two.  All of them at last: it may have moved from one to another.
 */
static int
find(struct db *db, const char *id)
{
	static const struct {
		const char	*states, *table;
	} place[] = {
		{ "{pending}", NULL }, { "{failed,expired}", DLQ_DEAD },
		{ "{delivered,discarded}", DLQ_DONE },
		{ "{pending,failed,expired,delivered,discarded}", NULL }
	};
	struct dlq_days	 d;
	size_t		 i;
	int		 n = 0;

	for (i = 0; i < sizeof(place) / sizeof(*place) && n == 0; i++) {
		if (place[i].table != NULL && dlq_days(db, place[i].table,
		    NULL, NULL, &d) == -1)
			return -1;
		n = db_run(db, &stmt_dlq_find, DB_ARGS(id, place[i].states,
		    place[i].table == NULL ? NULL : d.from,
		    place[i].table == NULL ? NULL : d.until));
	}
	return n;
}
