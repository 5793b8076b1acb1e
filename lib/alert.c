#include <inttypes.h>
#include <stdio.h>

#include "alert.h"
#include "dlq.h"
#include "stmt.h"

#define NUMBER	24	/* bytes of a bigint's text */

/* Those who are over their own thresholds. */
struct over {
	int		 asked;
	enum alert	 level;
	int64_t		 n;
	struct buf	 lines;
};

static int		 data(int64_t, int64_t, const struct alert_at *,
			    struct buf *);
static int		 given(const struct alert_at *);
static enum alert	 judge(int64_t, int64_t, const struct alert_at *);
static int		 line(const struct db *, const struct alert_at *,
			    const struct over *, struct buf *);
static int		 list(const struct db *, struct over *);
static const char	*text(char [NUMBER], int64_t);

static const char *const word[] = { "OK", "WARNING", "CRITICAL" };

int
alert_judge(struct db *db, struct select *s, const char *kind,
    const struct alert_at *all, const struct alert_at *each, struct buf *b)
{
	struct over	 o = { given(each), ALERT_OK, 0, BUF_INIT(8192) };
	char		 warn[NUMBER], crit[NUMBER], age[NUMBER];
	struct dlq_days	 d;
	int		 level = ALERT_UNKNOWN;

	if (db_exec(db, "begin isolation level repeatable read") == -1)
		return level;
	if (o.asked && (dlq_days(db, DLQ_DEAD, select_since(s),
	    select_until(s), &d) == -1 || db_run(db, &stmt_dlq_over,
	    DB_ARGS(s->subscription, s->tenant, s->type, s->prefix,
	    select_since(s), select_until(s), kind, text(warn, each->warn),
	    text(crit, each->crit), text(age, each->age_s), d.from,
	    d.until)) == -1))
		return level;
	if (o.asked && list(db, &o) == -1)
		level = -1;
	else if (dlq_count(db, s, kind) != -1)
		level = line(db, all, &o, b);
	buf_free(&o.lines);
	return level;
}

static int
given(const struct alert_at *at)
{
	return at->warn > 0 || at->crit > 0 || at->age_s > 0;
}

static const char *
text(char s[NUMBER], int64_t n)
{
	snprintf(s, NUMBER, "%" PRId64, n);
	return n == 0 ? NULL : s;
}

static int
list(const struct db *db, struct over *o)
{
	int	 i, rows = db_rows(db);

	if (rows == 0)
		return 0;
	o->level = (enum alert)db_int(db, 0, 0);
	o->n = db_int(db, 0, 5);
	for (i = 0; i < rows; i++)
		if (buf_addf(&o->lines, "%s: %s: %s dead, oldest %s s: %s\n",
		    word[db_int(db, i, 0)], db_col(db, i, 1),
		    db_col(db, i, 2), db_col(db, i, 3),
		    db_col(db, i, 4)) == -1)
			return -1;
	return o->n > rows ? buf_addf(&o->lines, "and %" PRId64 " more\n",
	    o->n - rows) : 0;
}

static int
line(const struct db *db, const struct alert_at *at, const struct over *o,
    struct buf *b)
{
	int64_t		 n = db_int(db, 0, 0), age_s = db_int(db, 0, 1);
	enum alert	 level = judge(n, age_s, at);

	if (level < o->level)
		level = o->level;
	if (buf_addf(b, "DLQ %s - %" PRId64 " dead", word[level], n) == -1)
		return -1;
	if (n > 0 && buf_addf(b, ", oldest %" PRId64 " s, in %s subscriptions",
	    age_s, db_col(db, 0, 2)) == -1)
		return -1;
	if (db_int(db, 0, 3) > 0 && buf_addf(b, " and %s sources",
	    db_col(db, 0, 3)) == -1)
		return -1;
	if (n > 0 && buf_addf(b, ", most in %s (%s)", db_col(db, 0, 4),
	    db_col(db, 0, 5)) == -1)
		return -1;
	if (o->n > 0 && buf_addf(b, ", %" PRId64 " over their own limit",
	    o->n) == -1)
		return -1;
	if (data(n, age_s, at, b) == -1 || (o->asked &&
	    buf_addf(b, " over=%" PRId64 ";;;0", o->n) == -1) ||
	    buf_adds(b, "\n") == -1 || (o->lines.len > 0 &&
	    buf_adds(b, o->lines.s) == -1))
		return -1;
	return (int)level;
}

static enum alert
judge(int64_t n, int64_t age_s, const struct alert_at *at)
{
	if (at->crit > 0 && n >= at->crit)
		return ALERT_CRITICAL;
	if ((at->warn > 0 && n >= at->warn) ||
	    (at->age_s > 0 && n > 0 && age_s >= at->age_s))
		return ALERT_WARNING;
	return ALERT_OK;
}

static int
data(int64_t n, int64_t age_s, const struct alert_at *at, struct buf *b)
{
	if (buf_addf(b, " | dead=%" PRId64 ";", n) == -1 ||
	    (at->warn > 0 && buf_addf(b, "%" PRId64, at->warn) == -1) ||
	    buf_adds(b, ";") == -1 ||
	    (at->crit > 0 && buf_addf(b, "%" PRId64, at->crit) == -1) ||
	    buf_addf(b, ";0 oldest=%" PRId64 "s;", age_s) == -1 ||
	    (at->age_s > 0 && buf_addf(b, "%" PRId64, at->age_s) == -1))
		return -1;
	return buf_adds(b, ";;0");
}
