/*
 * intake_int.h - between intake.c, which has the sessions, and
 * intake_batch.c, which has the messages.
 */
#ifndef INTAKE_INT_H
#define INTAKE_INT_H

#include "intake.h"

#define COLLECT_MS	5	/* at most, for a batch as large as the other */

enum intake_doing { AWAY, CONNECT, IDLE, SETUP, LOAD, STORE, COUNT };

/* A session does this from now on; patience is for its statement. */
void	 intake_begin(struct intake_session *, int doing, int64_t patience_ms);

/* Is what waits worth a transaction now?  Then send it; -1: not sent. */
int	 intake_worth(const struct intake *, int64_t now_ms);
int	 intake_send_batch(struct intake *, struct intake_session *) DB_CHECKED;

/* Committed; or the statement failed. */
void	 intake_stored(struct intake *, struct intake_session *);
void	 intake_not_stored(struct intake *, struct intake_session *);

void	 intake_answer(struct intake *, struct intake_list *,
	    enum intake_outcome);
/* Those that wait behind batches that take too long are told so. */
void	 intake_overdue(struct intake *, int64_t now_ms);

#endif /* INTAKE_INT_H */
