/*
 * Durations, lists of them, numbers, rates, UTF-8: in range or refused with a
 * reason, and nothing else touched.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "opt.h"

#define MAX_MS	INT64_C(2592000000)
#define ITEMS	5

int	 LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char	*why = NULL;
	char		*s;
	double		 rate = -1;
	int64_t		 ms = -1, list[ITEMS] = { -1, -1, -1, -1, -1 }, n;
	int		 i, items;

	if ((s = strndup((const char *)data, size)) == NULL)
		return 0;
	if (opt_duration(s, 0, MAX_MS, &ms, &why) == 0 ?
	    ms < 0 || ms > MAX_MS : ms != -1 || why == NULL)
		abort();

	why = NULL;
	items = opt_durations(s, 0, MAX_MS, list, ITEMS, &why);
	if (items == 0 || items > ITEMS || (items == -1 && why == NULL))
		abort();
	for (i = 0; i < ITEMS; i++)
		if (i < items ? list[i] < 0 || list[i] > MAX_MS :
		    list[i] != -1)
			abort();
	if (items == 1 && ms != list[0])
		abort();

	n = 7777;
	if (opt_int(s, -5, 5000, &n, &why) == 0 ? n < -5 || n > 5000 :
	    n != 7777)
		abort();
	opt_int(s, INT64_MIN, INT64_MAX, &n, &why);
	if (opt_rate(s, 1000, &rate, &why) == 0 &&
	    !(rate > 0 && rate <= 1000))
		abort();
	opt_control(s, strlen(s));
	free(s);

	/* Not NUL-terminated. */
	if ((s = malloc(size)) != NULL && size > 0) {
		memcpy(s, data, size);
		opt_utf8(s, size);
	}
	free(s);
	return 0;
}
