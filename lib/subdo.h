/*
 * subdo.h - change subscriptions: each call is one transaction, with its rows
 * in webhook_audit.
 *
 * On success db's last result is what is to be shown.  With dry_run set the
 * transaction is left open, and db_close() undoes it.
 * Errors: -1 with one line in why and the sysexits code to leave with in code
 * (1: no such subscription); nothing was changed then, except that a
 * connection lost at commit (EX_TEMPFAIL) leaves that open.
 */
#ifndef SUBDO_H
#define SUBDO_H

#include <stdint.h>

#include "db.h"
#include "ids.h"
#include "subkey.h"
#include "subopt.h"

struct subdo {
	struct db	*db;
	const char	*who;		/* opt_actor() */
	const char	*reason;	/* or NULL */
	int		 dry_run;
	int		 code;
	char		 why[600];
};

/* Make one, with this secret.  Result: sub_show's row. */
int	 subdo_add(struct subdo *, struct subopt *, struct subkey *,
	    const char *secret) DB_CHECKED;

/* Change its settings.  Result: sub_show's row. */
int	 subdo_set(struct subdo *, const char *id, struct subopt *)
	    DB_CHECKED;

/* New secret; those before it end in grace_ms.  Result: sub_show's row. */
int	 subdo_rotate(struct subdo *, const char *id, int64_t grace_ms,
	    struct subkey *, const char *secret) DB_CHECKED;

/*
 * "pause", "resume" or "rm" all of them, or none.  Result: a row for each
 * with id, tenant, name and state.
 */
int	 subdo_change(struct subdo *, const char *what, const struct ids *)
	    DB_CHECKED;

/* Send it a test event; event gets that one's id.  Also 1: not active. */
int	 subdo_test(struct subdo *, const char *id, const char *payload,
	    char event[80]) DB_CHECKED;

#endif /* SUBDO_H */
