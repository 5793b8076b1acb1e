/*
 * serve_conn.c - one connection of serve.h.
 *
 * One request at a time: what a client sends ahead stays in the kernel, or in
 * "in" where it came with the request before, until that one is answered.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "serve_int.h"

#define READ_SIZE	8192		/* bytes */
#define BODY_STEP	(16 * 1024)	/* bytes, or as many as there are */
#define SMALL		(32 * 1024)	/* bytes that anybody may hold */
#define DRAIN_MAX	(4 * 1024 * 1024)	/* bytes read after a refusal */
#define ONE_TURN	32		/* requests of one connection */

static int	 begin(struct serve_conn *);
static int	 body_more(struct serve_conn *);
static void	 drop_request(struct serve_conn *);
static void	 drain(struct serve_conn *);
static int	 hold(struct serve_conn *);
static int	 parse(struct serve_conn *);
static int	 receive(struct serve_conn *);
static int	 skip_blank(struct serve_conn *);
static void	 respond(struct serve_conn *, const struct serve_answer *,
		    int);
static void	 sent(struct serve_conn *);
static const char *today(struct serve *);

void
serve_move(struct serve_conn *c)
{
	int	 turns = 0;

	c->moving = 1;
	while (c->state <= SERVE_BODY) {
		if (parse(c) == 1) {
			if (++turns == ONE_TURN && c->state <= SERVE_BODY)
				break;
			continue;
		}
		if (c->state > SERVE_BODY || !c->readable ||
		    receive(c) == -1)
			break;
	}
	c->moving = 0;
	if (c->state == SERVE_LINGER)
		drain(c);
	else if (c->state <= SERVE_BODY &&
	    (c->readable || turns == ONE_TURN) && !c->again) {
		c->again = 1;
		c->serve->nagain++;
	}
}

/* Take what came; -1 if nothing did, or the connection is at its end. */
static int
receive(struct serve_conn *c)
{
	struct buf	*b = &c->in;
	size_t		 want = READ_SIZE;
	ssize_t		 n;

	if (c->state == SERVE_BODY && c->request->r.http.length >= 0) {
		b = &c->request->r.body;
		want = (size_t)c->request->r.http.length - b->len;
		if (want > BODY_STEP && want > b->len)
			want = b->len > BODY_STEP ? b->len : BODY_STEP;
	}
	if (buf_room(b, want) == -1 || hold(c) == -1) {
		serve_refuse(c, &(struct http_error){ 503, "no memory" });
		return -1;
	}
	n = recv(c->fd, b->s + b->len, want, 0);
	if (n == -1 && (errno == EAGAIN || errno == EINTR)) {
		c->readable = errno == EINTR;
		return -1;
	}
	if (n <= 0) {
		serve_close(c);
		return -1;
	}
	if ((size_t)n < want && !c->ended)
		c->readable = 0;
	b->len += (size_t)n;
	b->s[b->len] = '\0';
	if (c->state == SERVE_IDLE)
		serve_state(c, SERVE_HEAD);
	return 0;
}

/* 1: something changed; 0: more must come first. */
static int
parse(struct serve_conn *c)
{
	if (c->state == SERVE_BODY)
		return body_more(c);
	return c->in.len > 0 ? begin(c) : 0;
}

