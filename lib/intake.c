#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "intake.h"
#include "log.h"
#include "stmt.h"

#define BATCH_MAX	500			/* messages */
#define BATCH_BYTES	(16u * 1024 * 1024)
#define LOAD_EVERY_MS	5000
#define COUNT_EVERY_MS	1000
#define QUIET_MS	3000	/* for what no client waits for */

enum doing { AWAY, CONNECT, IDLE, SETUP, LOAD, STORE, COUNT };

/* A session's own limits, so that a lock held by others ends in time. */
static const char	 limits[] =
    "select set_config('statement_timeout', '1200', false),"
    " set_config('lock_timeout', '1000', false),"
    " set_config('synchronous_commit', case"
    " when current_setting('synchronous_commit') = 'off' then 'local'"
    " else current_setting('synchronous_commit') end, false)";
static const char	 listen[] =
    "do $$ begin execute format('listen %I', webhook_channel('receive'));"
    " end $$";

static int	 add_row(struct intake *, const struct intake_message *);
static void	 answer(struct intake *, struct intake_list *,
		    enum intake_outcome);
static void	 begin(struct intake *, int, int64_t);
static void	 failed(struct intake *);
static int	 finish(struct intake *);
static int	 next(struct intake *, int64_t);
static void	 lost(struct intake *, const char *);
static void	 overdue(struct intake *, int64_t);
static int	 send_batch(struct intake *);
static int	 set_up(struct intake *);
static void	 stored(struct intake *);
static int	 take_sources(struct intake *);

void
intake_init(struct intake *it)
{
	STAILQ_INIT(&it->waiting);
	STAILQ_INIT(&it->writing);
	arr_init(&it->source, ARR_TEXT);
	arr_init(&it->id, ARR_TEXT);
	arr_init(&it->type, ARR_TEXT);
	arr_init(&it->headers, ARR_TEXT);
	arr_init(&it->body, ARR_BYTEA);
	counts_init(&it->counts);
}

void
intake_free(struct intake *it)
{
	answer(it, &it->writing, INTAKE_AWAY);
	answer(it, &it->waiting, INTAKE_AWAY);
	db_close(&it->db);
	arr_free(&it->source);
	arr_free(&it->id);
	arr_free(&it->type);
	arr_free(&it->headers);
	arr_free(&it->body);
	counts_free(&it->counts);
}

int
intake_put(struct intake *it, struct intake_message *m)
{
	if (!it->ready)
		return -1;
	m->at_ms = follow_now_ms();
	STAILQ_INSERT_TAIL(&it->waiting, m, link);
	return 0;
}

int
intake_step(struct intake *it)
{
	int64_t	 now, wait_ms;
	int	 rc;

	for (;;) {
		now = follow_now_ms();
		if (it->doing == AWAY) {
			if (now < it->retry_ms)
				break;
			if (db_start(&it->db, it->conninfo, it->tool) == -1) {
				lost(it, db_error(&it->db));
				continue;
			}
			it->doing = CONNECT;
		}
		if ((rc = db_step(&it->db)) == -1) {
			failed(it);
			continue;
		}
		if (rc == 0) {
			if (it->doing == CONNECT || now < it->by_ms)
				break;
			lost(it, "database: no answer in time");
			continue;
		}
		if (it->doing != IDLE && finish(it) == -1) {
			failed(it);
			continue;
		}
		if (it->doing == IDLE && next(it, now) == -1) {
			failed(it);
			continue;
		}
		if (it->doing == IDLE)
			break;
	}
	overdue(it, now);
	wait_ms = it->doing == AWAY ? it->retry_ms - now :
	    it->doing == IDLE || it->doing == CONNECT ? 500 :
	    it->by_ms - now;
	return wait_ms < 0 ? 0 : wait_ms > 500 ? 500 : (int)wait_ms;
}

/* Something is done: connected, or a statement. */
static int
finish(struct intake *it)
{
	int	 did = it->doing;

	it->doing = IDLE;
	switch (did) {
	case CONNECT:
		it->step = 0;
		return set_up(it);
	case SETUP:
		return set_up(it);
	case LOAD:
		return take_sources(it);
	case STORE:
		stored(it);
		return 0;
	case COUNT:
		counts_stored(&it->counts);
	}
	return 0;
}

