/*
 * Reading: the next due deliveries of the lanes that want some.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "db_async.h"
#include "job.h"
#include "log.h"

#define ROOM_MIN	64	/* rows a lane is given at a time, */
#define ROOM_MAX	500	/* where its rules would let it send them */
#define READ_AHEAD	16	/* rows waiting, times the slots, at least */
#define READ_AHEAD_MIN	256
#define HEAD_MS		1000	/* a look from the head as often as this, */
#define HEAD_SHARE	30	/* but at most 1/30 of the time */
#define UNREADABLE_MS	60000

static const enum arr_type	page_types[] = { ARR_INT8, ARR_TIMESTAMPTZ,
    ARR_INT8, ARR_INT4, ARR_BOOL };

static void	 add_lane(struct store *, struct lane *, size_t, int64_t);
static int	 fill_body(struct delivery *, const struct db *, int);
static int	 is_last(const struct lane *);
static struct delivery *read_row(const struct lane *, const struct db *, int);
static size_t	 room(const struct lane *, size_t);
static int	 start(struct store *, const struct stmt *, int64_t, int);
static int	 wants(const struct lane *, int64_t);

int
job_page(struct store *s, const struct stmt *st, int64_t now_ms)
{
	return start(s, st, now_ms, 0);
}

int
job_page_ordered(struct store *s, const struct stmt *st, int64_t now_ms)
{
	return start(s, st, now_ms, 1);
}

/*
 * Before the last ones are sent, so that none waits for the database: while it
 * writes a batch of outcomes, a fast endpoint takes hundreds.
 */
static int
wants(const struct lane *l, int64_t now_ms)
{
	return l->sub != NULL && !l->stale && !l->yield && !l->resting &&
	    !l->taken && !l->reload && !l->dry && l->hold_ms <= now_ms &&
	    now_ms < l->lease_ms &&
	    l->queued < (size_t)(l->open ? 1 : l->sub->cap * 4);
}

/* No more than the lane's own rules will let go soon. */
static size_t
room(const struct lane *l, size_t most)
{
	size_t	 n = (size_t)l->sub->cap * 8;

	if (n < ROOM_MIN)
		n = ROOM_MIN;
	if (l->sub->rate > 0 && (double)n > l->sub->rate * 2)
		n = (size_t)(l->sub->rate * 2) + 1;
	if (l->sub->transform != NULL && n > 16)
		n = 16;
	if (l->open)
		n = 1;
	if (n > most)
		n = most;
	return n > ROOM_MAX ? ROOM_MAX : n;
}

static int
start(struct store *s, const struct stmt *st, int64_t now_ms, int ordered)
{
	char		 bytes[24];
	struct lane	*l;
	size_t		 wanting = 0, queued = 0, ahead, most;

	if (s->stopping || s->ndone > s->slots * 4 + STORE_BATCH)
		return 0;
	for (l = s->lanes; l != NULL; l = l->next) {
		queued += l->queued;
		wanting += wants(l, now_ms);
	}
	ahead = s->slots * READ_AHEAD < READ_AHEAD_MIN ? READ_AHEAD_MIN :
	    s->slots * READ_AHEAD;
	if (wanting == 0)
		return 0;
	/* However much waits for others, a lane with nothing gets one. */
	most = queued < ahead ? (ahead - queued) / wanting : 0;
	job_arrays(s, 5, page_types);
	s->npage = 0;
	for (l = s->lanes; l != NULL && s->npage < s->page_max; l = l->next)
		if (wants(l, now_ms) && l->sub->ordered == ordered &&
		    (most > 0 || l->queued == 0))
			add_lane(s, l, room(l, most > 0 ? most : 1), now_ms);
	if (s->npage == 0)
		return 0;
	return db_send(&s->db, st, 6, (struct db_arg[]){
	    arr_arg(&s->arr[0]), arr_arg(&s->arr[1]), arr_arg(&s->arr[2]),
	    arr_arg(&s->arr[3]), arr_arg(&s->arr[4]),
	    job_number(bytes, STORE_PAGE_BYTES) }, 1) == -1 ? -1 : 1;
}

static void
add_lane(struct store *s, struct lane *l, size_t n, int64_t now_ms)
{
	/* A row that committed late stands behind the cursor. */
	if (!l->sub->ordered && now_ms >= l->head_ms)
		l->after_at = LANE_AFTER_AT_NONE;
	if (l->after_at == LANE_AFTER_AT_NONE) {
		l->after_id = l->sub->ordered ? INT64_MIN : 0;
		l->from_head = 1;
	} else
		l->from_head = 0;
	l->asked = n;
	s->page[s->npage++] = l;
	arr_int8(&s->arr[0], l->id);
	/* -infinity is the smallest timestamptz. */
	arr_int8(&s->arr[1], l->after_at == LANE_AFTER_AT_NONE ? INT64_MIN :
	    l->after_at);
	arr_int8(&s->arr[2], l->after_id);
	arr_int4(&s->arr[3], (int32_t)n);
	arr_bool(&s->arr[4], l->sub->raw);
}

