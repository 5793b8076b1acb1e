#include <sys/epoll.h>
#include <sys/socket.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "serve_int.h"

#define EVENTS		256
#define LINGER_MS	2000
#define PAUSE_MS	50	/* of accepting, where nothing gives way */
#define HEAD_PATIENCE_MS 1000		/* when there is no room for others */
#define BODY_PATIENCE_MS 3000
#define ANSWER_MAX	(128 * 1024)	/* bytes */

static void	 accept_some(struct serve *, int);
static int	 add_conn(struct serve *, int, const struct sockaddr_storage *);
static void	 free_closed(struct serve *);
static void	 listeners(struct serve *, int);
static int	 make_room(struct serve *);
static int	 next_timeout(struct serve *, int);
static int64_t	 patience(const struct serve *, enum serve_state);
static void	 ready(struct serve_conn *, uint32_t);
static void	 retire(struct serve *);
static void	 tick(struct serve *);
static void	 turn(struct serve *);

static const enum serve_state	 timed[] = {
	SERVE_IDLE, SERVE_HEAD, SERVE_BODY, SERVE_SEND, SERVE_LINGER
};
#define NTIMED	(sizeof(timed) / sizeof(timed[0]))

struct serve *
serve_new(const struct serve_conf *conf)
{
	struct serve	*s;
	size_t		 i;

	if ((s = calloc(1, sizeof(*s))) == NULL)
		return NULL;
	s->conf = *conf;
	s->extra = SERVE_EXTRA;
	s->text.max = ANSWER_MAX;
	s->date_s = -1;
	for (i = 0; i < SERVE_STATES; i++)
		TAILQ_INIT(&s->list[i]);
	SLIST_INIT(&s->listener);
	if ((s->epoll = epoll_create1(EPOLL_CLOEXEC)) == -1) {
		free(s);
		return NULL;
	}
	tick(s);
	return s;
}

void
serve_free(struct serve *s)
{
	struct serve_listener	*l;
	size_t			 i;

	if (s == NULL)
		return;
	for (i = 0; i < SERVE_CLOSED; i++)
		while (!TAILQ_EMPTY(&s->list[i]))
			serve_close(TAILQ_FIRST(&s->list[i]));
	free_closed(s);
	while ((l = SLIST_FIRST(&s->listener)) != NULL) {
		SLIST_REMOVE_HEAD(&s->listener, link);
		close(l->fd);
		free(l);
	}
	buf_free(&s->text);
	close(s->epoll);
	free(s);
}

int
serve_listen(struct serve *s, int fd)
{
	struct epoll_event	 ev = { .events = EPOLLIN };
	struct serve_listener	*l;

	if ((l = calloc(1, sizeof(*l))) == NULL)
		return -1;
	l->kind = SERVE_LISTENER;
	l->fd = fd;
	ev.data.ptr = l;
	if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &ev) == -1) {
		free(l);
		return -1;
	}
	SLIST_INSERT_HEAD(&s->listener, l, link);
	return 0;
}

int
serve_wait(struct serve *s, const struct pollfd *also, int nalso,
    int timeout_ms)
{
	struct epoll_event	 ev[EVENTS], x;
	enum serve_kind		*kind;
	int			 i, n, extra = 0;

	/*
	 * Each time anew: libpq may have closed it and opened another under
	 * the same number, and what was closed is gone from the set.
	 */
	x.data.ptr = &s->extra;
	for (i = 0; i < nalso; i++) {
		x.events = EPOLLIN |
		    (also[i].events & POLLOUT ? EPOLLOUT : 0u);
		if (epoll_ctl(s->epoll, EPOLL_CTL_MOD, also[i].fd, &x) == -1 &&
		    epoll_ctl(s->epoll, EPOLL_CTL_ADD, also[i].fd, &x) == -1)
			return -1;
	}
	n = epoll_wait(s->epoll, ev, EVENTS, next_timeout(s, timeout_ms));
	if (n == -1 && errno != EINTR)
		return -1;
	tick(s);
	for (i = 0; i < n; i++) {
		kind = ev[i].data.ptr;
		switch (*kind) {
		case SERVE_CONN:
			ready((struct serve_conn *)kind, ev[i].events);
			break;
		case SERVE_LISTENER:
			accept_some(s, ((struct serve_listener *)kind)->fd);
			break;
		case SERVE_EXTRA:
			extra = 1;
		}
	}
	turn(s);
	retire(s);
	free_closed(s);
	if (s->paused && s->now_ms >= s->resume_ms)
		listeners(s, 1);
	return extra;
}

