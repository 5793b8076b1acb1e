#include <openssl/rand.h>
#include <stdio.h>
#include <string.h>

#include "again.h"
#include "base64.h"
#include "follow.h"

#define RECENT		64	/* bodies that are remembered */
#define KEY_MAX		160	/* bytes of a source, a space and a digest */

static struct {
	char		 key[KEY_MAX];
	unsigned char	 raw[8];
	int64_t		 until_ms;
}		 recent[RECENT];
static size_t	 oldest;

int
again_id(const char *source, struct buf *id)
{
	char	 key[KEY_MAX];
	int64_t	 now_ms = follow_now_ms();
	size_t	 i;
	int	 n = snprintf(key, sizeof(key), "%s %s", source, id->s);

	if (n < 0 || (size_t)n >= sizeof(key))
		return -1;
	for (i = 0; i < RECENT; i++)
		if (now_ms < recent[i].until_ms &&
		    strcmp(recent[i].key, key) == 0)
			break;
	if (i == RECENT) {
		i = oldest;
		oldest = (oldest + 1) % RECENT;
		memcpy(recent[i].key, key, sizeof(key));
		recent[i].until_ms = now_ms + AGAIN_MS;
		if (RAND_bytes(recent[i].raw, sizeof(recent[i].raw)) != 1) {
			recent[i].until_ms = 0;
			return -1;
		}
	}
	return buf_adds(id, "-") == -1 ||
	    hex_add(id, recent[i].raw, sizeof(recent[i].raw)) == -1 ? -1 : 0;
}
