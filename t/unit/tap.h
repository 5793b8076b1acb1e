/* tap.h - the words that unit tests are written in. */
#ifndef TAP_H
#define TAP_H

#include <stdio.h>
#include <string.h>

#define TAP_USED	__attribute__((__unused__))

static int	 tap_count, tap_failed;

static TAP_USED void
ok(int good, const char *name)
{
	printf("%sok %d - %s\n", good ? "" : "not ", ++tap_count, name);
	tap_failed |= !good;
}

static TAP_USED void
is(const char *got, const char *want, const char *name)
{
	int	 good = got != NULL && strcmp(got, want) == 0;

	ok(good, name);
	if (!good)
		printf("# got:  %s\n# want: %s\n",
		    got == NULL ? "(null)" : got, want);
}

static TAP_USED int
done_testing(void)
{
	printf("1..%d\n", tap_count);
	return tap_failed;
}

#endif /* TAP_H */
