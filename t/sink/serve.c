/*
 * serve.c: one connection: reads a request, keeps it, answers by the rules.
 *
 * A request is in flight from the end of its head until its answer is sent
 * or the peer is gone.
 */
#include <sys/socket.h>

#include <openssl/ssl.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "sink.h"

#define MAX_HEAD	65536		/* bytes */
#define LINGER_MS	5000

enum state { SHAKE, HEAD, BODY, ANSWER, LINGER };

struct conn {
	enum state	 state;
	int		 fd;
	SSL		*ssl;
	short		 tls_want;	/* what the handshake waits for */
	long		 no;
	long		 requests;
	char		*in;
	size_t		 in_len, in_cap;
	size_t		 head_len, body_len;
	int		 chunked, last;	/* last: the peer wants a close */
	struct count	*path;		/* while in flight */
	long		 n;		/* of this request */
	int64_t		 at_us;		/* do not write before */
	int64_t		 idle_at_us;	/* close when nothing came till then */
	int		 idle_ms;
	const struct answer *a;
	size_t		 pos;		/* of a->bytes */
	size_t		 fill_pos;
	uint64_t	 fill_left;
	int		 own;		/* a is ours to free (/_stats) */
};

static long	 nconn, nrequest, flying;

static void	 request_end(struct conn *, const char *);

struct conn *
conn_new(int fd, SSL_CTX *ctx)
{
	struct conn	*c = calloc(1, sizeof(*c));

	if (c == NULL)
		abort();
	c->fd = fd;
	c->no = ++nconn;
	c->state = HEAD;
	c->idle_ms = idle_ms;
	c->idle_at_us = idle_ms > 0 ? now_us() + idle_ms * 1000 : INT64_MAX;
	if (ctx != NULL) {
		if ((c->ssl = SSL_new(ctx)) == NULL)
			abort();
		SSL_set_fd(c->ssl, fd);
		c->state = SHAKE;
		c->tls_want = POLLIN;
	}
	return c;
}

int
conn_fd(const struct conn *c)
{
	return c->fd;
}

short
conn_want(const struct conn *c)
{
	short	 w = c->in_len < MAX_IN ? POLLIN : 0;

	if (c->state == SHAKE)
		return c->tls_want;
	if (c->state == ANSWER && c->at_us <= now_us() &&
	    (c->pos < c->a->len || c->fill_left > 0))
		w |= POLLOUT;
	return w;
}

int64_t
conn_wake_us(const struct conn *c)
{
	if (c->state != ANSWER)
		return c->idle_at_us;
	return c->at_us > now_us() ? c->at_us : INT64_MAX;
}

void
conn_drop(struct conn *c)
{
	struct linger	 hard = { 1, 0 };

	request_end(c, "gone");
	if (c->state == ANSWER && c->a->then == THEN_RST)
		setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	else if (c->ssl != NULL && c->state != SHAKE)
		SSL_shutdown(c->ssl);
	SSL_free(c->ssl);
	close(c->fd);
	if (c->own)
		free((void *)(uintptr_t)c->a);
	free(c->in);
	free(c);
}

static void
request_end(struct conn *c, const char *how)
{
	if (c->path == NULL)
		return;
	c->path->now--;
	flying--;
	say("%s %ld %lld %ld %d\n", how, c->n, (long long)clock_us(), c->no,
	    c->a == NULL ? 0 : c->a->status);
	c->path = NULL;
}

/* Read what is there; -1 at the end. */
static int
fill_in(struct conn *c)
{
	ssize_t	 n;

	for (;;) {
		if (c->in_cap - c->in_len < 4096) {
			if (c->in_len >= MAX_IN)
				return 0;
			c->in_cap = c->in_cap == 0 ? 8192 : c->in_cap * 2;
			if ((c->in = realloc(c->in, c->in_cap + 1)) == NULL)
				abort();
		}
		n = wire_read(c->fd, c->ssl, c->in + c->in_len,
		    c->in_cap - c->in_len);
		if (n == -1)
			return 0;
		if (n == 0)
			return -1;
		c->in_len += (size_t)n;
		c->in[c->in_len] = '\0';
		if (c->ssl == NULL && c->in_len < c->in_cap)
			return 0;
	}
}

