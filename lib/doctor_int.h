/*
 * doctor_int.h - the checks that are functions, and what they say; for
 * doctor*.c alone.
 */
#ifndef DOCTOR_INT_H
#define DOCTOR_INT_H

#include "doctor.h"

/*
 * Something is found.  object and mend may be NULL.  message is a format.
 * -1: out of memory.
 */
int	 doctor_say(struct doctor *, enum doctor_status, const char *object,
	    const char *mend, const char *message, ...) DB_CHECKED
	    __attribute__((__format__(printf, 5, 6)));

/* The findings of a statement that was run (rc), as doctor.h has them. */
int	 doctor_rows(struct doctor *, int rc) DB_CHECKED;

/* Keep the reason of a failure that is not the database's: -1. */
int	 doctor_fail(struct doctor *, int code, const char *why);

/* doctor_server.c: of the server. */
int	 doctor_plans(struct doctor *);
int	 doctor_pooler(struct doctor *);
int	 doctor_tls(struct doctor *);

/* doctor_facts.c: by what hook-stat reads; by what the operator told. */
int	 doctor_workers(struct doctor *);
int	 doctor_snapshot(struct doctor *);
int	 doctor_clock(struct doctor *);
int	 doctor_retention(struct doctor *);
int	 doctor_backup(struct doctor *);
int	 doctor_https(struct doctor *);

/* doctor_keys.c: of secrets. */
int	 doctor_secrets(struct doctor *);
int	 doctor_sealed(struct doctor *);
int	 doctor_sources(struct doctor *);

/* doctor_host.c: of this machine. */
int	 doctor_alerts(struct doctor *);
int	 doctor_files(struct doctor *);
int	 doctor_jq(struct doctor *);
int	 doctor_allow(struct doctor *);
int	 doctor_nginx(struct doctor *);

#endif /* DOCTOR_INT_H */
