/*
 * retry.c - what an outcome means, and when to try again.
 *
 * Retry-After is a remote side's text: it is read without strptime(3), which
 * takes other languages' names, and without a number that could wrap.
 */
#include <string.h>

#include "retry.h"

#define DAY_S		INT64_C(86400)
#define YEAR_S		INT64_C(31556952)	/* on average */
#define AFTER_MAX_S	(RETRY_AFTER_MAX_MS / 1000)
#define PROBE_FIRST_MS	INT64_C(5000)
#define PROBE_MAX_MS	INT64_C(300000)
#define JITTER		0.2		/* either way */

struct date {
	int	 year, month, day;	/* month, day: from 1 */
	int	 hour, minute, second;
};

static const char	*const day_short[] = {
	"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"
};
static const char	*const day_long[] = {
	"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday",
	"Sunday"
};
static const char	*const month_name[] = {
	"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct",
	"Nov", "Dec"
};

/* What is left to read. */
struct text {
	const char	*s;
	const char	*end;
};

static int64_t	 seconds(const char *, const char *);
static int	 imf_date(struct text, struct date *);
static int	 rfc850_date(struct text, struct date *, int64_t);
static int	 asctime_date(struct text, struct date *);
static int	 lit(struct text *, const char *);
static int	 one_of(struct text *, const char *const *, int);
static int	 num(struct text *, int, int *);
static int	 clock_time(struct text *, struct date *);
static int64_t	 unix_time(const struct date *);
static int64_t	 days_before(int64_t);
static int	 days_in(int, int);
static int64_t	 jitter(int64_t, double);

enum retry_class
retry_classify(int status, int retry_4xx, int abort)
{
	if (status >= 200 && status <= 299)
		return RETRY_OK;
	if (status == 410)
		return RETRY_GONE;
	if (abort || status == 301 || status == 308)
		return RETRY_NEVER;
	if (status < 400 || status > 499 || retry_4xx)
		return RETRY_LATER;
	switch (status) {
	case 408:
	case 421:
	case 423:
	case 425:
	case 429:
		return RETRY_LATER;
	default:
		return RETRY_NEVER;
	}
}

int
retry_holds_lane(int status)
{
	return status == 429 || (status >= 502 && status <= 504);
}

int64_t
retry_after(const char *value, size_t len, int64_t now_s)
{
	struct text	 t = { value, value + len };
	struct date	 d;
	int64_t		 at;

	while (t.s < t.end && (*t.s == ' ' || *t.s == '\t'))
		t.s++;
	while (t.s < t.end && (t.end[-1] == ' ' || t.end[-1] == '\t'))
		t.end--;
	if (t.s == t.end)
		return -1;
	if (*t.s >= '0' && *t.s <= '9')
		return seconds(t.s, t.end);

	if (imf_date(t, &d) == -1 && rfc850_date(t, &d, now_s) == -1 &&
	    asctime_date(t, &d) == -1)
		return -1;
	if ((at = unix_time(&d)) == -1 || at < now_s)
		return -1;
	if (at - AFTER_MAX_S > now_s)
		return RETRY_AFTER_MAX_MS;
	return (at - now_s) * 1000;
}

int64_t
retry_delay(const int64_t *schedule, size_t len, int n, int64_t after_ms,
    double r)
{
	int64_t	 ms;

	if (n < 1)
		n = 1;
	if ((size_t)n > len)
		return -1;
	ms = jitter(schedule[n - 1], r);
	if (after_ms > RETRY_AFTER_MAX_MS)
		after_ms = RETRY_AFTER_MAX_MS;
	return after_ms > ms ? after_ms : ms;
}

int64_t
retry_probe(int n, double r)
{
	int64_t	 ms = PROBE_FIRST_MS;

	for (; n > 1 && ms < PROBE_MAX_MS; n--)
		ms *= 2;
	if (ms > PROBE_MAX_MS)
		ms = PROBE_MAX_MS;
	ms = jitter(ms, r);
	return ms > PROBE_MAX_MS ? PROBE_MAX_MS : ms;
}

static int64_t
seconds(const char *s, const char *end)
{
	int64_t	 n = 0;

	for (; s < end; s++) {
		if (*s < '0' || *s > '9')
			return -1;
		n = n * 10 + (*s - '0');
		if (n > AFTER_MAX_S)
			n = AFTER_MAX_S;
	}
	return n * 1000;
}