/* Copy a header's value out of the head; "" if it is not there. */
static void
header(const struct conn *c, const char *name, char *to, size_t size)
{
	const char	*s = c->in, *end = c->in + c->head_len, *eol;
	size_t		 len = strlen(name);

	to[0] = '\0';
	while ((s = memchr(s, '\n', (size_t)(end - s))) != NULL && ++s < end)
		if (strncasecmp(s, name, len) == 0 && s[len] == ':') {
			s += len + 1;
			s += strspn(s, " \t");
			eol = s + strcspn(s, "\r\n");
			snprintf(to, size, "%.*s", (int)(eol - s), s);
			return;
		}
}

static struct answer *
own_answer(const char *text)
{
	struct answer	*a = calloc(1, sizeof(*a) + strlen(text) + 128);

	if (a == NULL)
		abort();
	a->bytes = (char *)(a + 1);
	a->len = (size_t)sprintf(a->bytes, "HTTP/1.1 200 OK\r\n"
	    "Content-Length: %zu\r\n\r\n%s", strlen(text), text);
	a->status = 200;
	return a;
}

/* Requests to ourselves: counters, other rules. */
static void
control(struct conn *c, const char *path)
{
	const char	*why = "";
	char		*stats;

	c->own = 1;
	if (strcmp(path, "/_rules") == 0) {
		c->in[c->head_len + c->body_len] = '\0';
		if (rules_load(c->in + c->head_len, &why) == 0)
			why = "";
		c->a = own_answer(why);
	} else {
		stats = stats_text();
		c->a = own_answer(stats);
		free(stats);
	}
}

static void
answer_begin(struct conn *c)
{
	c->state = ANSWER;
	c->pos = c->fill_pos = 0;
	c->fill_left = c->a->fill_bytes;
	c->at_us = c->a->delay_ms > 0 ?
	    now_us() + c->a->delay_ms * INT64_C(1000) : 0;
	if (c->a->idle_ms > 0)
		c->idle_ms = c->a->idle_ms;
}

static void
request_begin(struct conn *c)
{
	char	 path[2048], id[512], v[256];
	long	 more;

	path[0] = '\0';
	sscanf(c->in, "%*s %2047[^ ?\r\n]", path);
	header(c, "webhook-id", id, sizeof(id));
	header(c, "content-length", v, sizeof(v));
	c->body_len = (size_t)atol(v);
	header(c, "transfer-encoding", v, sizeof(v));
	c->chunked = strcasecmp(v, "chunked") == 0;
	header(c, "connection", v, sizeof(v));
	c->last = strcasecmp(v, "close") == 0;
	c->requests++;
	c->a = NULL;
	c->state = BODY;
	if (strncmp(path, "/_", 2) == 0)
		return;

	c->n = ++nrequest;
	c->path = count_get(path);
	c->path->is_path = 1;
	c->path->total++;
	flying++;
	if (++c->path->now > c->path->most)
		c->path->most = c->path->now;
	c->a = rules_match(path, id, c->path, c->requests > 1);
	more = c->path->now;
	save(c->n, "head", c->in, c->head_len);
	say("in %ld %lld %ld %s %s %ld %ld\n", c->n, (long long)clock_us(),
	    c->no, path[0] == '\0' ? "-" : path, id[0] == '\0' ? "-" : id,
	    more, flying);
}

/* Is the body there?  A chunked one is kept as it came. */
static int
body_there(struct conn *c)
{
	const char	*end;

	if (!c->chunked)
		return c->in_len - c->head_len >= c->body_len;
	end = memmem(c->in + c->head_len - 2, c->in_len - c->head_len + 2,
	    "\r\n0\r\n\r\n", 7);
	if (end != NULL)
		c->body_len = (size_t)(end + 7 - c->in) - c->head_len;
	return end != NULL;
}

/* Take requests out of what was read; -1 to close. */
static int
requests(struct conn *c)
{
	char	 path[64] = "";
	char	*end;

	if (c->state == HEAD) {
		if (c->in_len == 0 || (end = memmem(c->in, c->in_len,
		    "\r\n\r\n", 4)) == NULL)
			return c->in_len > MAX_HEAD ? -1 : 0;
		c->head_len = (size_t)(end + 4 - c->in);
		request_begin(c);
	}
	if (c->state != BODY)
		return 0;
	if (!body_there(c)) {
		if (c->a == NULL || !c->a->early)
			return 0;
		c->last = 1;		/* its rest would be a next request */
		c->body_len = c->in_len - c->head_len;
	}
	if (c->a == NULL) {
		sscanf(c->in, "%*s %63[^ ?\r\n]", path);
		control(c, path);
	} else {
		save(c->n, "body", c->in + c->head_len, c->body_len);
		say("body %ld %lld %ld %zu\n", c->n, (long long)clock_us(),
		    c->no, c->body_len);
	}
	answer_begin(c);
	return 0;
}

