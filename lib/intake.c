#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "intake_int.h"
#include "log.h"
#include "stmt.h"

#define LOAD_EVERY_MS	5000
#define COUNT_EVERY_MS	1000
#define QUIET_MS	3000	/* for what no client waits for */

/* A session's own limits, so that a lock held by others ends in time. */
static const char	 limits[] =
    "select set_config('statement_timeout', '1200', false),"
    " set_config('lock_timeout', '500', false),"
    " set_config('synchronous_commit', case"
    " when current_setting('synchronous_commit') = 'off' then 'local'"
    " else current_setting('synchronous_commit') end, false)";
static const char	 listen[] =
    "do $$ begin execute format('listen %I', webhook_channel('receive'));"
    " end $$";

static void	 failed(struct intake *, struct intake_session *);
static int	 finish(struct intake *, struct intake_session *);
static int	 has_session(const struct intake *);
static int	 is_first(const struct intake *, const struct intake_session *);
static int	 next(struct intake *, struct intake_session *, int64_t);
static void	 lost(struct intake *, struct intake_session *, const char *);
static int	 set_up(struct intake *, struct intake_session *);
static int	 step(struct intake *, struct intake_session *, int64_t);
static int	 take_sources(struct intake *, struct intake_session *);

void
intake_init(struct intake *it)
{
	struct intake_session	*s;
	int			 i;

	STAILQ_INIT(&it->waiting);
	counts_init(&it->counts);
	for (i = 0; i < INTAKE_SESSIONS; i++) {
		s = &it->session[i];
		STAILQ_INIT(&s->writing);
		arr_init(&s->source, ARR_TEXT);
		arr_init(&s->id, ARR_TEXT);
		arr_init(&s->type, ARR_TEXT);
		arr_init(&s->headers, ARR_TEXT);
		arr_init(&s->body, ARR_BYTEA);
	}
}

void
intake_free(struct intake *it)
{
	struct intake_session	*s;
	int			 i;

	for (i = 0; i < INTAKE_SESSIONS; i++) {
		s = &it->session[i];
		intake_answer(it, &s->writing, INTAKE_AWAY);
		db_close(&s->db);
		arr_free(&s->source);
		arr_free(&s->id);
		arr_free(&s->type);
		arr_free(&s->headers);
		arr_free(&s->body);
	}
	intake_answer(it, &it->waiting, INTAKE_AWAY);
	counts_free(&it->counts);
}

int
intake_put(struct intake *it, struct intake_message *m)
{
	if (!it->ready)
		return -1;
	m->at_ms = follow_now_ms();
	STAILQ_INSERT_TAIL(&it->waiting, m, link);
	it->nwaiting++;
	return 0;
}

int
intake_step(struct intake *it)
{
	int64_t	 now = 0;
	int	 i, ms, wait_ms = 500;

	for (i = 0; i < INTAKE_SESSIONS; i++) {
		now = follow_now_ms();
		ms = step(it, &it->session[i], now);
		if (ms < wait_ms)
			wait_ms = ms;
	}
	intake_overdue(it, now);
	return wait_ms;
}

/* Move one session on; how long to wait at most, in ms. */
static int
step(struct intake *it, struct intake_session *s, int64_t now)
{
	int64_t	 wait_ms;
	int	 rc;

	for (;; now = follow_now_ms()) {
		if (s->doing == AWAY) {
			if (now < s->retry_ms)
				break;
			if (db_start(&s->db, it->conninfo, it->tool) == -1) {
				lost(it, s, db_error(&s->db));
				continue;
			}
			s->doing = CONNECT;
		}
		if ((rc = db_step(&s->db)) == -1) {
			failed(it, s);
			continue;
		}
		if (rc == 0) {
			if (s->doing == CONNECT || now < s->by_ms)
				break;
			lost(it, s, "database: no answer in time");
			continue;
		}
		if (s->doing != IDLE && finish(it, s) == -1) {
			failed(it, s);
			continue;
		}
		if (s->doing == IDLE && next(it, s, now) == -1) {
			failed(it, s);
			continue;
		}
		if (s->doing == IDLE)
			break;
	}
	wait_ms = s->doing == AWAY ? s->retry_ms - now :
	    s->doing == IDLE ? (it->nwaiting > 0 ? COLLECT_MS : 500) :
	    s->doing == CONNECT ? 500 : s->by_ms - now;
	return wait_ms < 0 ? 0 : wait_ms > 500 ? 500 : (int)wait_ms;
}

/* Something is done: connected, or a statement. */
static int
finish(struct intake *it, struct intake_session *s)
{
	int	 did = s->doing;

	s->doing = IDLE;
	switch (did) {
	case CONNECT:
		s->step = 0;
		return set_up(it, s);
	case SETUP:
		return set_up(it, s);
	case LOAD:
		return take_sources(it, s);
	case STORE:
		intake_stored(it, s);
		return 0;
	case COUNT:
		counts_stored(&it->counts);
	}
	return 0;
}