/* What a new session needs, a statement at a time. */
static int
set_up(struct intake *it)
{
	int	 rc;

	switch (it->step++) {
	case 0:
		rc = db_send_exec(&it->db, limits);
		break;
	case 1:
		rc = db_send_exec(&it->db, listen);
		break;
	case 2:
		rc = db_send_prepare(&it->db, &stmt_source_load);
		break;
	case 3:
		rc = db_send_prepare(&it->db, &stmt_inbox_store);
		break;
	case 4:
		rc = db_send_prepare(&it->db, &stmt_receive_count);
		break;
	default:
		it->reload = 1;
		return 0;
	}
	begin(it, SETUP, QUIET_MS);
	return rc;
}

static void
begin(struct intake *it, int doing, int64_t patience_ms)
{
	it->doing = doing;
	it->by_ms = follow_now_ms() + patience_ms;
}

/* Idle: start the most urgent of what there is to do. */
static int
next(struct intake *it, int64_t now)
{
	struct db_arg	 count[3];

	if (db_notified(&it->db) || now >= it->load_ms)
		it->reload = 1;
	if (it->reload) {
		it->reload = 0;
		it->load_ms = now + LOAD_EVERY_MS;
		begin(it, LOAD, it->ready ? INTAKE_PATIENCE_MS : QUIET_MS);
		return db_send(&it->db, &stmt_source_load, 0, NULL, 0);
	}
	if (!STAILQ_EMPTY(&it->waiting))
		return send_batch(it);
	if (now >= it->count_ms) {
		it->count_ms = now + COUNT_EVERY_MS;
		if (counts_collect(&it->counts, it->sources) == 0 ||
		    counts_args(&it->counts, count) == -1)
			return 0;
		begin(it, COUNT, INTAKE_PATIENCE_MS);
		return db_send(&it->db, &stmt_receive_count, 3, count, 0);
	}
	return 0;
}

static int
take_sources(struct intake *it)
{
	const struct source	*broken;

	if (sources_load(it->sources, &it->db, it->seal, &broken) == -1)
		return 0;	/* without memory; again in a while */
	if (broken != NULL)
		log_event(LOG_ERROR, "source can't verify", "source",
		    broken->name, "reason", broken->broken, NULL);
	it->ready = 1;
	follow_back(&it->follow);
	return 0;
}

static int
send_batch(struct intake *it)
{
	const struct stmt	*st = &stmt_inbox_store;
	struct intake_message	*m;
	size_t			 bytes = 0;
	size_t			 most = it->single > 0 ? 1 : BATCH_MAX;
	struct db_arg		 arg[5];

	arr_reset(&it->source);
	arr_reset(&it->id);
	arr_reset(&it->type);
	arr_reset(&it->headers);
	arr_reset(&it->body);
	it->nwriting = 0;
	while ((m = STAILQ_FIRST(&it->waiting)) != NULL &&
	    it->nwriting < most && (bytes == 0 || bytes + m->len <
	    BATCH_BYTES)) {
		STAILQ_REMOVE_HEAD(&it->waiting, link);
		STAILQ_INSERT_TAIL(&it->writing, m, link);
		it->nwriting++;
		bytes += m->len + 1;
		if (add_row(it, m) == -1) {
			answer(it, &it->writing, INTAKE_AWAY);
			return 0;
		}
	}
	arg[0] = arr_arg(&it->source);
	arg[1] = arr_arg(&it->id);
	arg[2] = arr_arg(&it->type);
	arg[3] = arr_arg(&it->headers);
	arg[4] = arr_arg(&it->body);
	begin(it, STORE, INTAKE_PATIENCE_MS);
	return db_send(&it->db, st, 5, arg, 0);
}

