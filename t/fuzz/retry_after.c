/*
 * Retry-After: any bytes give -1, or 0 to the most, and the same again with
 * spaces around them.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "retry.h"

int	 LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int64_t	 schedule[] = { 5000, 300000 };
	char			*s;
	int64_t			 now, ms, delay;

	if (size < sizeof(now))
		return 0;
	memcpy(&now, data, sizeof(now));
	data += sizeof(now);
	size -= sizeof(now);

	/* In a block of its own size: one byte too many read is seen. */
	if ((s = malloc(size + 2)) == NULL)
		return 0;
	memcpy(s + 2, data, size);
	ms = retry_after(s + 2, size, now);
	if (ms < -1 || ms > RETRY_AFTER_MAX_MS)
		abort();
	memcpy(s, " \t", 2);
	if (retry_after(s, size + 2, now) != ms)
		abort();
	free(s);

	delay = retry_delay(schedule, 2, 1, ms, 0.25);
	if (delay < 4500 || delay > RETRY_AFTER_MAX_MS || delay < ms)
		abort();
	return 0;
}
