/* tap.h - the words that unit tests are written in. */
#ifndef TAP_H
#define TAP_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define TAP_USED	__attribute__((__unused__))

static int	 tap_count, tap_failed;
static FILE	*tap_file;	/* where to report, if not to stdout */

static TAP_USED FILE *
tap_out(void)
{
	return tap_file == NULL ? stdout : tap_file;
}

static TAP_USED void
ok(int good, const char *name)
{
	fprintf(tap_out(), "%sok %d - %s\n", good ? "" : "not ",
	    ++tap_count, name);
	tap_failed |= !good;
}

static TAP_USED void
is(const char *got, const char *want, const char *name)
{
	int	 good = got != NULL && strcmp(got, want) == 0;

	ok(good, name);
	if (!good)
		fprintf(tap_out(), "# got:  %s\n# want: %s\n",
		    got == NULL ? "(null)" : got, want);
}

/* A name with what it is about in it. */
static TAP_USED __attribute__((__format__(printf, 2, 3))) void
okf(int good, const char *fmt, ...)
{
	char	 name[512];
	va_list	 ap;

	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	ok(good, name);
}

static TAP_USED void
is_int(int64_t got, int64_t want, const char *name)
{
	ok(got == want, name);
	if (got != want)
		fprintf(tap_out(), "# got:  %lld\n# want: %lld\n",
		    (long long)got, (long long)want);
}

static TAP_USED int
done_testing(void)
{
	fprintf(tap_out(), "1..%d\n", tap_count);
	return tap_failed;
}

#endif /* TAP_H */
