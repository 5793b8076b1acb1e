#include <errno.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

#include "unpack.h"

#define STEP	(16 * 1024)	/* bytes */
#define BITS	15		/* of the window: the largest there is */
#define GZIP	16		/* added to them */

static int	 bad(struct http_error *, int, const char *);
static int	 stream(z_stream *, int, struct buf *, struct http_error *);

int
unpack(const char *coding, const void *in, size_t len, struct buf *out,
    struct http_error *e)
{
	z_stream	 z;
	int		 gzip, rc;

	if (coding == NULL || strcasecmp(coding, "identity") == 0)
		return 0;
	gzip = strcasecmp(coding, "gzip") == 0 ||
	    strcasecmp(coding, "x-gzip") == 0;
	if (!gzip && strcasecmp(coding, "deflate") != 0)
		return bad(e, 415, "content coding");
	memset(&z, 0, sizeof(z));
	if (inflateInit2(&z, gzip ? BITS + GZIP : BITS) != Z_OK)
		return bad(e, 503, "no memory");
	z.next_in = (Bytef *)(uintptr_t)in;
	z.avail_in = (uInt)len;
	rc = stream(&z, gzip, out, e);
	inflateEnd(&z);
	return rc;
}

/* All of it; of gzip, one member after the other. */
static int
stream(z_stream *z, int gzip, struct buf *out, struct http_error *e)
{
	Bytef	 over;
	size_t	 room;
	int	 rc;

	for (;;) {
		room = out->max - out->len < STEP ? out->max - out->len :
		    STEP;
		if (buf_room(out, room) == -1)
			return bad(e, 503, "no memory");
		/* When it is full, one byte more tells that from too full. */
		z->next_out = room > 0 ? (Bytef *)out->s + out->len : &over;
		z->avail_out = room > 0 ? (uInt)room : 1;
		rc = inflate(z, Z_NO_FLUSH);
		if (room == 0 && z->avail_out == 0)
			return bad(e, 413, "unpacked body is too large");
		if (room > 0) {
			out->len += room - z->avail_out;
			out->s[out->len] = '\0';
		}
		if (rc == Z_MEM_ERROR)
			return bad(e, 503, "no memory");
		if (rc == Z_STREAM_END && z->avail_in == 0)
			return 1;
		if (rc == Z_STREAM_END && gzip && inflateReset(z) == Z_OK)
			continue;
		if (rc != Z_OK || (z->avail_in == 0 && z->avail_out > 0))
			return bad(e, 400, "body is not of its coding");
	}
}

static int
bad(struct http_error *e, int status, const char *why)
{
	e->status = status;
	e->why = why;
	return -1;
}
