/*
 * opt.c - reading what people type: numbers, durations, names.
 *
 * Nothing here depends on the locale, and no input can overflow: a number too
 * long for its type is "too large" before it is a number.
 */
#include <sys/types.h>

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opt.h"

#define MAX_PAYLOAD_DEFAULT	(256 * 1024)		/* bytes */
#define MAX_PAYLOAD_MOST	(64 * 1024 * 1024)	/* bytes */
#define RATE_DIGITS		15	/* a double holds them all exactly */

static int	 duration(const char *, size_t, int64_t, int64_t, int64_t *,
		    const char **);
static size_t	 digits(const char *, size_t, int64_t *);
static int64_t	 unit_ms(const char *, size_t);
static int	 range(int64_t, int64_t, int64_t, const char **);
static int	 bad(const char **, const char *);
static int	 usable(const char *);

int
opt_duration(const char *s, int64_t min_ms, int64_t max_ms, int64_t *ms,
    const char **why)
{
	return duration(s, strlen(s), min_ms, max_ms, ms, why);
}

int
opt_durations(const char *s, int64_t min_ms, int64_t max_ms, int64_t *ms,
    int max, const char **why)
{
	const char	*p;
	int64_t		 one;
	size_t		 len;
	int		 n = 0;

	for (p = s; ; p += len + 1) {
		len = strcspn(p, ",");
		if (duration(p, len, min_ms, max_ms, &one, why) == -1)
			return -1;
		if (++n > max)
			return bad(why, "too many");
		if (p[len] == '\0')
			break;
	}
	for (p = s, n = 0; ; p += len + 1) {
		len = strcspn(p, ",");
		if (duration(p, len, min_ms, max_ms, &ms[n++], why) == -1)
			return -1;
		if (p[len] == '\0')
			return n;
	}
}

int
opt_int(const char *s, int64_t min, int64_t max, int64_t *n, const char **why)
{
	int64_t	 v;
	size_t	 len;
	int	 minus = 0;

	if (min < 0 && *s == '-') {
		minus = 1;
		s++;
	}
	len = digits(s, strlen(s), &v);
	if (len == 0 || s[len] != '\0')
		return bad(why, "invalid");
	if (v == -1)
		return bad(why, minus ? "too small" : "too large");
	if (minus)
		v = -v;
	if (range(v, min, max, why) == -1)
		return -1;
	*n = v;
	return 0;
}

int
opt_rate(const char *s, double max, double *rate, const char **why)
{
	double	 v = 0, scale = 1;
	size_t	 before = 0, after = 0;

	for (; *s >= '0' && *s <= '9'; s++, before++)
		v = v * 10 + (*s - '0');
	if (*s == '.' && before > 0)
		for (s++; *s >= '0' && *s <= '9'; s++, after++) {
			v = v * 10 + (*s - '0');
			scale *= 10;
		}
	if (*s != '\0' || before == 0 || (s[-1] == '.') ||
	    before + after > RATE_DIGITS)
		return bad(why, "invalid");
	v /= scale;
	if (v <= 0)
		return bad(why, "too small");
	if (v > max)
		return bad(why, "too large");
	*rate = v;
	return 0;
}

int
opt_utf8(const char *s, size_t len)
{
	const unsigned char	*p = (const unsigned char *)s;
	const unsigned char	*end = p + len;
	unsigned char		 low, high;	/* bounds of the second byte */
	size_t			 more;

	while (p < end) {
		low = 0x80;
		high = 0xbf;
		if (*p < 0x80)
			more = 0;
		else if (*p >= 0xc2 && *p <= 0xdf)
			more = 1;
		else if (*p >= 0xe0 && *p <= 0xef) {
			more = 2;
			if (*p == 0xe0)
				low = 0xa0;
			else if (*p == 0xed)
				high = 0x9f;
		} else if (*p >= 0xf0 && *p <= 0xf4) {
			more = 3;
			if (*p == 0xf0)
				low = 0x90;
			else if (*p == 0xf4)
				high = 0x8f;
		} else
			return 0;
		if ((size_t)(end - p) <= more)
			return 0;
		for (p++; more > 0; more--, p++) {
			if (*p < low || *p > high)
				return 0;
			low = 0x80;
			high = 0xbf;
		}
	}
	return 1;
}

int
opt_control(const char *s, size_t len)
{
	size_t	 i;

	for (i = 0; i < len; i++)
		if ((unsigned char)s[i] < 0x20 || s[i] == 0x7f)
			return 1;
	return 0;
}

int
opt_max_payload(size_t *bytes)
{
	const char	*s = getenv("HOOK_MAX_PAYLOAD"), *why;
	int64_t		 n = MAX_PAYLOAD_DEFAULT;

	if (s != NULL && *s != '\0' &&
	    opt_int(s, 1, MAX_PAYLOAD_MOST, &n, &why) == -1)
		return -1;
	*bytes = (size_t)n;
	return 0;
}

const char *
opt_actor(const char *given)
{
	const char	*s;
	struct passwd	*pw;

	if (given != NULL)
		return given;
	if (usable(s = getenv("SUDO_USER")) || usable(s = getenv("USER")))
		return s;
	if ((pw = getpwuid(getuid())) != NULL && usable(pw->pw_name))
		return pw->pw_name;
	return "unknown";
}

static int
duration(const char *s, size_t len, int64_t min_ms, int64_t max_ms,
    int64_t *ms, const char **why)
{
	int64_t	 n, unit;
	size_t	 k;

	k = digits(s, len, &n);
	if (k == 0 || (unit = unit_ms(s + k, len - k)) == 0)
		return bad(why, "invalid");
	if (n == -1 || n > INT64_MAX / unit)
		return bad(why, "too large");
	if (range(n * unit, min_ms, max_ms, why) == -1)
		return -1;
	*ms = n * unit;
	return 0;
}

/* Read leading digits; how many. *n is -1 where they do not fit. */
static size_t
digits(const char *s, size_t len, int64_t *n)
{
	int64_t	 v = 0;
	size_t	 i;

	for (i = 0; i < len && s[i] >= '0' && s[i] <= '9'; i++) {
		if (v == -1)
			continue;
		if (v > (INT64_MAX - (s[i] - '0')) / 10)
			v = -1;
		else
			v = v * 10 + (s[i] - '0');
	}
	*n = v;
	return i;
}

/* Milliseconds of a unit, 0 if it is none. */
static int64_t
unit_ms(const char *s, size_t len)
{
	if (len == 0)
		return 1000;
	if (len == 2 && s[0] == 'm' && s[1] == 's')
		return 1;
	if (len != 1)
		return 0;
	switch (*s) {
	case 's':
		return 1000;
	case 'm':
		return 60 * 1000;
	case 'h':
		return 3600 * 1000;
	case 'd':
		return INT64_C(86400) * 1000;
	default:
		return 0;
	}
}

static int
range(int64_t v, int64_t min, int64_t max, const char **why)
{
	if (v < min)
		return bad(why, "too small");
	if (v > max)
		return bad(why, "too large");
	return 0;
}

static int
bad(const char **why, const char *what)
{
	*why = what;
	return -1;
}

/* A name from the environment that may be stored and shown? */
static int
usable(const char *s)
{
	return s != NULL && *s != '\0' && opt_utf8(s, strlen(s)) &&
	    !opt_control(s, strlen(s));
}