/* The head, if it is complete: a request begins. */
static int
begin(struct serve_conn *c)
{
	const size_t	 max = c->serve->conf.max_body;
	struct http_error e;
	struct serve_whole *q;
	int		 n;

	if (c->state == SERVE_IDLE)
		serve_state(c, SERVE_HEAD);
	if (skip_blank(c))
		return c->in.len > 0;
	n = http_complete(c->in.s, c->in.len, &c->seen, &e);
	if (n == 0)
		return 0;
	if (n == -1) {
		serve_refuse(c, &e);
		return 1;
	}
	q = malloc(sizeof(*q));
	if (q == NULL || (q->head = malloc((size_t)n)) == NULL) {
		free(q);
		serve_refuse(c, &(struct http_error){ 503, "no memory" });
		return 1;
	}
	memcpy(q->head, c->in.s, (size_t)n);
	c->in.len -= (size_t)n;
	memmove(c->in.s, c->in.s + n, c->in.len);
	c->seen = 0;
	c->blank = 0;
	memset(&c->chunks, 0, sizeof(c->chunks));
	c->request = q;
	q->r.conn = c;
	q->r.user = NULL;
	q->r.body = (struct buf)BUF_INIT(max);
	q->r.peer = c->peer;
	if (http_head(q->head, (size_t)n, &q->r.http, &e) == -1) {
		serve_refuse(c, &e);
		return 1;
	}
	if (q->r.http.length > (int64_t)max) {
		serve_refuse(c, &(struct http_error){ 413,
		    "body is too large" });
		return 1;
	}
	c->keep = q->r.http.keep;
	c->bare = strcmp(q->r.http.method, "HEAD") == 0;
	serve_state(c, SERVE_BODY);
	if (q->r.http.expects && c->in.len == 0 && q->r.http.length != 0)
		(void)!send(c->fd, "HTTP/1.1 100 Continue\r\n\r\n", 25,
		    MSG_NOSIGNAL);
	return 1;
}

/* Old clients end a body with a line end that is none of it: RFC 9112, 2.2. */
static int
skip_blank(struct serve_conn *c)
{
	if (c->blank || c->in.len < 2 || memcmp(c->in.s, "\r\n", 2) != 0)
		return 0;
	c->in.len -= 2;
	memmove(c->in.s, c->in.s + 2, c->in.len);
	c->blank = 1;
	c->seen = 0;
	return 1;
}

/* What of the body stands in "in"; when it is whole, hand it over. */
static int
body_more(struct serve_conn *c)
{
	struct serve_request	*r = &c->request->r;
	struct http_error	 e = { 503, "no memory" };
	size_t			 used = c->in.len;
	int			 rc;

	if (r->http.length == HTTP_CHUNKED) {
		if (used == 0)
			return 0;
		rc = http_chunks(&c->chunks, c->in.s, c->in.len, &used,
		    &r->body, &e);
	} else {
		if (used > (size_t)r->http.length - r->body.len)
			used = (size_t)r->http.length - r->body.len;
		rc = used > 0 && buf_add(&r->body, c->in.s, used) == -1 ? -1 :
		    r->body.len == (size_t)r->http.length;
	}
	if (rc == -1 || hold(c) == -1) {
		serve_refuse(c, &e);
		return 1;
	}
	if (used > 0) {
		c->in.len -= used;
		memmove(c->in.s, c->in.s + used, c->in.len);
	}
	if (rc == 0)
		return 0;
	if (c->in.len == 0)
		buf_free(&c->in);
	(void)hold(c);
	serve_state(c, SERVE_BUSY);
	c->serve->conf.take(c->serve->conf.arg, r);
	return 1;
}

/*
 * Keep account of the memory.  Over the limit of all, -1 for a connection
 * that holds more than a little.
 */
static int
hold(struct serve_conn *c)
{
	struct serve	*s = c->serve;
	size_t		 n = c->in.cap + c->out.cap +
			    (c->request == NULL ? 0 : c->request->r.body.cap);

	s->held = s->held - c->held + n;
	c->held = n;
	return n > SMALL && s->held > s->conf.max_held ? -1 : 0;
}

void
serve_answer(struct serve_request *r, const struct serve_answer *a)
{
	struct serve_conn	*c = r->conn;

	drop_request(c);
	respond(c, a, c->keep && !c->serve->stopping);
	if (!c->moving && c->state == SERVE_IDLE &&
	    (c->readable || c->in.len > 0) && !c->again) {
		c->again = 1;
		c->serve->nagain++;
	}
}

void
serve_refuse(struct serve_conn *c, const struct http_error *e)
{
	struct serve	*s = c->serve;

	drop_request(c);
	s->conf.refused(s->conf.arg, &c->peer, e);
	respond(c, &(struct serve_answer){ .status = e->status,
	    .more = e->status == 503 ? "Retry-After: 5\r\n" : NULL }, 0);
}