static int
add_row(struct intake *it, const struct intake_message *m)
{
	arr_bytes(&it->source, m->source, strlen(m->source));
	arr_bytes(&it->id, m->id, strlen(m->id));
	arr_bytes(&it->type, m->type, m->type == NULL ? 0 : strlen(m->type));
	arr_bytes(&it->headers, m->headers.s == NULL ? "" : m->headers.s,
	    m->headers.len);
	arr_bytes(&it->body, m->len == 0 ? "" : m->body, m->len);
	return arr_failed(&it->source) || arr_failed(&it->id) ||
	    arr_failed(&it->type) || arr_failed(&it->headers) ||
	    arr_failed(&it->body) ? -1 : 0;
}

/*
 * Committed.  What the statement returned is new, in the order of the batch:
 * one walk finds what is not.
 */
static void
stored(struct intake *it)
{
	struct intake_message	*m;
	int			 i = 0, rows = db_rows(&it->db);

	if (it->single > 0)
		it->single--;
	while ((m = STAILQ_FIRST(&it->writing)) != NULL) {
		STAILQ_REMOVE_HEAD(&it->writing, link);
		if (i < rows && strcmp(db_col(&it->db, i, 1), m->id) == 0 &&
		    strcmp(db_col(&it->db, i, 0), m->source) == 0) {
			i++;
			it->done(it->arg, m, INTAKE_STORED);
		} else
			it->done(it->arg, m, INTAKE_DUPLICATE);
	}
}

/* A statement failed, or the connection. */
static void
failed(struct intake *it)
{
	int	 did = it->doing, code = db_exitcode(&it->db);

	if (did == CONNECT || did == SETUP || did == LOAD ||
	    db_lost(&it->db)) {
		lost(it, db_error(&it->db));
		return;
	}
	it->doing = IDLE;
	if (did != STORE) {
		log_event(LOG_ERROR, "counters not stored", "reason",
		    db_error(&it->db), NULL);
		return;
	}
	if (code == EX_DATAERR && it->nwriting > 1) {
		/* One of them: find out which. */
		it->single = (int)it->nwriting;
		STAILQ_CONCAT(&it->writing, &it->waiting);
		STAILQ_CONCAT(&it->waiting, &it->writing);
		return;
	}
	if (it->single > 0)
		it->single--;
	log_event(LOG_ERROR, "messages not stored", "reason",
	    db_error(&it->db), NULL);
	answer(it, &it->writing, code == EX_DATAERR ? INTAKE_REFUSED :
	    INTAKE_AWAY);
}

static void
lost(struct intake *it, const char *why)
{
	it->retry_ms = follow_now_ms() + follow_lost(&it->follow, why);
	it->doing = AWAY;
	it->ready = it->single = 0;
	db_close(&it->db);
	answer(it, &it->writing, INTAKE_AWAY);
	answer(it, &it->waiting, INTAKE_AWAY);
}

/* Those that wait behind a batch that takes too long. */
static void
overdue(struct intake *it, int64_t now)
{
	struct intake_message	*m;

	while ((m = STAILQ_FIRST(&it->waiting)) != NULL &&
	    now - m->at_ms >= INTAKE_PATIENCE_MS - 200) {
		STAILQ_REMOVE_HEAD(&it->waiting, link);
		if (it->single > 0)
			it->single--;
		it->done(it->arg, m, INTAKE_AWAY);
	}
}

static void
answer(struct intake *it, struct intake_list *list, enum intake_outcome o)
{
	struct intake_message	*m;

	while ((m = STAILQ_FIRST(list)) != NULL) {
		STAILQ_REMOVE_HEAD(list, link);
		it->done(it->arg, m, o);
	}
}

int
intake_socket(const struct intake *it)
{
	return it->doing == AWAY ? -1 : db_socket(&it->db);
}

int
intake_writes(struct intake *it)
{
	return it->doing != AWAY && db_writes(&it->db);
}

int
intake_ready(const struct intake *it)
{
	return it->ready;
}

void
intake_reload(struct intake *it)
{
	it->reload = 1;
}

int
intake_uncounted(struct intake *it)
{
	if (!it->ready || it->doing == COUNT)
		return it->ready;
	it->count_ms = 0;
	return counts_collect(&it->counts, it->sources) > 0;
}
