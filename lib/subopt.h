/*
 * subopt.h - the settings of a subscription as an operator types them.
 *
 * Each is checked as it is taken, as far as that goes without the server.
 *
 * Ownership: a struct subopt borrows the strings it is given, and owns the
 * rest until subopt_free().
 * Errors: -1 with one line in why and the sysexits code to leave with in code
 * (EX_USAGE for numbers, EX_DATAERR for the rest).
 */
#ifndef SUBOPT_H
#define SUBOPT_H

#include "arr.h"
#include "buf.h"
#include "db.h"

/* NULL is "not given"; "" clears what may be empty. */
struct subopt {
	const char	*tenant, *name, *url, *filter, *api_version;
	const char	*raw, *legacy, *ordered, *retry_4xx;	/* t or f */
	char		 cap[24], rate[32], timeout_ms[24], deadline_ms[24];
	struct buf	 transform, retry_ms, shown_url;
	struct arr	 event_types, headers;
	size_t		 header_bytes;
	int		 has_headers;
	int		 code;
	char		 why[512];
};

void	 subopt_init(struct subopt *);
void	 subopt_free(struct subopt *);

/* Take an option of hook-sub add, N for --name; -H may come again. */
int	 subopt_take(struct subopt *, int letter, const char *arg);

/* Take the URL; HOOK_ALLOW_NET is read here. */
int	 subopt_url(struct subopt *, const char *);

/*
 * Give them to a subscription, in the transaction that the caller has begun,
 * with a row in webhook_audit: action (add, set), who, why (or NULL).  1, or
 * 0 if there is no such subscription.
 */
int	 subopt_store(struct subopt *, struct db *, const char *id,
	    const char *action, const char *who, const char *why) DB_CHECKED;

#endif /* SUBOPT_H */
