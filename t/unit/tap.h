/* tap.h - the words that unit tests are written in. */
#ifndef TAP_H
#define TAP_H

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
	fprintf(tap_out(), "%sok %d - %s\n", good ? "" : "not ", ++tap_count, name);
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

static TAP_USED int
done_testing(void)
{
	fprintf(tap_out(), "1..%d\n", tap_count);
	return tap_failed;
}

#endif /* TAP_H */