void
job_paged(struct store *s, int64_t now_ms)
{
	struct delivery	*d;
	struct lane	*l = NULL;
	int64_t		 cost_ms = now_ms - s->sent_ms;
	size_t		 i;
	int		 row;

	for (i = 0; i < s->npage; i++)
		s->page[i]->rows = s->page[i]->fresh = s->page[i]->bytes = 0;
	for (row = 0; row < db_rows(&s->db); row++) {
		if (l == NULL || l->id != job_int8(&s->db, row, 0))
			l = job_lane(s, job_int8(&s->db, row, 0));
		if (l == NULL || l->stale || l->sub == NULL)
			continue;
		l->rows++;
		l->bytes += db_col(&s->db, row, 8) == NULL ?
		    STORE_PAGE_BYTES : db_len(&s->db, row, 8);
		l->after_at = job_int8(&s->db, row, 6);
		l->after_id = job_int8(&s->db, row, l->sub->ordered ? 10 : 1);
		if ((d = read_row(l, &s->db, row)) == NULL)
			break;		/* no memory: the cursor stands */
		if (lane_push(l, d))
			l->fresh++;
		else
			delivery_free(d);
	}
	for (i = 0; i < s->npage; i++) {
		l = s->page[i];
		if (l->from_head && !l->sub->ordered)
			l->head_ms = now_ms + (cost_ms * HEAD_SHARE > HEAD_MS ?
			    cost_ms * HEAD_SHARE : HEAD_MS);
		if (l->fresh > 0) {
			l->dry_ms = 0;
			if (!is_last(l))
				continue;
		} else if (l->sub->ordered) {
			/* Round again from the first aggregate. */
			l->after_at = LANE_AFTER_AT_NONE;
			if (!l->from_head)
				continue;
		} else if (l->rows > 0)
			continue;
		l->dry = 1;
		if (l->dry_ms == 0)
			l->dry_ms = now_ms;
	}
}

/*
 * A row that can't be read (a damaged page, say) costs only its own lane:
 * find it by asking for one lane at a time, and let it rest for a while.
 */
int
job_unpaged(struct store *s)
{
	struct lane	*l = s->page[0];
	char		 id[24];

	if (db_exitcode(&s->db) != EX_DATAERR &&
	    strncmp(s->db.sqlstate, "XX", 2) != 0)
		return 0;
	if (s->npage > 1) {
		s->page_max = 1;
		return 1;
	}
	s->page_max = STORE_LANES;
	log_event(LOG_ERROR, "deliveries can't be read, trying again in a"
	    " minute", "subscription", job_number(id, l->id).val, "reason",
	    db_error(&s->db), NULL);
	l->hold_ms = follow_now_ms() + UNREADABLE_MS;
	l->dirty = 1;
	return 1;
}

/*
 * Fewer rows than asked for, and not for their size: an empty page would come
 * next.  The sizes that the query adds up are those of the payloads; where a
 * transform's result was read instead, half of the room is a safe guess.
 */
static int
is_last(const struct lane *l)
{
	return !l->sub->ordered && l->rows < l->asked &&
	    l->bytes < STORE_PAGE_BYTES / 2;
}

static struct delivery *
read_row(const struct lane *l, const struct db *db, int row)
{
	struct delivery	*d;
	uint32_t	 n;

	if ((d = calloc(1, sizeof(*d))) == NULL)
		return NULL;
	d->text.max = 65536;
	d->id = job_int8(db, row, 1);
	if (db_len(db, row, 2) < sizeof(d->event_id))
		memcpy(d->event_id, db_col(db, row, 2), db_len(db, row, 2));
	memcpy(&n, db_col(db, row, 4), sizeof(n));
	d->attempts = (int)be32toh(n);
	memcpy(&n, db_col(db, row, 5), sizeof(n));
	d->round_start = (int)be32toh(n);
	d->raw_input = l->sub->transform != NULL && *db_col(db, row, 9) == 0;
	if ((d->event_type = strdup(db_col(db, row, 3))) == NULL ||
	    fill_body(d, db, row) == -1) {
		delivery_free(d);
		return NULL;
	}
	return d;
}

/* The bytes to send; before a transform, its input and the envelope apart. */
static int
fill_body(struct delivery *d, const struct db *db, int row)
{
	const char	*head = db_col(db, row, 7), *data = db_col(db, row, 8);
	size_t		 len, n;

	if (data == NULL)
		return 0;	/* the outbox row is gone */
	n = head == NULL || d->raw_input ? 0 : db_len(db, row, 7);
	len = db_len(db, row, 8);
	if (len > STORE_BODY_MAX)
		return 0;
	if (head != NULL && d->raw_input &&
	    (d->head = strdup(head)) == NULL)
		return -1;
	if ((d->body = malloc(n + len + 2)) == NULL)
		return -1;
	if (n > 0)
		memcpy(d->body, head, n);
	memcpy(d->body + n, data, len);
	d->body_len = n + len;
	if (n > 0)
		d->body[d->body_len++] = '}';
	d->body[d->body_len] = '\0';
	return 0;
}
