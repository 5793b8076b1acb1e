/*
 * intake.h - messages into webhook_inbox, many in one transaction.
 *
 * While one batch is being written the next one collects, so the more there
 * is to do the larger a transaction is.  It is written over a second session,
 * once it is as large as the first or has waited a moment: clients that wait
 * for the first can't send, so with one session this process and the server
 * would take turns.  A message that waits for a row which somebody inserts is
 * found out, and sent alone.
 * Nothing here blocks: the caller waits for intake_poll() with whatever else
 * it waits for, and calls intake_step() after each wait.
 *
 * A message has an outcome within INTAKE_PATIENCE_MS, come what may: a
 * database that is away, hangs, or has the table locked makes it
 * INTAKE_AWAY.  Then nothing was stored, or, where the connection broke at the
 * commit, perhaps all of it: sent again, it is a duplicate.
 *
 * Ownership: a message is the caller's, and untouched by it from intake_put()
 * until done() gives it back.
 */
#ifndef INTAKE_H
#define INTAKE_H

#include <sys/queue.h>

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

#include "arr.h"
#include "counts.h"
#include "db_async.h"
#include "follow.h"
#include "sources.h"

#define INTAKE_PATIENCE_MS	1700
#define INTAKE_SESSIONS		2

enum intake_outcome {
	INTAKE_STORED, INTAKE_DUPLICATE, INTAKE_AWAY,
	INTAKE_REFUSED		/* the database does not take its data */
};

struct intake_message {
	STAILQ_ENTRY(intake_message) link;
	const char	*source;
	const char	*id;
	const char	*type;		/* or NULL */
	struct buf	 headers;	/* inbox_store's $4 */
	const void	*body;
	size_t		 len;		/* bytes */
	int64_t		 at_ms;		/* intake's */
	void		*user;
};
STAILQ_HEAD(intake_list, intake_message);

struct intake_session {
	struct db	 db;
	int		 doing, step;
	int64_t		 retry_ms, by_ms;
	struct intake_list writing;
	size_t		 nwriting;
	struct arr	 source, id, type, headers, body;
};

struct intake {
	const char	*conninfo, *tool;
	struct sources	*sources;
	const struct seal *seal;
	void		*arg;
	void		 (*done)(void *arg, struct intake_message *,
			    enum intake_outcome);

	/* Its own.  The first session has the sources and the counts, too. */
	struct intake_session session[INTAKE_SESSIONS];
	struct follow	 follow;
	int		 ready, reload, single;	/* rows to be sent alone */
	int64_t		 load_ms, count_ms;
	struct intake_list waiting;
	size_t		 nwaiting;
	struct counts	 counts;
};

void	 intake_init(struct intake *);
void	 intake_free(struct intake *);

/* -1: the database is away; the message is still the caller's. */
int	 intake_put(struct intake *, struct intake_message *) DB_CHECKED;

/* Go on; how long to wait at most, in ms. */
int	 intake_step(struct intake *);
/* What it waits for; how many. */
int	 intake_poll(struct intake *, struct pollfd[INTAKE_SESSIONS]);

int	 intake_ready(const struct intake *);	/* sources known, no error */
void	 intake_reload(struct intake *);	/* the sources, soon */
/* Are there counts that no row has yet?  Their time comes soon, then. */
int	 intake_uncounted(struct intake *);

#endif /* INTAKE_H */