void
serve_stop(struct serve *s)
{
	static const enum serve_state	 wait[] = {
		SERVE_IDLE, SERVE_HEAD, SERVE_BODY
	};
	struct serve_listener	*l;
	struct serve_conn	*c, *next;
	size_t			 i;

	tick(s);
	while ((l = SLIST_FIRST(&s->listener)) != NULL) {
		accept_some(s, l->fd);
		SLIST_REMOVE_HEAD(&s->listener, link);
		close(l->fd);
		free(l);
	}
	s->stopping = 1;
	for (i = 0; i < sizeof(wait) / sizeof(wait[0]); i++)
		for (c = TAILQ_FIRST(&s->list[wait[i]]); c != NULL; c = next) {
			next = TAILQ_NEXT(c, link);
			c->readable = 1;
			serve_move(c);
			if (c->state <= SERVE_BODY)
				serve_close(c);
		}
	free_closed(s);
}

size_t
serve_open(const struct serve *s)
{
	return s->nconn;
}

void
serve_state(struct serve_conn *c, enum serve_state state)
{
	struct serve	*s = c->serve;

	TAILQ_REMOVE(&s->list[c->state], c, link);
	c->state = state;
	c->since_ms = s->now_ms;
	TAILQ_INSERT_TAIL(&s->list[state], c, link);
}

static void
ready(struct serve_conn *c, uint32_t events)
{
	if (events & ~(uint32_t)EPOLLOUT)
		c->readable = 1;
	if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		c->ended = 1;	/* told once only */
	if (c->state == SERVE_SEND && (events & EPOLLOUT))
		serve_flush(c);
	if (c->state <= SERVE_BODY || c->state == SERVE_LINGER)
		serve_move(c);
}

/*
 * Connections that still have something to read, without an event.  Each has
 * one turn: what has more after that waits for the next round.
 */
static void
turn(struct serve *s)
{
	struct serve_conn	*c, *next;
	size_t			 i, left = s->nagain;

	for (i = SERVE_IDLE; i <= SERVE_BODY && left > 0; i++)
		for (c = TAILQ_FIRST(&s->list[i]); c != NULL && left > 0;
		    c = next) {
			next = TAILQ_NEXT(c, link);
			if (!c->again)
				continue;
			c->again = 0;
			s->nagain--;
			left--;
			serve_move(c);
		}
}

static void
accept_some(struct serve *s, int fd)
{
	struct sockaddr_storage	 peer;
	socklen_t		 len;
	int			 c, i;

	for (i = 0; i < 64; i++) {
		if (s->nconn >= s->conf.max_conn && make_room(s) == -1) {
			listeners(s, 0);
			return;
		}
		len = sizeof(peer);
		memset(&peer, 0, sizeof(peer));
		c = accept4(fd, (struct sockaddr *)&peer, &len,
		    SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (c == -1 && (errno == EMFILE || errno == ENFILE ||
		    errno == ENOBUFS || errno == ENOMEM)) {
			if (make_room(s) == -1)
				listeners(s, 0);
			return;
		}
		if (c == -1 && errno == EAGAIN)
			return;
		if (c != -1 && add_conn(s, c, &peer) == -1)
			close(c);
	}
}

static int
add_conn(struct serve *s, int fd, const struct sockaddr_storage *peer)
{
	struct epoll_event	 ev;
	struct serve_conn	*c;
	int			 on = 1;

	if ((c = calloc(1, sizeof(*c))) == NULL)
		return -1;
	c->kind = SERVE_CONN;
	c->fd = fd;
	c->serve = s;
	c->peer = *peer;
	c->in.max = HTTP_HEAD_MAX * 2;
	c->state = SERVE_HEAD;
	c->since_ms = s->now_ms;
	ev.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
	ev.data.ptr = c;
	if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &ev) == -1) {
		free(c);
		return -1;
	}
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	TAILQ_INSERT_TAIL(&s->list[SERVE_HEAD], c, link);
	s->nconn++;
	return 0;
}

