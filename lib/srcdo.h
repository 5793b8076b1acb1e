/*
 * srcdo.h - change sources: each call is one transaction, with its rows in
 * webhook_audit.
 *
 * On success db's last result is what is to be shown.  With dry_run set the
 * transaction is left open, and db_close() undoes it.
 * Errors: -1 with one line in why and the sysexits code to leave with in code
 * (1: no such source); nothing was changed then, except that a connection
 * lost at commit (EX_TEMPFAIL) leaves that open.
 */
#ifndef SRCDO_H
#define SRCDO_H

#include <stdint.h>

#include "db.h"
#include "seal.h"
#include "sign.h"

/* What a source may be told; NULL leaves it as it is. */
struct srcopt {
	const struct sign_scheme *scheme;	/* add only */
	const char	*tolerance;	/* seconds, "-1" off, "-2" its own */
	const char	*public_url;	/* "" none */
	const char	*unpack;	/* "t", "f" */
};

struct srcdo {
	struct db	*db;
	const char	*who;		/* opt_actor() */
	const char	*reason;	/* or NULL */
	int		 dry_run;
	struct seal	 seal;
	int		 code;
	char		 why[600];
};

/* May a source have this name? */
int	 srcdo_name(const char *);

/* May it have this public URL?  -1 with *why, static. */
int	 srcdo_url(const char *, const char **why);

/* Make one, with n secrets and a handshake word (or NULL). */
int	 srcdo_add(struct srcdo *, const char *name, const struct srcopt *,
	    char *const *secret, size_t n, const char *word) DB_CHECKED;

/* Change it; word (or NULL) takes the place of those it had. */
int	 srcdo_set(struct srcdo *, const char *name, const struct srcopt *,
	    const char *word) DB_CHECKED;

/* Secrets in the place of those before, which end in grace_ms. */
int	 srcdo_rotate(struct srcdo *, const char *name, int64_t grace_ms,
	    char *const *secret, size_t n) DB_CHECKED;

/* Result: a row with id, name and scheme. */
int	 srcdo_rm(struct srcdo *, const char *name) DB_CHECKED;

/* Result: source_show's row.  That is what add, set and rotate leave, too. */
int	 srcdo_show(struct srcdo *, const char *name) DB_CHECKED;

/* The scheme of a source there is, to read its secrets by. */
const struct sign_scheme *srcdo_scheme(struct srcdo *, const char *name);

#endif /* SRCDO_H */
