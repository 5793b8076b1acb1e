/*
 * Checks of secrets.  Each is opened and read, as who signs or verifies does
 * it; none is told.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "doctor_int.h"
#include "secret.h"
#include "sources.h"
#include "stmt.h"

#define PAGE		"5000"	/* subscriptions */
#define NUMBER		24	/* bytes of a bigint's text */

static int	 judge_secret(struct doctor *, const char *, const char *);
static int	 judge_source(struct doctor *, const struct source *);
static int	 key(struct doctor *);

/* The key is read once; without a good one nothing sealed opens. */
static int
key(struct doctor *d)
{
	const char	*why;

	if (d->seal.set || seal_load(&d->seal, &why) == 0)
		return 0;
	return doctor_say(d, DOCTOR_FAIL, "HOOK_KEY_FILE",
	    "chmod 600, and the owner that the services have", "%s", why);
}

int
doctor_secrets(struct doctor *d)
{
	char	 from[NUMBER] = "0";
	int	 i, n;

	if (key(d) == -1)
		return -1;
	do {
		if ((n = db_run(&d->db, &stmt_doctor_secrets, DB_ARGS(from,
		    PAGE))) == -1)
			return -1;
		for (i = 0; i < n; i++)
			if (judge_secret(d, db_col(&d->db, i, 0),
			    db_col(&d->db, i, 1)) == -1)
				return -1;
		if (n > 0)
			strlcpy(from, db_col(&d->db, n - 1, 0), sizeof(from));
	} while (n > 0);
	return 0;
}

static int
judge_secret(struct doctor *d, const char *id, const char *stored)
{
	struct buf	 plain = BUF_INIT(SECRET_MAX);
	struct sign_key	*k = NULL;
	const char	*why = "has no live secret: nothing is sent to it";
	char		 object[40], mend[60];

	if (stored != NULL &&
	    seal_open(&d->seal, id, stored, &plain, &why) == 0)
		k = sign_key(sign_scheme("standard_webhooks"),
		    plain.s == NULL ? "" : plain.s, 1, &why);
	buf_wipe(&plain);
	if (k != NULL) {
		sign_key_free(k);
		return 0;
	}
	snprintf(object, sizeof(object), "subscription %s", id);
	snprintf(mend, sizeof(mend), "hook-sub rotate -g %s %s",
	    stored == NULL ? "0" : "24h", id);
	return doctor_say(d, DOCTOR_FAIL, object, mend, "%s%s",
	    stored == NULL ? "" : "a secret of it can't sign: ", why);
}

int
doctor_sealed(struct doctor *d)
{
	char	 object[128], mend[160];
	int64_t	 sealed, clear;

	if (key(d) == -1 ||
	    db_run(&d->db, &stmt_doctor_sealed, 0, NULL) == -1)
		return -1;
	sealed = db_int(&d->db, 0, 0);
	clear = db_int(&d->db, 0, 1);
	if (clear == 0 && (sealed > 0 || d->seal.set))
		return 0;
	if (clear == 0 || (sealed == 0 && !d->seal.set))
		return doctor_say(d, DOCTOR_WARN, "HOOK_KEY_FILE",
		    "install -d -m 700 /etc/credstore; (umask 077; openssl"
		    " rand -hex 32 >/etc/credstore/hook.key)",
		    "there is none: secrets lie in clear,"
		    " in every backup too");
	if (db_col(&d->db, 0, 2) != NULL) {
		snprintf(object, sizeof(object), "subscription %s",
		    db_col(&d->db, 0, 2));
		snprintf(mend, sizeof(mend), "hook-sub rotate -g 24h %s",
		    db_col(&d->db, 0, 2));
	} else {
		snprintf(object, sizeof(object), "source %s",
		    db_col(&d->db, 0, 3));
		snprintf(mend, sizeof(mend), "hook-source rotate -k"
		    " secret-file %s", db_col(&d->db, 0, 3));
	}
	return doctor_say(d, DOCTOR_FAIL, object, mend, "its secret lies in"
	    " clear, one of %" PRId64 "; %" PRId64 " are sealed", clear,
	    sealed);
}

int
doctor_sources(struct doctor *d)
{
	struct sources		 all;
	const struct source	*broken;
	size_t			 i;
	int			 rc = -1;

	if (key(d) == -1 || doctor_rows(d, db_run(&d->db, &stmt_doctor_dedupe,
	    0, NULL)) == -1 ||
	    db_run(&d->db, &stmt_source_load, 0, NULL) == -1)
		return -1;
	if (sources_init(&all) == -1 ||
	    sources_load(&all, &d->db, &d->seal, &broken) == -1) {
		doctor_fail(d, EX_TEMPFAIL, "out of memory");
		goto out;
	}
	for (i = 0; i < all.n; i++)
		if (judge_source(d, all.all[i]) == -1)
			goto out;
	rc = 0;
out:
	sources_free(&all);
	return rc;
}

static int
judge_source(struct doctor *d, const struct source *s)
{
	char	 object[128], mend[160];

	snprintf(object, sizeof(object), "source %s", s->name);
	if (s->broken != NULL || s->nkey == 0) {
		snprintf(mend, sizeof(mend), "hook-source rotate -k"
		    " secret-file %s", s->name);
		return doctor_say(d, DOCTOR_FAIL, object, mend,
		    "does not verify: %s", s->broken != NULL ? s->broken :
		    "no secret");
	}
	if (s->tolerance != SIGN_NO_TOLERANCE ||
	    sign_scheme_tolerance(s->scheme) <= 0)
		return 0;
	snprintf(mend, sizeof(mend), "hook-source set -t '' %s",
	    s->name);
	return doctor_say(d, DOCTOR_WARN, object, mend, "does not look at the"
	    " time: an old message that somebody kept is taken again once its"
	    " id is forgotten");
}
