#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "intake_int.h"
#include "log.h"
#include "stmt.h"

#define BATCH_MAX	500			/* messages */
#define BATCH_BYTES	(16u * 1024 * 1024)

static int	 add_row(struct intake_session *,
		    const struct intake_message *);
static int	 by_id(const void *, const void *);
static struct intake_message *take(struct intake *);

/*
 * As much as is being written already, or it has waited long enough: small
 * transactions beside others cost both more than they save.
 */
int
intake_worth(const struct intake *it, int64_t now)
{
	const struct intake_message	*m = STAILQ_FIRST(&it->waiting);
	int				 i;

	if (m == NULL)
		return 0;
	if (now - m->at_ms >= COLLECT_MS)
		return 1;
	for (i = 0; i < INTAKE_SESSIONS; i++)
		if (it->session[i].doing == STORE &&
		    it->nwaiting < it->session[i].nwriting)
			return 0;
	return 1;
}

int
intake_send_batch(struct intake *it, struct intake_session *s)
{
	struct intake_message	*m, *batch[BATCH_MAX];
	size_t			 i, bytes = 0;
	size_t			 most = it->single > 0 ? 1 : BATCH_MAX;
	struct db_arg		 arg[5];

	arr_reset(&s->source);
	arr_reset(&s->id);
	arr_reset(&s->type);
	arr_reset(&s->headers);
	arr_reset(&s->body);
	for (s->nwriting = 0; (m = STAILQ_FIRST(&it->waiting)) != NULL &&
	    s->nwriting < most && (bytes == 0 || bytes + m->len <
	    BATCH_BYTES); s->nwriting++) {
		batch[s->nwriting] = take(it);
		bytes += m->len + 1;
	}
	/* In one order everywhere, or two batches deadlock on repeats. */
	qsort(batch, s->nwriting, sizeof(batch[0]), by_id);
	for (i = 0; i < s->nwriting; i++)
		STAILQ_INSERT_TAIL(&s->writing, batch[i], link);
	STAILQ_FOREACH(m, &s->writing, link)
		if (add_row(s, m) == -1) {
			intake_answer(it, &s->writing, INTAKE_AWAY);
			return 0;
		}
	arg[0] = arr_arg(&s->source);
	arg[1] = arr_arg(&s->id);
	arg[2] = arr_arg(&s->type);
	arg[3] = arr_arg(&s->headers);
	arg[4] = arr_arg(&s->body);
	intake_begin(s, STORE, INTAKE_PATIENCE_MS);
	return db_send(&s->db, &stmt_inbox_store, 5, arg, 0);
}

static struct intake_message *
take(struct intake *it)
{
	struct intake_message	*m = STAILQ_FIRST(&it->waiting);

	STAILQ_REMOVE_HEAD(&it->waiting, link);
	it->nwaiting--;
	return m;
}

static int
by_id(const void *a, const void *b)
{
	const struct intake_message	*m = *(struct intake_message *const *)a;
	const struct intake_message	*o = *(struct intake_message *const *)b;
	int				 cmp = strcmp(m->id, o->id);

	return cmp != 0 ? cmp : strcmp(m->source, o->source);
}

static int
add_row(struct intake_session *s, const struct intake_message *m)
{
	arr_bytes(&s->source, m->source, strlen(m->source));
	arr_bytes(&s->id, m->id, strlen(m->id));
	arr_bytes(&s->type, m->type, m->type == NULL ? 0 : strlen(m->type));
	arr_bytes(&s->headers, m->headers.s == NULL ? "" : m->headers.s,
	    m->headers.len);
	arr_bytes(&s->body, m->len == 0 ? "" : m->body, m->len);
	return arr_failed(&s->source) || arr_failed(&s->id) ||
	    arr_failed(&s->type) || arr_failed(&s->headers) ||
	    arr_failed(&s->body) ? -1 : 0;
}

/*
 * Committed.  What the statement returned is new, in the order of the batch:
 * one walk finds what is not.
 */
void
intake_stored(struct intake *it, struct intake_session *s)
{
	struct intake_message	*m;
	int			 i = 0, rows = db_rows(&s->db);

	if (it->single > 0)
		it->single--;
	while ((m = STAILQ_FIRST(&s->writing)) != NULL) {
		STAILQ_REMOVE_HEAD(&s->writing, link);
		if (i < rows && strcmp(db_col(&s->db, i, 1), m->id) == 0 &&
		    strcmp(db_col(&s->db, i, 0), m->source) == 0) {
			i++;
			it->done(it->arg, m, INTAKE_STORED);
		} else
			it->done(it->arg, m, INTAKE_DUPLICATE);
	}
}

/*
 * One of them can't be kept, or waits for a row that somebody inserts: which,
 * is found out by sending each alone.  Or the database is in trouble.
 */
void
intake_not_stored(struct intake *it, struct intake_session *s)
{
	int	 is_data = db_exitcode(&s->db) == EX_DATAERR;
	int	 is_locked = strcmp(s->db.sqlstate, DB_LOCKED) == 0;

	if ((is_data || is_locked) && s->nwriting > 1) {
		it->single += (int)s->nwriting;
		it->nwaiting += s->nwriting;
		STAILQ_CONCAT(&s->writing, &it->waiting);
		STAILQ_CONCAT(&it->waiting, &s->writing);
		return;
	}
	if (it->single > 0)
		it->single--;
	log_event(LOG_ERROR, "messages not stored", "reason",
	    db_error(&s->db), NULL);
	intake_answer(it, &s->writing,
	    is_data ? INTAKE_REFUSED : INTAKE_AWAY);
}

/* Those that wait behind a batch that takes too long. */
void
intake_overdue(struct intake *it, int64_t now)
{
	struct intake_message	*m;

	while ((m = STAILQ_FIRST(&it->waiting)) != NULL &&
	    now - m->at_ms >= INTAKE_PATIENCE_MS - 200) {
		take(it);
		if (it->single > 0)
			it->single--;
		it->done(it->arg, m, INTAKE_AWAY);
	}
}

void
intake_answer(struct intake *it, struct intake_list *list,
    enum intake_outcome o)
{
	struct intake_message	*m;

	while ((m = STAILQ_FIRST(list)) != NULL) {
		STAILQ_REMOVE_HEAD(list, link);
		it->done(it->arg, m, o);
	}
}
