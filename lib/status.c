#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <libpq-fe.h>

#include "out.h"
#include "status.h"
#include "stmt.h"

#define DUE_S	60	/* stat-subs: due for longer is worst off */

static int	 keep(struct status *, struct db *, enum status_part, int);
static int	 somebody(const struct status *);
static int64_t	 skew(int64_t, int64_t, int64_t);
static int64_t	 unix_ms(void);

int
status_session(struct db *db)
{
	/* Days are told apart when a statement is planned. */
	return db_exec(db, "set plan_cache_mode = force_custom_plan;"
	    " set default_transaction_read_only = on;"
	    " set statement_timeout = '10s'");
}

int
status_read(struct status *s, struct db *db, unsigned int parts)
{
	const char	*from, *to;
	int64_t		 at_ms;

	status_free(s);
	if (keep(s, db, STATUS_LOOK, db_run(db, &stmt_stat_look, 0,
	    NULL)) == -1)
		return -1;
	from = status_text(s, STATUS_LOOK, 0, "near_from");
	to = status_text(s, STATUS_LOOK, 0, "near_to");
	at_ms = unix_ms();
	if (keep(s, db, STATUS_FACTS, db_run(db, &stmt_stat_facts, DB_ARGS(from,
	    to, status_text(s, STATUS_LOOK, 0, "looked_at"),
	    status_text(s, STATUS_LOOK, 0, "waiting"),
	    status_text(s, STATUS_LOOK, 0, "waiting_since"),
	    status_text(s, STATUS_LOOK, 0, "dead"),
	    status_text(s, STATUS_LOOK, 0, "dead_since"),
	    status_text(s, STATUS_LOOK, 0, "gave_up"),
	    status_text(s, STATUS_LOOK, 0, "partitions_until")))) == -1)
		return -1;
	s->skew_ms = skew(at_ms, unix_ms(), status_fact(s, "clock_ms"));
	if ((parts & STATUS_PART(STATUS_RATES) && keep(s, db, STATUS_RATES,
	    db_run(db, &stmt_stat_rates, 0, NULL)) == -1) ||
	    (parts & STATUS_PART(STATUS_SUBS) && keep(s, db, STATUS_SUBS,
	    somebody(s) ? db_run(db, &stmt_stat_subs, DB_ARGS(
	    s->subs == NULL ? "10" : s->subs)) : 0) == -1) ||
	    (parts & STATUS_PART(STATUS_SOURCES) && keep(s, db,
	    STATUS_SOURCES, db_run(db, &stmt_stat_sources, 0, NULL)) == -1) ||
	    (parts & STATUS_PART(STATUS_WORKERS) && keep(s, db,
	    STATUS_WORKERS, db_run(db, &stmt_stat_workers, 0, NULL)) == -1) ||
	    (parts & STATUS_PART(STATUS_TABLES) && keep(s, db, STATUS_TABLES,
	    db_run(db, &stmt_stat_tables, DB_ARGS(status_text(s, STATUS_LOOK,
	    0, "tables")))) == -1) ||
	    (parts & STATUS_PART(STATUS_COUNTERS) && keep(s, db,
	    STATUS_COUNTERS, db_run(db, &stmt_stat_counters, 0, NULL)) == -1))
		return -1;
	status_judge(s);
	return 0;
}

/* Is there anybody whom stat-subs would name?  By the facts. */
static int
somebody(const struct status *s)
{
	return status_fact(s, "subscriptions_paused") > 0 ||
	    status_fact(s, "subscriptions_disabled") > 0 ||
	    status_fact(s, "subscriptions_failing") > 0 ||
	    status_fact(s, "deliveries_held") > 0 ||
	    status_fact(s, "deliveries_due_oldest_s") >= DUE_S;
}

/* The last result becomes a part. */
static int
keep(struct status *s, struct db *db, enum status_part p, int rc)
{
	if (rc == -1)
		return -1;
	s->part[p].res = db->res;
	db->res = NULL;
	s->read |= STATUS_PART(p);
	return 0;
}

