/*
 * status.h - is it well, and if not, who?  All that hook-stat shows.
 *
 * Ownership: a struct status owns what was read until status_free() or the
 * next status_read(); texts live as long.  It is cheap to read however large
 * the history is; the statements (sql/query/stat-*.sql) say how.
 */
#ifndef STATUS_H
#define STATUS_H

#include <stdint.h>
#include <stdio.h>

#include "buf.h"
#include "db.h"

enum status_part { STATUS_LOOK, STATUS_FACTS, STATUS_RATES, STATUS_SUBS,
	STATUS_SOURCES, STATUS_WORKERS, STATUS_TABLES, STATUS_COUNTERS,
	STATUS_PARTS };

struct status {
	struct db	 part[STATUS_PARTS];	/* a result each */
	int64_t		 skew_ms;	/* our clock less the server's */
	unsigned int	 read;		/* which parts are there */
	const char	*subs;		/* at most so many subscriptions */
	struct problem {
		char		 what[160], todo[120];
	}		 problem[24];	/* what is not well, worst first */
	int		 nproblem;
};
#define STATUS_PART(p)	(1u << (p))
#define STATUS_SCREEN	(STATUS_PART(STATUS_COUNTERS) - 1)
#define STATUS_SUBS_MAX	"200"

/* Prepare a session for it. */
int	 status_session(struct db *) DB_CHECKED;

/* Read the parts of a mask; those needed for them too.  -1: see db_error(). */
int	 status_read(struct status *, struct db *, unsigned int parts)
	    DB_CHECKED;
void	 status_free(struct status *);

/* A field of a part, by its column; NULL, 0 where it is null. */
const char *status_text(const struct status *, enum status_part, int row,
	    const char *column);
int64_t	 status_int(const struct status *, enum status_part, int row,
	    const char *column);
/* Of the facts. */
int64_t	 status_fact(const struct status *, const char *column);

/* As one JSON object and a newline; as Prometheus' text format. */
int	 status_json(const struct status *, struct buf *) BUF_CHECKED;
int	 status_prom(const struct status *, struct buf *) BUF_CHECKED;
/* As a screen, for people; -1: errno. */
int	 status_table(const struct status *, FILE *);

/* Seconds as people say them: 41s, 12m, 3h20m, 5d. */
const char *status_age(int64_t s, char text[32]);

/* What is not well; called by status_read(). */
void	 status_judge(struct status *);

#endif /* STATUS_H */
