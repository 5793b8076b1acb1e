/*
 * events.h - new events as people and programs hand them over.
 *
 * One is {"event_type": "...", "payload": ...} on a line, and may have
 * aggregate_id, api_version, tenant, idempotency_key and traceparent (null is
 * as good as absent).  The payload is stored as the bytes it is in the line.
 *
 * Errors: a phrase, or -1 with one line in why and the sysexits code to leave
 * with in code.
 */
#ifndef EVENTS_H
#define EVENTS_H

#include <stddef.h>

#include "buf.h"
#include "db.h"

enum event_field {
	EVENT_TYPE, EVENT_AGGREGATE, EVENT_VERSION, EVENT_TENANT, EVENT_KEY,
	EVENT_TRACEPARENT, EVENT_FIELDS
};

#define EVENT_KEY_MAX	255	/* bytes; webhook_enqueue() says so too */

/* Why a text can't be that field of an event, or NULL. */
const char *event_bad(enum event_field, const char *, size_t len);

/* Why bytes can't be a payload, or NULL; if they are JSON is not looked at. */
const char *event_payload_bad(const char *, size_t len);

struct events {
	struct buf	 ids;		/* of what was stored, one a line */
	size_t		 n;
	void		(*progress)(size_t);	/* told n now and then */
	int		 code;
	char		 why[600];
};

#define EVENTS_INIT	{ BUF_INIT((size_t)1 << 30), 0, NULL, 0, "" }

/*
 * Store the lines of fd, called source in messages, in the transaction that
 * the caller has begun; after -1 the caller rolls it back.
 */
int	 events_store(struct events *, struct db *, int fd,
	    const char *source, size_t max_payload) DB_CHECKED;

void	 events_free(struct events *);

#endif /* EVENTS_H */
