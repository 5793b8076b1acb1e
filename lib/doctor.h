/*
 * doctor.h - the pre-launch checklist: what is looked at, what was found.
 *
 * A check of the database is one statement, sql/query/doctor-*.sql, whose
 * rows are its findings: status (warn, fail), object, message, mend; no row
 * is good.  Other checks are functions.  Nothing is changed by any of them.
 *
 * Ownership: a struct doctor owns its findings until doctor_free().
 * Errors: -1; doctor_error() and doctor_exitcode() say why.  What a check
 * may not see, or the server can't do, is no error but a finding: a warning
 * that it can't be told.
 */
#ifndef DOCTOR_H
#define DOCTOR_H

#include <stddef.h>
#include <stdint.h>

#include "db_async.h"
#include "keep.h"
#include "out.h"
#include "seal.h"
#include "status.h"

#define DOCTOR_FINDINGS	20	/* of one check; more are only counted */

enum doctor_status { DOCTOR_OK, DOCTOR_WARN, DOCTOR_FAIL };

/* What an operator tells us, who can't find out. */
struct doctor_told {
	const char	*conninfo;
	const char	*backup_stamp;	/* its time is the last backup's */
	const char	*nginx, *rules;	/* where; NULL: where Debian has them */
	const char	*plain_net;	/* needs no TLS: "{127.0.0.0/8,::1}" */
	int64_t		 backup_age_ms;
	int64_t		 max_body;	/* bytes: hook-receive -m */
	int		 https_only;
	struct keep	 keep;		/* hook-prune -k */
};

struct doctor {
	struct doctor_told	 told;
	struct db		 db;
	struct finding {
		const char		*check;
		enum doctor_status	 status;
		char			*object, *message, *mend; /* or NULL */
	}			*found;
	size_t			 n;
	int			 fails;
	/* The rest is the checks'. */
	const struct doctor_check *now;		/* the one that runs */
	int			 said, more;	/* its findings; left out */
	enum doctor_status	 more_status;
	int			 pooled;	/* our pid is not theirs */
	int			 in_place;	/* the schema is ours */
	struct status		 facts;
	struct seal		 seal;
	char			 why[512];
	int			 code;
};

struct doctor_check {
	const char	*name;
	const char	*good;		/* what is so where it is ok */
	const struct stmt *stmt;	/* or, run is called */
	int	(*run)(struct doctor *);
	int		 apart;		/* does without the database */
};

/* The list, which ends with a name that is NULL; one of it, or NULL. */
extern const struct doctor_check doctor_checks[];
const struct doctor_check *doctor_check(const char *name);

/* Connect, and look whether the schema is ours: the check "schema". */
int	 doctor_open(struct doctor *) DB_CHECKED;
/* Run one: without a schema of ours, nothing where it needs that. */
int	 doctor_run(struct doctor *, const struct doctor_check *) DB_CHECKED;
void	 doctor_free(struct doctor *);

/* Print what was found on standard output; -1: errno. */
int	 doctor_print(const struct doctor *, enum out_form);

const char *doctor_error(const struct doctor *);
int	 doctor_exitcode(const struct doctor *);

#endif /* DOCTOR_H */
