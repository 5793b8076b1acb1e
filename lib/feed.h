/*
 * feed.h - a consumer's dealings with webhook_inbox: claim, renew, ack.
 *
 * A claim is committed before it is returned, so no transaction is open while
 * a handler runs; what is written later is fenced by owner and fence.
 *
 * Ownership: a struct feed owns its session; parcels are the caller's.
 * Errors: -1; db_error() and db_exitcode() of db say why.  feed_error() is to
 * be called then: it closes a session that is of no more use.
 */
#ifndef FEED_H
#define FEED_H

#include <stddef.h>
#include <stdint.h>

#include "arr.h"
#include "db.h"
#include "parcel.h"

struct feed {
	struct db	 db;
	const char	*conninfo, *tool, *source;
	const char	*type, *prefix;	/* each NULL: any */
	const char	*path;		/* of the key, or NULL */
	int		 follow, json;	/* json: ask if bodies are JSON */
	int64_t		 lease_ms, beat_at_ms;
	char		 name[112];	/* host:pid:random */
	char		 follower[160];	/* in webhook_wakeup */
	char		 at[64], id[24];	/* cursor */
	int		 more;		/* look again at once */
	int		 no_source;	/* there is none, as feed_open() saw */
	int		 asleep;
	struct arr	 released;	/* keys of what was finished */
	struct arr	 col[9];
};

void	 feed_init(struct feed *);
int	 feed_open(struct feed *) DB_CHECKED;
void	 feed_close(struct feed *);	/* say goodbye where possible */
void	 feed_free(struct feed *);

/* How much waits: db's last result is inbox_due's row. */
int	 feed_due(struct feed *) DB_CHECKED;

/*
 * Claim up to most messages, from the head or from where the last look ended.
 * Returns how many are in *list, in order.
 */
int	 feed_claim(struct feed *, size_t most, int head,
	    struct parcel **list) DB_CHECKED;

/* Renew what all[0..n) are leased; until_ms is moved on where that worked. */
int	 feed_renew(struct feed *, struct parcel *const *all, size_t n)
	    DB_CHECKED;

/* Write outcomes; acked says whose was taken: the others are not ours now. */
int	 feed_ack(struct feed *, struct parcel *list) DB_CHECKED;

/*
 * The same for what one handler did, together with what it printed, in one
 * transaction.  1: all of it is committed; 0: nothing, since some message is
 * not ours any more; -1: nothing, db_exitcode() says if it is what it
 * printed (EX_DATAERR, with the reason in why) or the database.
 */
enum feed_print { FEED_EVENTS, FEED_SQL };
int	 feed_ack_with(struct feed *, struct parcel *list, enum feed_print,
	    const struct buf *, size_t max_payload, char *why, size_t whylen)
	    DB_CHECKED;

/* The session as it was, whatever a handler's SQL did to it. */
int	 feed_fresh(struct feed *) DB_CHECKED;

/* Say that we sleep, or not; that we live. */
int	 feed_sleep(struct feed *, int asleep) DB_CHECKED;
int	 feed_tick(struct feed *) DB_CHECKED;

/* After a -1: is there no session any more? */
int	 feed_error(struct feed *);

#endif /* FEED_H */
