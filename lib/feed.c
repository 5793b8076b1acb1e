#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "base64.h"
#include "db_async.h"
#include "feed.h"
#include "follow.h"
#include "stmt.h"

#define ACK_BATCH	1000	/* messages a statement */
#define BEAT_MS		60000

enum { ID, FENCE, OUTCOME, PAUSE, STATUS, SIGNAL, ERROR, TAIL, MESSAGE,
    COLUMNS };

static int	 ack_some(struct feed *, struct parcel *, size_t);
static int	 by_id(const void *, const void *);
static struct parcel *claimed(const struct db *, int, int64_t);
static int	 contents(struct feed *, struct parcel **);
static char	*field(const struct db *, int, int);
static int64_t	*ids_of(const struct db *);
static int64_t	 lease_end(const struct feed *, int64_t);
static int	 look(struct feed *, size_t, int);
static void	 name(struct feed *);
static void	 named(struct feed *, const struct parcel *);
static int	 out_of_memory(struct feed *);
static int	 put(struct feed *, const struct parcel *, size_t);
static int	 session(struct feed *);

void
feed_init(struct feed *f)
{
	static const enum arr_type type[COLUMNS] = { ARR_INT8, ARR_INT8,
	    ARR_TEXT, ARR_INT8, ARR_INT4, ARR_INT4, ARR_TEXT, ARR_BYTEA,
	    ARR_TEXT };
	size_t	 i;

	name(f);
	for (i = 0; i < COLUMNS; i++)
		arr_init(&f->col[i], type[i]);
	arr_init(&f->released, ARR_TEXT);
}

static void
name(struct feed *f)
{
	char	 host[64] = "host", *p;

	gethostname(host, sizeof(host) - 1);
	for (p = host; *p != '\0'; p++)
		if (*p <= ' ' || *p > '~')
			*p = '?';
	snprintf(f->name, sizeof(f->name), "%s:%ld:%08" PRIx32, host,
	    (long)getpid(), arc4random());
}

void
feed_free(struct feed *f)
{
	size_t	 i;

	for (i = 0; i < COLUMNS; i++)
		arr_free(&f->col[i]);
	arr_free(&f->released);
	db_close(&f->db);
}

int
feed_open(struct feed *f)
{
	if (db_open(&f->db, f->conninfo, f->tool) == -1 ||
	    db_run(&f->db, &stmt_inbox_source,
	    DB_ARGS(f->source, f->path)) == -1)
		return -1;
	f->no_source = *db_col(&f->db, 0, 0) != 't';
	snprintf(f->follower, sizeof(f->follower), "%s %s",
	    db_col(&f->db, 0, 1), f->name);
	strlcpy(f->at, "-infinity", sizeof(f->at));
	strlcpy(f->id, "0", sizeof(f->id));
	f->asleep = 0;
	return session(f) == -1 || (f->follow && feed_tick(f) == -1) ? -1 : 0;
}

/* The index is the order: nothing is to be sorted. */
static int
session(struct feed *f)
{
	char	 consumers[40];

	strlcpy(consumers, f->follower, sizeof(consumers));
	consumers[strcspn(consumers, " ")] = '\0';
	return db_plan_by_index(&f->db) == -1 ||
	    db_exec(&f->db, "set enable_sort = off;"
	    " set lock_timeout = '10s'") == -1 ||
	    (f->follow && db_listen(&f->db, consumers) == -1) ? -1 : 0;
}

int
feed_fresh(struct feed *f)
{
	return db_fresh(&f->db) == -1 ? -1 : session(f);
}

void
feed_close(struct feed *f)
{
	if (f->db.conn != NULL && f->follow &&
	    db_run(&f->db, &stmt_inbox_gone, DB_ARGS(f->name)) == -1)
		feed_error(f);
	db_close(&f->db);
}

int
feed_error(struct feed *f)
{
	if (db_lost(&f->db))
		db_close(&f->db);
	return f->db.conn == NULL;
}

int
feed_due(struct feed *f)
{
	return db_run(&f->db, &stmt_inbox_due,
	    DB_ARGS(f->source, f->type, f->prefix));
}

int
feed_claim(struct feed *f, size_t most, int head, struct parcel **list)
{
	struct parcel	*p, **end = list;
	int64_t		 start_ms = follow_now_ms();
	int		 i, rows, n = 0;

	*list = NULL;
	if ((rows = look(f, most, head)) == -1)
		return -1;
	strlcpy(f->at, db_col(&f->db, 0, 6), sizeof(f->at));
	strlcpy(f->id, db_col(&f->db, 0, 7), sizeof(f->id));
	f->more = *db_col(&f->db, 0, 8) == 't';
	for (i = 0; i < rows; i++) {
		if (db_col(&f->db, i, 0) == NULL)
			continue;
		p = claimed(&f->db, i, lease_end(f, start_ms));
		if (p == NULL) {
			parcel_free(*list);
			return out_of_memory(f);
		}
		*end = p;
		end = &p->next;
		n++;
	}
	if (n > 0 && (n = contents(f, list)) == -1) {
		parcel_free(*list);	/* their lease will end */
		*list = NULL;
	}
	return n;
}

