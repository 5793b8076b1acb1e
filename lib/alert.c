#include <inttypes.h>

#include "alert.h"

static enum alert	 judge(int64_t, int64_t, const struct alert_at *);
static int		 data(int64_t, int64_t, const struct alert_at *,
			    struct buf *);

int
alert_line(const struct db *db, const struct alert_at *at, struct buf *b)
{
	static const char *const word[] = { "OK", "WARNING", "CRITICAL" };
	int64_t		 n = db_int(db, 0, 0), age_s = db_int(db, 0, 1);
	enum alert	 level = judge(n, age_s, at);

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
	return data(n, age_s, at, b) == -1 ? -1 : (int)level;
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