/* End the connection that can best be done without; -1: none can. */
static int
make_room(struct serve *s)
{
	static const struct {
		enum serve_state	 state;
		int64_t			 after_ms;
	} victim[] = {
		{ SERVE_IDLE, 0 }, { SERVE_LINGER, 0 },
		{ SERVE_HEAD, HEAD_PATIENCE_MS },
		{ SERVE_BODY, BODY_PATIENCE_MS },
		{ SERVE_SEND, BODY_PATIENCE_MS }
	};
	struct serve_conn	*c;
	size_t			 i;

	for (i = 0; i < sizeof(victim) / sizeof(victim[0]); i++) {
		c = TAILQ_FIRST(&s->list[victim[i].state]);
		if (c != NULL && s->now_ms - c->since_ms >=
		    victim[i].after_ms) {
			serve_close(c);
			return 0;
		}
	}
	return -1;
}

/* Listen, or leave new connections in the kernel for a moment. */
static void
listeners(struct serve *s, int on)
{
	struct serve_listener	*l;
	struct epoll_event	 ev = { .events = on ? EPOLLIN : 0 };

	s->paused = !on;
	s->resume_ms = s->now_ms + PAUSE_MS;
	SLIST_FOREACH(l, &s->listener, link) {
		ev.data.ptr = l;
		(void)epoll_ctl(s->epoll, EPOLL_CTL_MOD, l->fd, &ev);
	}
}

static int64_t
patience(const struct serve *s, enum serve_state state)
{
	switch (state) {
	case SERVE_IDLE:
		return s->conf.idle_ms;
	case SERVE_HEAD:
		return s->conf.head_ms;
	case SERVE_BODY:
		return s->conf.body_ms;
	case SERVE_SEND:
		return s->conf.send_ms;
	default:
		return LINGER_MS;
	}
}

/* End what took too long. */
static void
retire(struct serve *s)
{
	struct serve_conn	*c;
	size_t			 i;

	for (i = 0; i < NTIMED; i++)
		while ((c = TAILQ_FIRST(&s->list[timed[i]])) != NULL &&
		    s->now_ms - c->since_ms >= patience(s, timed[i])) {
			if (c->state == SERVE_BODY ||
			    (c->state == SERVE_HEAD && c->in.len > 0))
				serve_refuse(c, &(struct http_error){ 408,
				    c->state == SERVE_BODY ?
				    "body took too long" :
				    "head took too long" });
			else
				serve_close(c);
		}
}

static int
next_timeout(struct serve *s, int timeout_ms)
{
	struct serve_conn	*c;
	int64_t			 first = timeout_ms == -1 ? 3600000 :
				    timeout_ms, left;
	size_t			 i;

	if (s->nagain > 0)
		return 0;
	tick(s);
	if (s->paused && s->resume_ms - s->now_ms < first)
		first = s->resume_ms - s->now_ms;
	for (i = 0; i < NTIMED; i++) {
		if ((c = TAILQ_FIRST(&s->list[timed[i]])) == NULL)
			continue;
		left = c->since_ms + patience(s, timed[i]) - s->now_ms;
		if (left < first)
			first = left;
	}
	return first < 0 ? 0 : (int)first;
}

/* An event of this round may still point at what it closed. */
static void
free_closed(struct serve *s)
{
	struct serve_conn	*c;

	while ((c = TAILQ_FIRST(&s->list[SERVE_CLOSED])) != NULL) {
		TAILQ_REMOVE(&s->list[SERVE_CLOSED], c, link);
		free(c);
	}
}

static void
tick(struct serve *s)
{
	struct timespec	 ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	s->now_ms = (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}