static int
look(struct feed *f, size_t most, int head)
{
	const char	*at = head ? "-infinity" : f->at;
	const char	*id = head ? "0" : f->id;
	char		 limit[24], lease[24];
	int		 rows;

	snprintf(limit, sizeof(limit), "%zu", most);
	snprintf(lease, sizeof(lease), "%" PRId64, f->lease_ms);
	if (f->path == NULL)
		return db_run(&f->db, &stmt_inbox_claim, DB_ARGS(f->source,
		    f->type, f->prefix, at, id, limit, f->name, lease));
	if (arr_failed(&f->released))
		arr_reset(&f->released);	/* found from the head */
	rows = db_runv(&f->db, &stmt_inbox_claim_keyed, 10,
	    (struct db_arg []){
		{ f->source, DB_TEXT }, { f->type, DB_TEXT },
		{ f->prefix, DB_TEXT }, { at, DB_TEXT }, { id, DB_TEXT },
		{ limit, DB_TEXT }, { f->name, DB_TEXT }, { lease, DB_TEXT },
		{ f->path, DB_TEXT }, arr_arg(&f->released)
	});
	if (rows != -1)
		arr_reset(&f->released);
	return rows;
}

/*
 * An eighth of the lease is left for clocks that run differently, and counted
 * is from before the statement was sent.
 */
static int64_t
lease_end(const struct feed *f, int64_t start_ms)
{
	return start_ms + f->lease_ms - f->lease_ms / 8;
}

static struct parcel *
claimed(const struct db *db, int row, int64_t until_ms)
{
	struct parcel	*p;

	if ((p = calloc(1, sizeof(*p))) == NULL ||
	    (p->key = field(db, row, 5)) == NULL) {
		free(p);
		return NULL;
	}
	p->id = db_int(db, row, 0);
	p->fence = db_int(db, row, 1);
	p->attempts = (int)db_int(db, row, 2);
	p->failures = (int)db_int(db, row, 3);
	p->takeovers = (int)db_int(db, row, 4);
	p->until_ms = until_ms;
	p->status = p->sig = -1;
	return p;
}

/* "" for null. */
static char *
field(const struct db *db, int row, int col)
{
	const char	*s = db_col(db, row, col);

	return strdup(s == NULL ? "" : s);
}

/*
 * What is in the messages that were claimed; bytea comes as \x and hex.  One
 * that was deleted in between is taken off the list.  How many are left.
 */
static int
contents(struct feed *f, struct parcel **list)
{
	struct parcel	*p;
	size_t		 len;
	int		 row = 0, rows;

	arr_reset(&f->col[ID]);
	for (p = *list; p != NULL; p = p->next)
		arr_int8(&f->col[ID], p->id);
	if (arr_failed(&f->col[ID]))
		return out_of_memory(f);
	rows = db_runv(&f->db, &stmt_inbox_read, 2, (struct db_arg []){
		arr_arg(&f->col[ID]), { f->json ? "t" : "f", DB_TEXT } });
	while (rows != -1 && (p = *list) != NULL) {
		if (row == rows || db_int(&f->db, row, 0) != p->id) {
			*list = p->next;
			p->next = NULL;
			parcel_free(p);
			continue;
		}
		len = (db_len(&f->db, row, 4) - 2) / 2;
		if ((p->message_id = field(&f->db, row, 1)) == NULL ||
		    (p->received_at = field(&f->db, row, 3)) == NULL ||
		    (p->headers = field(&f->db, row, 6)) == NULL ||
		    (p->body = malloc(len + 1)) == NULL ||
		    (db_col(&f->db, row, 2) != NULL &&
		    (p->event_type = field(&f->db, row, 2)) == NULL))
			return out_of_memory(f);
		if (hex_decode(db_col(&f->db, row, 4) + 2, len * 2, p->body,
		    len) == -1)
			len = 0;
		p->len = len;
		p->is_json = f->json && *db_col(&f->db, row, 5) == 't';
		row++;
		list = &p->next;
	}
	return rows;
}

static int
out_of_memory(struct feed *f)
{
	f->db.code = EX_TEMPFAIL;
	f->db.sqlstate[0] = '\0';
	strlcpy(f->db.why, "out of memory", sizeof(f->db.why));
	return -1;
}

int
feed_renew(struct feed *f, struct parcel *const *all, size_t n)
{
	int64_t	 start_ms = follow_now_ms(), *ids;
	char	 lease[24];
	size_t	 i;
	int	 rows;

	arr_reset(&f->col[ID]);
	arr_reset(&f->col[FENCE]);
	arr_reset(&f->col[MESSAGE]);
	for (i = 0; i < n; i++)
		named(f, all[i]);
	if (arr_failed(&f->col[ID]) || arr_failed(&f->col[FENCE]) ||
	    arr_failed(&f->col[MESSAGE]))
		return out_of_memory(f);
	snprintf(lease, sizeof(lease), "%" PRId64, f->lease_ms);
	rows = db_runv(&f->db, &stmt_inbox_renew, 5, (struct db_arg []){
		{ f->name, DB_TEXT }, { lease, DB_TEXT },
		arr_arg(&f->col[ID]), arr_arg(&f->col[FENCE]),
		arr_arg(&f->col[MESSAGE]) });
	if (rows == -1)
		return -1;
	if ((ids = ids_of(&f->db)) == NULL)
		return out_of_memory(f);
	for (i = 0; i < n; i++)
		if (bsearch(&all[i]->id, ids, (size_t)rows, sizeof(*ids),
		    by_id) != NULL)
			all[i]->until_ms = lease_end(f, start_ms);
	free(ids);
	return 0;
}

