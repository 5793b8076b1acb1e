#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "transform.h"

int
transform_room(const struct transforms *t)
{
	size_t	 i;

	for (i = 0; i < TRANSFORMS; i++)
		if (t->child[i].d == NULL)
			return 1;
	return 0;
}

int
transform_start(struct transforms *t, struct delivery *d,
    const char *program, size_t max_output)
{
	size_t	 i;
	int	 why;

	for (i = 0; t->child[i].d != NULL; i++)
		if (i + 1 == TRANSFORMS)
			abort();	/* transform_room() was not asked */
	if (jq_start(&t->child[i].jq, program, d->body, d->body_len,
	    max_output) == -1) {
		why = errno;
		snprintf(t->why, sizeof(t->why), "transform: %s",
		    t->child[i].jq.why);
		jq_end(&t->child[i].jq);
		errno = why;
		return -1;
	}
	t->child[i].d = d;
	return 0;
}

struct delivery *
transform_next(struct transforms *t, int64_t now_ms, enum jq_state *state)
{
	struct delivery	*d;
	struct jq	*jq;
	size_t		 i;

	for (i = 0; i < TRANSFORMS; i++) {
		if ((d = t->child[i].d) == NULL)
			continue;
		jq = &t->child[i].jq;
		if ((*state = jq_step(jq, now_ms)) == JQ_RUNNING)
			continue;
		if (*state == JQ_DONE) {
			free(d->body);
			d->body = jq->output.s;
			d->body_len = jq->output.len;
			jq->output = (struct buf)BUF_INIT(0);
		}
		snprintf(t->why, sizeof(t->why), "transform: %s",
		    *state == JQ_EMPTY ? "gave nothing to send" : jq->why);
		jq_end(jq);
		t->child[i].d = NULL;
		return d;
	}
	return NULL;
}

unsigned
transform_fds(const struct transforms *t, struct pollfd *fd)
{
	const struct jq	*jq;
	unsigned	 n = 0;
	size_t		 i;

	for (i = 0; i < TRANSFORMS; i++) {
		if (t->child[i].d == NULL)
			continue;
		jq = &t->child[i].jq;
		if (jq->in != -1)
			fd[n++] = (struct pollfd){ jq->in, POLLOUT, 0 };
		if (jq->out != -1)
			fd[n++] = (struct pollfd){ jq->out, POLLIN, 0 };
		if (jq->err != -1)
			fd[n++] = (struct pollfd){ jq->err, POLLIN, 0 };
	}
	return n;
}

struct delivery *
transform_abort(struct transforms *t)
{
	struct delivery	*d;
	size_t		 i;

	for (i = 0; i < TRANSFORMS; i++) {
		if ((d = t->child[i].d) == NULL)
			continue;
		jq_end(&t->child[i].jq);
		t->child[i].d = NULL;
		return d;
	}
	return NULL;
}
