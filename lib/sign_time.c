/*
 * sign_time.c - the timestamps of the schemes, read strictly: one way to
 * write each second, no locale, no time zone of this machine.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "sign_int.h"

#define DAY	INT64_C(86400)

static const char	 day_name[][4] = {
	"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"
};
static const char	 month_name[][4] = {
	"Jan", "Feb", "Mar", "Apr", "May", "Jun",
	"Jul", "Aug", "Sep", "Oct", "Nov", "Dec"
};

static int	 read_number(const char *, size_t, int64_t, int64_t *);
static int	 read_rfc3339(const char *, size_t, int64_t *);
static int	 read_http_date(const char *, size_t, int64_t *);
static int	 digits(const char *, size_t, int64_t *);
static int	 name_at(const char *, const char (*)[4], int);
static int	 seconds(int64_t, int64_t, int64_t, const char *, int64_t *);
static int64_t	 days(int64_t, int64_t, int64_t);

int
scheme_time_read(enum scheme_clock clock, const char *s, size_t len,
    int64_t *at)
{
	switch (clock) {
	case SCHEME_SECONDS:
		return read_number(s, len, SIGN_TIME_MAX, at);
	case SCHEME_MS:
		if (read_number(s, len, SIGN_TIME_MAX * 1000 + 999, at) == -1)
			return -1;
		*at /= 1000;
		return 0;
	case SCHEME_RFC3339:
		return read_rfc3339(s, len, at);
	case SCHEME_HTTP_DATE:
		return read_http_date(s, len, at);
	}
	return -1;
}

size_t
scheme_time_write(enum scheme_clock clock, int64_t at, char *s)
{
	struct tm	 t;
	time_t		 then = at;
	int		 n;

	if (clock == SCHEME_SECONDS)
		n = snprintf(s, SCHEME_TIME_MAX, "%" PRId64, at);
	else if (clock == SCHEME_MS)
		n = snprintf(s, SCHEME_TIME_MAX, "%" PRId64 "000", at);
	else if (gmtime_r(&then, &t) == NULL)
		n = 0;
	else if (clock == SCHEME_RFC3339)
		n = snprintf(s, SCHEME_TIME_MAX,
		    "%04d-%02d-%02dT%02d:%02d:%02dZ", t.tm_year + 1900,
		    t.tm_mon + 1, t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec);
	else
		n = snprintf(s, SCHEME_TIME_MAX,
		    "%s, %02d %s %04d %02d:%02d:%02d GMT",
		    day_name[t.tm_wday], t.tm_mday, month_name[t.tm_mon],
		    t.tm_year + 1900, t.tm_hour, t.tm_min, t.tm_sec);
	return (size_t)n;
}

/* Digits only, without leading zeros. */
static int
read_number(const char *s, size_t len, int64_t max, int64_t *n)
{
	if (len == 0 || len > 18 || s[0] == '0' || digits(s, len, n) == -1)
		return -1;
	return *n > max ? -1 : 0;
}

/* 2025-01-31T12:00:00[.9...](Z|+01:00) */
static int
read_rfc3339(const char *s, size_t len, int64_t *at)
{
	const char	*p, *end = s + len;
	int64_t		 y, mon, d, h, min;

	if (len < 20 || s[4] != '-' || s[7] != '-' || s[10] != 'T' ||
	    digits(s, 4, &y) == -1 || digits(s + 5, 2, &mon) == -1 ||
	    digits(s + 8, 2, &d) == -1 ||
	    seconds(y, mon, d, s + 11, at) == -1)
		return -1;
	p = s + 19;
	if (*p == '.') {
		for (p++; p < end && *p >= '0' && *p <= '9'; p++)
			continue;
		if (p == s + 20 || p - s > 29)
			return -1;
	}
	if (end - p == 1 && *p == 'Z')
		return *at < 1 ? -1 : 0;
	if (end - p != 6 || (*p != '+' && *p != '-') || p[3] != ':' ||
	    digits(p + 1, 2, &h) == -1 || digits(p + 4, 2, &min) == -1 ||
	    h > 23 || min > 59)
		return -1;
	*at += (*p == '-' ? 60 : -60) * (60 * h + min);
	return *at < 1 || *at > SIGN_TIME_MAX ? -1 : 0;
}

/* Fri, 31 Jan 2025 12:00:00 GMT: the one form that RFC 9110 lets be sent. */
static int
read_http_date(const char *s, size_t len, int64_t *at)
{
	int64_t	 y, d;
	int	 mon, wday;

	if (len != 29 || memcmp(s + 3, ", ", 2) != 0 || s[7] != ' ' ||
	    s[11] != ' ' || s[16] != ' ' || memcmp(s + 25, " GMT", 4) != 0 ||
	    digits(s + 5, 2, &d) == -1 || digits(s + 12, 4, &y) == -1 ||
	    (mon = name_at(s + 8, month_name, 12)) == -1 ||
	    (wday = name_at(s, day_name, 7)) == -1 ||
	    seconds(y, mon + 1, d, s + 17, at) == -1 || *at < 1)
		return -1;
	return (*at / DAY + 4) % 7 == wday ? 0 : -1;
}

/* Exactly so many. */
static int
digits(const char *s, size_t len, int64_t *n)
{
	size_t	 i;

	for (*n = 0, i = 0; i < len; i++) {
		if (s[i] < '0' || s[i] > '9')
			return -1;
		*n = *n * 10 + (s[i] - '0');
	}
	return 0;
}

static int
name_at(const char *s, const char (*name)[4], int n)
{
	int	 i;

	for (i = 0; i < n; i++)
		if (memcmp(s, name[i], 3) == 0)
			return i;
	return -1;
}

/* Of a day and "12:34:56". */
static int
seconds(int64_t y, int64_t mon, int64_t d, const char *clock, int64_t *at)
{
	int64_t	 h, min, s;

	if (clock[2] != ':' || clock[5] != ':' ||
	    digits(clock, 2, &h) == -1 || digits(clock + 3, 2, &min) == -1 ||
	    digits(clock + 6, 2, &s) == -1 || h > 23 || min > 59 || s > 59 ||
	    y < 1 || mon < 1 || mon > 12 || d < 1 ||
	    d > days(mon == 12 ? y + 1 : y, mon == 12 ? 1 : mon + 1, 1) -
	    days(y, mon, 1))
		return -1;
	*at = days(y, mon, d) * DAY + h * 3600 + min * 60 + s;
	return 0;
}

/* From 1970 to a day of the Gregorian calendar; its years begin in March. */
static int64_t
days(int64_t y, int64_t mon, int64_t d)
{
	if (mon < 3)
		y--;
	mon = mon < 3 ? mon + 9 : mon - 3;
	return 365 * y + y / 4 - y / 100 + y / 400 + (153 * mon + 2) / 5 + d -
	    1 - 719468;
}