/* Which message it is, whatever a restore has made of its number. */
static void
named(struct feed *f, const struct parcel *p)
{
	arr_int8(&f->col[ID], p->id);
	arr_int8(&f->col[FENCE], p->fence);
	arr_bytes(&f->col[MESSAGE], p->message_id, strlen(p->message_id));
}

/* The first column of the last result, sorted. */
static int64_t *
ids_of(const struct db *db)
{
	int	 i, n = db_rows(db);
	int64_t	*ids = reallocarray(NULL, (size_t)n + 1, sizeof(*ids));

	if (ids == NULL)
		return NULL;
	for (i = 0; i < n; i++)
		ids[i] = db_int(db, i, 0);
	qsort(ids, (size_t)n, sizeof(*ids), by_id);
	return ids;
}

static int
by_id(const void *a, const void *b)
{
	const int64_t	*x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

int
feed_ack(struct feed *f, struct parcel *p)
{
	struct parcel	*from;
	size_t		 n;

	while ((from = p) != NULL) {
		for (n = 0; p != NULL && n < ACK_BATCH; n++)
			p = p->next;
		if (ack_some(f, from, n) == -1)
			return -1;
	}
	return 0;
}

static int
ack_some(struct feed *f, struct parcel *p, size_t n)
{
	struct arr	*col = f->col;
	int64_t		*ids;
	int		 rows;

	if (put(f, p, n) == -1)
		return out_of_memory(f);
	rows = db_runv(&f->db, &stmt_inbox_ack, 11, (struct db_arg []){
		{ f->name, DB_TEXT }, { f->source, DB_TEXT },
		arr_arg(&col[ID]), arr_arg(&col[FENCE]),
		arr_arg(&col[OUTCOME]), arr_arg(&col[PAUSE]),
		arr_arg(&col[STATUS]), arr_arg(&col[SIGNAL]),
		arr_arg(&col[ERROR]), arr_arg(&col[TAIL]),
		arr_arg(&col[MESSAGE]) });
	if (rows == -1)
		return -1;
	if ((ids = ids_of(&f->db)) == NULL)
		return out_of_memory(f);
	for (; n > 0; n--, p = p->next) {
		p->acked = bsearch(&p->id, ids, (size_t)rows, sizeof(*ids),
		    by_id) != NULL;
		if (f->path != NULL && *p->key != '\0' &&
		    (strcmp(p->outcome, "done") == 0 ||
		    strcmp(p->outcome, "dead") == 0))
			arr_bytes(&f->released, p->key, strlen(p->key));
	}
	free(ids);
	return 0;
}

/* n of a list, as columns. */
static int
put(struct feed *f, const struct parcel *p, size_t n)
{
	struct arr	*col = f->col;
	int		 i, failed = 0;

	for (i = 0; i < COLUMNS; i++)
		arr_reset(&col[i]);
	for (; n > 0; n--, p = p->next) {
		named(f, p);
		arr_bytes(&col[OUTCOME], p->outcome, strlen(p->outcome));
		arr_int8(&col[PAUSE], p->pause_ms);
		if (p->status == -1)
			arr_null(&col[STATUS]);
		else
			arr_int4(&col[STATUS], p->status);
		if (p->sig == -1)
			arr_null(&col[SIGNAL]);
		else
			arr_int4(&col[SIGNAL], p->sig);
		arr_bytes(&col[ERROR], p->error,
		    p->error == NULL ? 0 : strlen(p->error));
		arr_bytes(&col[TAIL], p->tail, p->tail_len);
	}
	for (i = 0; i < COLUMNS; i++)
		failed |= arr_failed(&col[i]);
	return failed ? -1 : 0;
}

int
feed_sleep(struct feed *f, int asleep)
{
	f->asleep = asleep;
	return db_run(&f->db, &stmt_wakeup_set,
	    DB_ARGS(f->follower, asleep ? "t" : "f"));
}

int
feed_tick(struct feed *f)
{
	int64_t	 now_ms = follow_now_ms();

	/* No message waits for a statistic that fails. */
	if (now_ms >= f->beat_at_ms || follow_hup) {
		follow_hup = 0;
		f->beat_at_ms = now_ms + BEAT_MS;
		if (db_run(&f->db, &stmt_beat, DB_ARGS(f->tool)) != -1)
			follow_beat(&f->db);
		else if (db_lost(&f->db))
			return -1;
	}
	return db_run(&f->db, &stmt_inbox_tick, DB_ARGS(f->name, f->tool));
}
