/*
 * buf.c - growable bytes with a ceiling.
 *
 * Memory that is outgrown is overwritten before it is freed, so a secret may
 * stand in any buffer and buf_wipe() still forgets all of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buf.h"

#define MIN_CAP		64		/* bytes */
#define READ_CHUNK	(16 * 1024)	/* bytes */

int
buf_room(struct buf *b, size_t n)
{
	size_t	 cap, need;
	char	*s;

	if (b->len > b->max || n > b->max - b->len || b->max == SIZE_MAX) {
		errno = EFBIG;
		return -1;
	}
	need = b->len + n + 1;
	if (need <= b->cap)
		return 0;

	for (cap = b->cap > MIN_CAP ? b->cap : MIN_CAP; cap < need; cap *= 2)
		if (cap > SIZE_MAX / 2) {
			cap = need;
			break;
		}
	if (cap > b->max + 1)
		cap = b->max + 1;
	if ((s = malloc(cap)) == NULL)
		return -1;
	if (b->len > 0)
		memcpy(s, b->s, b->len);
	s[b->len] = '\0';
	if (b->s != NULL)
		explicit_bzero(b->s, b->cap);
	free(b->s);
	b->s = s;
	b->cap = cap;
	return 0;
}

int
buf_add(struct buf *b, const void *p, size_t n)
{
	if (buf_room(b, n) == -1)
		return -1;
	if (n > 0)
		memcpy(b->s + b->len, p, n);
	b->len += n;
	b->s[b->len] = '\0';
	return 0;
}

int
buf_adds(struct buf *b, const char *s)
{
	return buf_add(b, s, strlen(s));
}

int
buf_addf(struct buf *b, const char *fmt, ...)
{
	va_list	 ap;
	int	 n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0 || buf_room(b, (size_t)n) == -1)
		return -1;

	va_start(ap, fmt);
	vsnprintf(b->s + b->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)n;
	return 0;
}

int
buf_readall(struct buf *b, int fd)
{
	char	 extra;
	size_t	 room;
	ssize_t	 n;

	for (;;) {
		room = b->max > b->len ? b->max - b->len : 0;
		if (room > READ_CHUNK)
			room = READ_CHUNK;
		if (buf_room(b, room) == -1)
			return -1;
		if (room > 0)
			n = read(fd, b->s + b->len, room);
		else
			n = read(fd, &extra, 1);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return -1;
		if (n == 0)
			return 0;
		if (room == 0) {
			errno = EFBIG;
			return -1;
		}
		b->len += (size_t)n;
		b->s[b->len] = '\0';
	}
}

int
buf_readfile(struct buf *b, const char *path)
{
	int	 fd, rc, saved;

	fd = strcmp(path, "-") != 0 ? open(path, O_RDONLY | O_CLOEXEC) :
	    fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
	if (fd == -1)
		return -1;
	rc = buf_readall(b, fd);
	saved = errno;
	close(fd);
	errno = saved;
	return rc;
}

void
buf_reset(struct buf *b)
{
	b->len = 0;
	if (b->s != NULL)
		b->s[0] = '\0';
}

void
buf_free(struct buf *b)
{
	free(b->s);
	b->s = NULL;
	b->len = b->cap = 0;
}

void
buf_wipe(struct buf *b)
{
	if (b->s != NULL)
		explicit_bzero(b->s, b->cap);
	buf_free(b);
}