static void
respond(struct serve_conn *c, const struct serve_answer *a, int keep)
{
	struct buf	*t = &c->serve->text;
	size_t		 len = a->len;
	const char	*reason = http_reason(a->status);

	if (c->state == SERVE_CLOSED)
		return;
	c->keep = keep;
	buf_reset(t);
	if (buf_addf(t, "HTTP/1.1 %d %s\r\nDate: %s\r\n%s%s%s%s%s", a->status,
	    reason, today(c->serve), keep ? "Connection: keep-alive\r\n" :
	    "Connection: close\r\n", a->more == NULL ? "" : a->more,
	    len == 0 ? "" : "Content-Type: ", len == 0 ? "" :
	    a->type == NULL ? "text/plain" : a->type,
	    len == 0 ? "" : "\r\nX-Content-Type-Options: nosniff\r\n") == -1 ||
	    (a->status == 204 ? buf_adds(t, "\r\n") :
	    buf_addf(t, "Content-Length: %zu\r\n\r\n", len)) == -1 ||
	    (len > 0 && !c->bare && buf_add(t, a->body, len) == -1)) {
		serve_close(c);
		return;
	}
	c->sent = 0;
	serve_state(c, SERVE_SEND);
	serve_flush(c);
}

/* The answer stands in the server's text; what is left of it goes to "out". */
void
serve_flush(struct serve_conn *c)
{
	struct buf	*b = c->out.len > 0 ? &c->out : &c->serve->text;
	ssize_t		 n;

	do
		n = send(c->fd, b->s + c->sent, b->len - c->sent,
		    MSG_NOSIGNAL);
	while (n == -1 && errno == EINTR);
	if (n == -1 && errno != EAGAIN) {
		serve_close(c);
		return;
	}
	if (n > 0)
		c->sent += (size_t)n;
	if (c->sent == b->len) {
		sent(c);
		return;
	}
	if (b != &c->out) {
		c->out.max = HTTP_HEAD_MAX * 2;
		if (buf_add(&c->out, b->s + c->sent, b->len - c->sent) == -1)
			serve_close(c);
		c->sent = 0;
	}
}

static void
sent(struct serve_conn *c)
{
	buf_free(&c->out);
	if (c->keep) {
		if (c->in.len == 0)
			buf_free(&c->in);
		serve_state(c, SERVE_IDLE);
	} else {
		/* Closing with bytes unread would take the answer back. */
		buf_free(&c->in);
		shutdown(c->fd, SHUT_WR);
		serve_state(c, SERVE_LINGER);
		if (!c->moving)
			drain(c);
	}
	(void)hold(c);
}

/* Read to the client's end, so that it may read our answer. */
static void
drain(struct serve_conn *c)
{
	char	 waste[READ_SIZE];
	ssize_t	 n;

	while ((n = recv(c->fd, waste, sizeof(waste), 0)) > 0)
		if ((c->drained += (size_t)n) > DRAIN_MAX)
			break;
	if (n >= 0 || (errno != EAGAIN && errno != EINTR))
		serve_close(c);
}

static void
drop_request(struct serve_conn *c)
{
	if (c->request == NULL)
		return;
	buf_free(&c->request->r.body);
	free(c->request->head);
	free(c->request);
	c->request = NULL;
	(void)hold(c);
}

void
serve_close(struct serve_conn *c)
{
	if (c->state == SERVE_CLOSED)
		return;
	drop_request(c);
	buf_free(&c->in);
	buf_free(&c->out);
	(void)hold(c);
	close(c->fd);
	c->fd = -1;
	c->serve->nconn--;
	if (c->again)
		c->serve->nagain--;
	c->again = 0;
	serve_state(c, SERVE_CLOSED);
}

static const char *
today(struct serve *s)
{
	time_t		 now = time(NULL);
	struct tm	 tm;

	if (s->date_s != now && gmtime_r(&now, &tm) != NULL) {
		s->date_s = now;
		strftime(s->date, sizeof(s->date),
		    "%a, %d %b %Y %H:%M:%S GMT", &tm);
	}
	return s->date;
}