/* The server's clock was read between those two: no skew where it was. */
static int64_t
skew(int64_t from_ms, int64_t to_ms, int64_t server_ms)
{
	return server_ms < from_ms ? from_ms - server_ms :
	    server_ms > to_ms ? to_ms - server_ms : 0;
}

static int64_t
unix_ms(void)
{
	struct timespec	 ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

void
status_free(struct status *s)
{
	int	 i;

	for (i = 0; i < STATUS_PARTS; i++)
		db_close(&s->part[i]);
	s->read = 0;
	s->nproblem = 0;
}

const char *
status_text(const struct status *s, enum status_part p, int row,
    const char *column)
{
	const struct db	*db = &s->part[p];
	int		 col;

	if (db->res == NULL || row >= db_rows(db) ||
	    (col = PQfnumber(db->res, column)) == -1)
		return NULL;
	return db_col(db, row, col);
}

int64_t
status_int(const struct status *s, enum status_part p, int row,
    const char *column)
{
	const char	*text = status_text(s, p, row, column);

	return text == NULL ? 0 : strtoll(text, NULL, 10);
}

int64_t
status_fact(const struct status *s, const char *column)
{
	return status_int(s, STATUS_FACTS, 0, column);
}

const char *
status_age(int64_t s, char text[32])
{
	if (s < 120)
		snprintf(text, 32, "%" PRId64 "s", s);
	else if (s < 7200)
		snprintf(text, 32, "%" PRId64 "m", s / 60);
	else if (s < 172800)
		snprintf(text, 32, "%" PRId64 "h%02" PRId64 "m", s / 3600,
		    s / 60 % 60);
	else
		snprintf(text, 32, "%" PRId64 "d", s / 86400);
	return text;
}

int
status_json(const struct status *s, struct buf *b)
{
	static const struct {
		enum status_part part;
		const char	*key;
	} list[] = {
		{ STATUS_RATES, "rates" }, { STATUS_SUBS, "subscriptions" },
		{ STATUS_SOURCES, "sources" }, { STATUS_WORKERS, "workers" },
		{ STATUS_TABLES, "tables" },
	};
	struct buf	 facts = BUF_INIT(65536);
	size_t		 i;
	int		 n, rc;

	if (buf_addf(b, "{\"at\":\"%.10sT%.8sZ\",\"well\":%s,\"problems\":[",
	    status_text(s, STATUS_LOOK, 0, "at"),
	    status_text(s, STATUS_LOOK, 0, "at") + 11,
	    s->nproblem == 0 ? "true" : "false") == -1)
		return -1;
	for (n = 0; n < s->nproblem; n++)
		if (buf_adds(b, n > 0 ? ",{\"what\":" : "{\"what\":") == -1 ||
		    out_string(b, s->problem[n].what,
		    strlen(s->problem[n].what)) == -1 ||
		    buf_adds(b, ",\"todo\":") == -1 ||
		    out_string(b, s->problem[n].todo,
		    strlen(s->problem[n].todo)) == -1 ||
		    buf_adds(b, "}") == -1)
			return -1;
	if (buf_addf(b, "],\"clock_skew_ms\":%" PRId64 ",", s->skew_ms) == -1)
		return -1;
	/* The one object of that array, without its braces. */
	rc = out_array(&facts, &s->part[STATUS_FACTS]);
	if (rc == 0)
		rc = buf_add(b, facts.s + 2, facts.len - 4);
	buf_free(&facts);
	if (rc == -1)
		return -1;
	for (i = 0; i < sizeof(list) / sizeof(*list); i++)
		if (s->read & STATUS_PART(list[i].part) &&
		    (buf_addf(b, ",\"%s\":", list[i].key) == -1 ||
		    out_array(b, &s->part[list[i].part]) == -1))
			return -1;
	return buf_adds(b, "}\n");
}
