/*
 * sub.h - a subscription as the sender needs it: settings, keys, headers.
 *
 * It comes from a row that anybody with SQL may have written, so everything
 * is checked again here.  What is wrong is kept as a reason, not an error:
 * each delivery of it then ends, or waits, with that reason.
 *
 * Ownership: a struct sub owns all it points to until sub_free().
 */
#ifndef SUB_H
#define SUB_H

#include <stddef.h>
#include <stdint.h>

#include "addr.h"
#include "buf.h"
#include "seal.h"
#include "send.h"
#include "sign.h"

#define SUB_KEYS	16		/* live secrets that sign */
#define SUB_RETRIES	100
#define SUB_HEADERS	24		/* of the operator's own */

struct db;

struct sub {
	int64_t		 id, revision;
	int		 active;
	char		*url;
	char		*shown;		/* the URL without its query */
	char		*transform;	/* jq program, or NULL */
	char		*header[SUB_HEADERS];	/* "Name: value" */
	size_t		 nheader;
	int		 cap;
	double		 rate;		/* a second; 0: unlimited */
	int		 ordered, raw, legacy, retry_4xx;
	int		 timeout_ms;
	int64_t		 deadline_ms;	/* after the fan-out */
	int64_t		 retry_ms[SUB_RETRIES];
	size_t		 nretry;
	int64_t		 failing_since;	/* unix seconds; 0: healthy */
	struct sign_key	*key[SUB_KEYS];	/* newest first */
	int64_t		 expires[SUB_KEYS];	/* unix seconds; 0: never */
	size_t		 nkey;
	const char	*broken;	/* why nothing can be sent, or NULL */
	char		 why[128];
	int		 for_good;	/* broken, and waiting will not help */
};

/* Read a row of lane_load; NULL without memory. */
struct sub *sub_load(const struct db *, int row, const struct seal *,
	    const struct addr_allow *);
void	 sub_free(struct sub *);

/*
 * Fill in a request for one attempt at now_s (unix seconds): URL, headers,
 * signatures, body.  text receives the header lines that the request then
 * points into.  -1 without memory, or with no key that is live at now_s
 * (text is empty then).
 */
int	 sub_request(const struct sub *, const char *event_id, int64_t now_s,
	    const void *body, size_t len, struct buf *text,
	    struct send_request *);

#endif /* SUB_H */