/* What a new session needs, a statement at a time. */
static int
set_up(struct intake *it, struct intake_session *s)
{
	int	 rc;

	switch (s->step++) {
	case 0:
		rc = db_send_exec(&s->db, limits);
		break;
	case 1:
		rc = db_send_prepare(&s->db, &stmt_inbox_store);
		break;
	case 2:
		if (!is_first(it, s)) {
			follow_back(&it->follow);
			return 0;
		}
		rc = db_send_exec(&s->db, listen);
		break;
	case 3:
		rc = db_send_prepare(&s->db, &stmt_source_load);
		break;
	case 4:
		rc = db_send_prepare(&s->db, &stmt_receive_count);
		break;
	default:
		it->reload = 1;
		return 0;
	}
	intake_begin(s, SETUP, QUIET_MS);
	return rc;
}

static int
is_first(const struct intake *it, const struct intake_session *s)
{
	return s == &it->session[0];
}

void
intake_begin(struct intake_session *s, int doing, int64_t patience_ms)
{
	s->doing = doing;
	s->by_ms = follow_now_ms() + patience_ms;
}

/* Idle: start the most urgent of what there is to do. */
static int
next(struct intake *it, struct intake_session *s, int64_t now)
{
	struct db_arg	 count[3];

	if (is_first(it, s)) {
		if (db_notified(&s->db) || now >= it->load_ms)
			it->reload = 1;
		if (it->reload) {
			it->reload = 0;
			it->load_ms = now + LOAD_EVERY_MS;
			intake_begin(s, LOAD,
			    it->ready ? INTAKE_PATIENCE_MS : QUIET_MS);
			return db_send(&s->db, &stmt_source_load, 0, NULL, 0);
		}
	}
	if (intake_worth(it, now))
		return intake_send_batch(it, s);
	if (!is_first(it, s))
		return 0;
	if (now >= it->count_ms) {
		it->count_ms = now + COUNT_EVERY_MS;
		if (counts_collect(&it->counts, it->sources) == 0 ||
		    counts_args(&it->counts, count) == -1)
			return 0;
		intake_begin(s, COUNT, INTAKE_PATIENCE_MS);
		return db_send(&s->db, &stmt_receive_count, 3, count, 0);
	}
	return 0;
}

static int
take_sources(struct intake *it, struct intake_session *s)
{
	const struct source	*broken;

	if (sources_load(it->sources, &s->db, it->seal, &broken) == -1)
		return 0;	/* without memory; again in a while */
	if (broken != NULL)
		log_event(LOG_ERROR, "source can't verify", "source",
		    broken->name, "reason", broken->broken, NULL);
	it->ready = 1;
	follow_back(&it->follow);
	return 0;
}

/* A statement failed, or the connection. */
static void
failed(struct intake *it, struct intake_session *s)
{
	int	 did = s->doing;

	if (did == CONNECT || did == SETUP || did == LOAD ||
	    db_lost(&s->db)) {
		lost(it, s, db_error(&s->db));
		return;
	}
	s->doing = IDLE;
	if (did != STORE) {
		log_event(LOG_ERROR, "counters not stored", "reason",
		    db_error(&s->db), NULL);
		return;
	}
	intake_not_stored(it, s);
}

static int
has_session(const struct intake *it)
{
	int	 i;

	for (i = 0; i < INTAKE_SESSIONS; i++)
		if (it->session[i].doing != AWAY &&
		    it->session[i].doing != CONNECT &&
		    it->session[i].doing != SETUP)
			return 1;
	return 0;
}

static void
lost(struct intake *it, struct intake_session *s, const char *why)
{
	s->retry_ms = follow_now_ms() + follow_lost(&it->follow, why);
	s->doing = AWAY;
	db_close(&s->db);
	intake_answer(it, &s->writing, INTAKE_AWAY);
	if (has_session(it))
		return;
	it->ready = it->single = 0;
	intake_answer(it, &it->waiting, INTAKE_AWAY);
	it->nwaiting = 0;
}

int
intake_poll(struct intake *it, struct pollfd p[INTAKE_SESSIONS])
{
	struct intake_session	*s;
	int			 i, n = 0;

	for (i = 0; i < INTAKE_SESSIONS; i++) {
		s = &it->session[i];
		if (s->doing == AWAY || (p[n].fd = db_socket(&s->db)) == -1)
			continue;
		p[n++].events = db_writes(&s->db) ? POLLIN | POLLOUT : POLLIN;
	}
	return n;
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
	if (!it->ready || it->session[0].doing == COUNT)
		return it->ready;
	it->count_ms = 0;
	return counts_collect(&it->counts, it->sources) > 0;
}