/* Thu, 01 Jan 2026 00:02:00 GMT */
static int
imf_date(struct text t, struct date *d)
{
	if (one_of(&t, day_short, 7) == 0 || !lit(&t, ", ") ||
	    !num(&t, 2, &d->day) || !lit(&t, " ") ||
	    (d->month = one_of(&t, month_name, 12)) == 0 || !lit(&t, " ") ||
	    !num(&t, 4, &d->year) || !lit(&t, " ") ||
	    !clock_time(&t, d) || !lit(&t, " GMT") || t.s != t.end)
		return -1;
	return 0;
}

/*
 * Thursday, 01-Jan-26 00:02:00 GMT.  A year more than 50 years ahead is one
 * of the last century.
 */
static int
rfc850_date(struct text t, struct date *d, int64_t now_s)
{
	if (one_of(&t, day_long, 7) == 0 || !lit(&t, ", ") ||
	    !num(&t, 2, &d->day) || !lit(&t, "-") ||
	    (d->month = one_of(&t, month_name, 12)) == 0 || !lit(&t, "-") ||
	    !num(&t, 2, &d->year) || !lit(&t, " ") ||
	    !clock_time(&t, d) || !lit(&t, " GMT") || t.s != t.end)
		return -1;
	d->year += 2000;
	if (unix_time(d) - 50 * YEAR_S > now_s)
		d->year -= 100;
	return 0;
}

/* Thu Jan  1 00:02:00 2026 */
static int
asctime_date(struct text t, struct date *d)
{
	if (one_of(&t, day_short, 7) == 0 || !lit(&t, " ") ||
	    (d->month = one_of(&t, month_name, 12)) == 0 || !lit(&t, " ") ||
	    !(lit(&t, " ") ? num(&t, 1, &d->day) : num(&t, 2, &d->day)) ||
	    !lit(&t, " ") || !clock_time(&t, d) || !lit(&t, " ") ||
	    !num(&t, 4, &d->year) || t.s != t.end)
		return -1;
	return 0;
}

static int
lit(struct text *t, const char *s)
{
	size_t	 n = strlen(s);

	if ((size_t)(t->end - t->s) < n || memcmp(t->s, s, n) != 0)
		return 0;
	t->s += n;
	return 1;
}

/* Which of n names comes next, from 1; 0 if none. */
static int
one_of(struct text *t, const char *const *name, int n)
{
	int	 i;

	for (i = 0; i < n; i++)
		if (lit(t, name[i]))
			return i + 1;
	return 0;
}

static int
num(struct text *t, int digits, int *n)
{
	int	 v = 0;

	for (; digits > 0; digits--) {
		if (t->s == t->end || *t->s < '0' || *t->s > '9')
			return 0;
		v = v * 10 + (*t->s++ - '0');
	}
	*n = v;
	return 1;
}

static int
clock_time(struct text *t, struct date *d)
{
	return num(t, 2, &d->hour) && lit(t, ":") &&
	    num(t, 2, &d->minute) && lit(t, ":") && num(t, 2, &d->second);
}

/* Unix seconds of a date from 1970 on, -1 if there is no such day or time. */
static int64_t
unix_time(const struct date *d)
{
	int64_t	 days;
	int	 m;

	if (d->year < 1970 || d->day < 1 ||
	    d->day > days_in(d->year, d->month) ||
	    d->hour > 23 || d->minute > 59 || d->second > 60)
		return -1;
	days = days_before(d->year) - days_before(1970) + d->day - 1;
	for (m = 1; m < d->month; m++)
		days += days_in(d->year, m);
	return days * DAY_S + d->hour * 3600 + d->minute * 60 + d->second;
}

/* Days of the years from 1 up to that one. */
static int64_t
days_before(int64_t year)
{
	year--;
	return year * 365 + year / 4 - year / 100 + year / 400;
}

static int
days_in(int year, int month)
{
	static const int	 days[] = {
		31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31
	};

	if (month == 2 && year % 4 == 0 &&
	    (year % 100 != 0 || year % 400 == 0))
		return 29;
	return days[month - 1];
}

static int64_t
jitter(int64_t ms, double r)
{
	if (ms < 0)
		ms = 0;
	if (ms > RETRY_AFTER_MAX_MS)
		ms = RETRY_AFTER_MAX_MS;
	if (!(r >= 0 && r <= 1))
		r = 0.5;
	return (int64_t)((double)ms * (1 - JITTER + 2 * JITTER * r));
}
