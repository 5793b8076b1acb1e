#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "follow.h"
#include "member.h"
#include "offer.h"

#define EVERY_MS	1000

static int	 put(int, const char *, const char *, const struct buf *);

int
offer_token(const struct sign_scheme *s, const struct sign_message *m,
    struct buf *token)
{
	struct member	 v;
	size_t		 i;

	if (strcmp(sign_scheme_name(s), "notion") != 0)
		return 0;
	for (i = 0; i < m->nheader; i++)
		if (strcasecmp(m->header[i].name, "x-notion-signature") == 0)
			return 0;
	if (m->body_len == 0 || member_find(m->body, m->body_len,
	    ".verification_token", &v) != 1 || member_text(&v, token) != 1 ||
	    token->len == 0 || token->len > OFFER_MAX)
		return 0;
	for (i = 0; i < token->len; i++)
		if (token->s[i] <= ' ' || token->s[i] > '~')
			return 0;
	return 1;
}

/* A name that begins with a dot is no source's. */
int
offer_keep(const char *folder, const char *name, const struct buf *token)
{
	static int64_t	 next_ms;
	char		 new[80];
	int64_t		 now_ms = follow_now_ms();
	int		 dir, rc, saved;

	if (now_ms < next_ms) {
		errno = EAGAIN;
		return -1;
	}
	next_ms = now_ms + EVERY_MS;
	if ((rc = snprintf(new, sizeof(new), ".%s", name)) < 0 ||
	    (size_t)rc >= sizeof(new)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if ((dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) == -1)
		return -1;
	rc = put(dir, new, name, token);
	saved = errno;
	close(dir);
	errno = saved;
	return rc;
}

static int
put(int dir, const char *new, const char *name, const struct buf *token)
{
	int	 fd, good, saved;

	(void)unlinkat(dir, new, 0);
	if ((fd = openat(dir, new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
	    0600)) == -1)
		return -1;
	good = write(fd, token->s, token->len) == (ssize_t)token->len &&
	    write(fd, "\n", 1) == 1 && fsync(fd) == 0 &&
	    renameat(dir, new, dir, name) == 0 && fsync(dir) == 0;
	saved = errno;
	close(fd);
	if (!good)
		(void)unlinkat(dir, new, 0);
	errno = saved;
	return good ? 0 : -1;
}
