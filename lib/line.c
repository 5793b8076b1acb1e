#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "line.h"

#define READ_CHUNK	(64 * 1024)	/* bytes */

static int	 fill(struct line *);
static int	 give(struct line *, size_t, size_t);

void
line_init(struct line *l, int fd, size_t max)
{
	memset(l, 0, sizeof(*l));
	l->fd = fd;
	l->buf.max = max + READ_CHUNK;
}

int
line_next(struct line *l)
{
	const char	*nl;
	size_t		 seen = 0, left;

	for (;;) {
		left = l->buf.len - l->next;
		if (left > seen && (nl = memchr(l->buf.s + l->next + seen,
		    '\n', left - seen)) != NULL)
			return give(l, (size_t)(nl - l->buf.s) - l->next, 1);
		seen = left;
		if (l->eof)
			return left == 0 ? 0 : give(l, left, 0);
		if (left > l->buf.max - READ_CHUNK) {
			l->number++;
			errno = EFBIG;
			return -1;
		}
		if (fill(l) == -1)
			return -1;
	}
}

void
line_free(struct line *l)
{
	buf_free(&l->buf);
}

/* Read some more behind what was not given out yet. */
static int
fill(struct line *l)
{
	ssize_t	 n;

	l->buf.len -= l->next;
	if (l->buf.len > 0 && l->next > 0)
		memmove(l->buf.s, l->buf.s + l->next, l->buf.len);
	l->next = 0;
	if (buf_room(&l->buf, READ_CHUNK) == -1)
		return -1;
	do
		n = read(l->fd, l->buf.s + l->buf.len, READ_CHUNK);
	while (n == -1 && errno == EINTR);
	if (n == -1)
		return -1;
	if (n == 0)
		l->eof = 1;
	l->buf.len += (size_t)n;
	return 0;
}

/* The next len bytes are a line, followed by nl newlines. */
static int
give(struct line *l, size_t len, size_t nl)
{
	l->s = l->buf.s + l->next;
	l->len = len;
	l->s[len] = '\0';
	l->next += len + nl;
	l->number++;
	if (len > l->buf.max - READ_CHUNK)
		errno = EFBIG;
	else if (memchr(l->s, '\0', len) != NULL)
		errno = EILSEQ;
	else
		return 1;
	return -1;
}
