/*
 * What a handler printed, and the ack of its messages: one commit.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "db_async.h"
#include "events.h"
#include "feed.h"
#include "stmt.h"

static int	 commit(struct feed *, struct parcel *);
static int	 events(struct feed *, const struct buf *, size_t, char *,
		    size_t);
static void	 judge(struct feed *);
static int	 sql(struct feed *, const struct buf *, char *, size_t);
static int	 undo(struct feed *, int);

int
feed_ack_with(struct feed *f, struct parcel *list, enum feed_print what,
    const struct buf *text, size_t max_payload, char *why, size_t whylen)
{
	int	 rc, code;

	*why = '\0';
	if (db_exec(&f->db, "begin") == -1)
		return -1;
	if (what == FEED_EVENTS)
		rc = events(f, text, max_payload, why, whylen);
	else
		rc = sql(f, text, why, whylen);
	if (rc != -1)
		rc = commit(f, list);
	if (rc == -1 && what == FEED_SQL)
		judge(f);
	if (rc == -1 && *why == '\0')
		strlcpy(why, db_error(&f->db), whylen);
	if (rc != 1 && undo(f, rc) == -1)
		return -1;
	code = f->db.code;
	/* What it set, locked or prepared is gone before the next one. */
	if (what == FEED_SQL && f->db.conn != NULL &&
	    feed_fresh(f) == -1 && rc == 0)
		return -1;
	f->db.code = code;
	return rc;
}

/* The ack comes last: who is not the owner any more commits nothing. */
static int
commit(struct feed *f, struct parcel *list)
{
	struct parcel	*p;

	if (feed_ack(f, list) == -1)
		return -1;
	for (p = list; p != NULL; p = p->next)
		if (!p->acked)
			return 0;
	return db_commit(&f->db) == -1 ? -1 : 1;
}

/* Roll back; what failed before is what is told. */
static int
undo(struct feed *f, int rc)
{
	char	 why[sizeof(f->db.why)], state[sizeof(f->db.sqlstate)];
	int	 code = f->db.code;

	if (rc == -1 && db_lost(&f->db))
		return -1;
	memcpy(why, f->db.why, sizeof(why));
	memcpy(state, f->db.sqlstate, sizeof(state));
	if (db_exec(&f->db, "rollback") == -1)
		return -1;
	f->db.code = code;
	memcpy(f->db.why, why, sizeof(why));
	memcpy(f->db.sqlstate, state, sizeof(state));
	return 0;
}

static int
events(struct feed *f, const struct buf *text, size_t max_payload,
    char *why, size_t whylen)
{
	struct events	 ev = EVENTS_INIT;
	int		 fd, rc;

	if ((fd = parcel_file(text->s, text->len)) == -1) {
		f->db.code = EX_TEMPFAIL;
		f->db.sqlstate[0] = '\0';
		strlcpy(f->db.why, "no memory for events",
		    sizeof(f->db.why));
		return -1;
	}
	rc = events_store(&ev, &f->db, fd, "standard output", max_payload);
	if (rc == -1) {
		f->db.code = ev.code;
		strlcpy(why, ev.why, whylen);
	}
	close(fd);
	events_free(&ev);
	return rc;
}

/*
 * Its statements are planned like anybody's, not like ours, and are bounded
 * together, so that the leases of other messages can be renewed in time.
 * A role or a search path that they set is not for what follows.
 */
static int
sql(struct feed *f, const struct buf *text, char *why, size_t whylen)
{
	char	 set[256];

	if (memchr(text->s, '\0', text->len) != NULL) {
		f->db.code = EX_DATAERR;
		strlcpy(why, "standard output: NUL byte", whylen);
		return -1;
	}
	snprintf(set, sizeof(set), "set local enable_seqscan = on;"
	    " set local enable_hashjoin = on; set local enable_mergejoin = on;"
	    " set local enable_bitmapscan = on; set local enable_sort = on;"
	    " set local plan_cache_mode = auto;"
	    " set local statement_timeout = %" PRId64, f->lease_ms / 2);
	if (db_exec(&f->db, set) == -1)
		return -1;
	if (db_run(&f->db, &stmt_inbox_sql, DB_ARGS(text->s)) == -1) {
		snprintf(why, whylen, "standard output: %s",
		    db_error(&f->db));
		return -1;
	}
	return db_settings(&f->db);
}

/*
 * Its transaction failed.  That is its own doing, whatever else such an error
 * would mean, but for a deadlock and its like, and a server that is gone.
 */
static void
judge(struct feed *f)
{
	char	 state[sizeof(f->db.sqlstate)];

	memcpy(state, f->db.sqlstate, sizeof(state));
	f->db.sqlstate[0] = '\0';
	if (!db_lost(&f->db) && strncmp(state, "40", 2) != 0 &&
	    strncmp(state, "53", 2) != 0 && strcmp(state, DB_LOCKED) != 0)
		f->db.code = EX_DATAERR;
}