/* How many of the bytes that are due may go now, and the pause after. */
static size_t
portion(const struct conn *c, const char **from, int *pause_ms)
{
	const struct answer	*a = c->a;
	size_t			 n;

	*pause_ms = 0;
	if (c->pos < a->len) {
		*from = a->bytes + c->pos;
		if (a->step == 0 || c->pos >= a->slow_to)
			return a->len - c->pos;
		if (c->pos < a->slow_from)
			return a->slow_from - c->pos;
		*pause_ms = a->tick_ms;
		return a->slow_to - c->pos < a->step ? a->slow_to - c->pos :
		    a->step;
	}
	*from = a->fill + c->fill_pos;
	n = a->fill_len - c->fill_pos;
	if (a->fill_ms > 0)
		*pause_ms = a->fill_ms;
	return c->fill_left < n ? (size_t)c->fill_left : n;
}

/* Write; 1 all of it went, 0 not yet, -1 the peer is gone. */
static int
answer_write(struct conn *c)
{
	const char	*from;
	size_t		 len;
	ssize_t		 n;
	int		 pause_ms;

	while (c->pos < c->a->len || c->fill_left > 0) {
		if (c->at_us > now_us())
			return 0;
		len = portion(c, &from, &pause_ms);
		if ((n = wire_write(c->fd, c->ssl, from, len)) <= 0)
			return n == 0 ? -1 : 0;
		if (c->pos < c->a->len) {
			c->pos += (size_t)n;
		} else {
			c->fill_pos = (c->fill_pos + (size_t)n) %
			    c->a->fill_len;
			if (c->fill_left != UINT64_MAX)
				c->fill_left -= (uint64_t)n;
			else if (pause_ms == 0 && c->fill_pos == 0)
				return 0;	/* let others have a turn */
		}
		if (pause_ms > 0 && (size_t)n == len)
			c->at_us = now_us() + pause_ms * INT64_C(1000);
	}
	return c->at_us > now_us() ? 0 : 1;
}

/* The answer is out; -1 to close. */
static int
answer_end(struct conn *c)
{
	size_t	 used = c->head_len + c->body_len;

	if (c->a->then == THEN_HANG)
		return 0;
	if (c->pos > 0)
		request_end(c, "out");
	if (c->a->early && c->last && c->a->then == THEN_KEEP) {
		/* Closing now would reset, and the answer be lost. */
		shutdown(c->fd, SHUT_WR);
		c->state = LINGER;
		c->idle_at_us = now_us() + LINGER_MS * INT64_C(1000);
		return 0;
	}
	if (c->last || c->a->then != THEN_KEEP)
		return -1;
	if (c->own) {
		free((void *)(uintptr_t)c->a);
		c->own = 0;
	}
	memmove(c->in, c->in + used, c->in_len - used);
	c->in_len -= used;
	c->state = HEAD;
	c->idle_at_us = c->idle_ms > 0 ?
	    now_us() + c->idle_ms * INT64_C(1000) : INT64_MAX;
	return 0;
}

int
conn_gone(struct conn *c, short revents)
{
	char	 byte;

	if (c->state != ANSWER || (revents & (POLLIN | POLLHUP | POLLERR)) == 0)
		return 0;
	return (revents & (POLLHUP | POLLERR)) != 0 ||
	    recv(c->fd, &byte, 1, MSG_PEEK) == 0;
}

int
conn_step(struct conn *c, short revents)
{
	int	 rc = 0;

	if (c->state == SHAKE) {
		if (revents != 0 &&
		    (rc = wire_shake(c->ssl, &c->tls_want)) == 1) {
			c->state = HEAD;
			rc = 0;
		}
	} else if (c->state != ANSWER && c->idle_at_us <= now_us())
		rc = -1;
	else if ((revents & (POLLIN | POLLHUP | POLLERR)) != 0)
		rc = fill_in(c);
	if (c->state == LINGER)
		c->in_len = 0;

	/* Several times round where requests were sent ahead. */
	while (rc == 0 && c->state != SHAKE) {
		if ((rc = requests(c)) == -1 || c->state != ANSWER)
			break;
		if ((rc = answer_write(c)) != 1)
			break;
		if ((rc = answer_end(c)) == 0 && c->state == ANSWER)
			break;
	}
	if (rc == -1) {
		conn_drop(c);
		return -1;
	}
	return 0;
}
