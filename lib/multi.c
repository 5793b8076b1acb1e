#include <sys/epoll.h>

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <curl/curl.h>

#include "multi.h"

#define EVENTS		256	/* taken from the kernel at a time */
#define EXTRA_MAX	31

struct multi_socket {
	unsigned char	 want;		/* EPOLLIN, EPOLLOUT: libcurl's wish */
	unsigned char	 have;		/* what the kernel was told */
	unsigned char	 ours, listed;	/* multi_opened(); in changed */
};

static int	 on_socket(CURL *, curl_socket_t, int, void *, void *);
static int	 on_timer(CURLM *, long, void *);
static int64_t	 now_ms(void);
static int	 room(struct multi *, int);
static int	 run_sockets(struct multi *);
static int	 run_timer(struct multi *);
static int	 tell(struct multi *, int);
static int	 tell_all(struct multi *);

int
multi_open(struct multi *m)
{
	if ((m->epoll = epoll_create1(EPOLL_CLOEXEC)) == -1 ||
	    (m->curl = curl_multi_init()) == NULL)
		return -1;
	curl_multi_setopt(m->curl, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(m->curl, CURLMOPT_SOCKETDATA, m);
	curl_multi_setopt(m->curl, CURLMOPT_TIMERFUNCTION, on_timer);
	curl_multi_setopt(m->curl, CURLMOPT_TIMERDATA, m);
	return 0;
}

void
multi_close(struct multi *m)
{
	curl_multi_cleanup(m->curl);
	if (m->epoll != -1)
		close(m->epoll);
	free(m->socket);
	free(m->changed);
	*m = (struct multi)MULTI_INIT;
}

void
multi_opened(struct multi *m, int fd)
{
	if (room(m, fd) == 0)
		m->socket[fd].ours = 1;
}

void
multi_closed(struct multi *m, int fd)
{
	/* Closing takes it out of the kernel's set. */
	if (fd < m->nsocket)
		m->socket[fd].have = m->socket[fd].want =
		    m->socket[fd].ours = 0;
}

/* Make the tables reach this descriptor. */
static int
room(struct multi *m, int fd)
{
	struct multi_socket	*s;
	int			*c, n = (fd / 256 + 1) * 256;

	if (fd < m->nsocket)
		return 0;
	if ((s = reallocarray(m->socket, (size_t)n, sizeof(*s))) == NULL)
		return -1;
	m->socket = s;
	if ((c = reallocarray(m->changed, (size_t)n, sizeof(*c))) == NULL)
		return -1;
	m->changed = c;
	memset(s + m->nsocket, 0, (size_t)(n - m->nsocket) * sizeof(*s));
	m->nsocket = n;
	return 0;
}

/* What libcurl waits for on a socket; told to the kernel before we wait. */
static int
on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *of)
{
	struct multi		*m = arg;
	struct multi_socket	*s;

	(void)easy;
	(void)of;
	if (room(m, fd) == -1)
		return -1;
	s = &m->socket[fd];
	s->want = what == CURL_POLL_REMOVE ? 0 :
	    (unsigned char)((what & CURL_POLL_IN ? EPOLLIN : 0) |
	    (what & CURL_POLL_OUT ? EPOLLOUT : 0));
	if (!s->ours)
		return tell(m, fd);	/* may be closed any time */
	if (!s->listed) {
		s->listed = 1;
		m->changed[m->nchanged++] = fd;
	}
	return 0;
}

static int
tell(struct multi *m, int fd)
{
	struct multi_socket	*s = &m->socket[fd];
	struct epoll_event	 ev = { .events = s->want, .data.fd = fd };
	int			 op;

	if (s->want == s->have)
		return 0;
	op = s->want == 0 ? EPOLL_CTL_DEL : s->have == 0 ? EPOLL_CTL_ADD :
	    EPOLL_CTL_MOD;
	s->have = s->want;
	return epoll_ctl(m->epoll, op, fd, &ev) == 0 ||
	    op == EPOLL_CTL_DEL ? 0 : -1;
}

static int
tell_all(struct multi *m)
{
	int	 fd;

	while (m->nchanged > 0) {
		fd = m->changed[--m->nchanged];
		m->socket[fd].listed = 0;
		if (tell(m, fd) == -1)
			return -1;
	}
	return 0;
}

static int
on_timer(CURLM *curl, long timeout_ms, void *arg)
{
	struct multi	*m = arg;

	(void)curl;
	m->timer_ms = timeout_ms < 0 ? -1 : now_ms() + timeout_ms;
	return 0;
}

int
multi_wait(struct multi *m, size_t busy, struct pollfd *extra,
    unsigned nextra, int timeout_ms)
{
	struct pollfd	 fd[1 + EXTRA_MAX];
	int64_t		 left_ms;

	if (nextra > EXTRA_MAX || run_timer(m) == -1 || tell_all(m) == -1)
		return -1;
	/* Something is finished already: look at the rest, don't sleep. */
	if ((size_t)m->running < busy)
		timeout_ms = 0;
	if (timeout_ms > 0 && m->timer_ms != -1) {
		left_ms = m->timer_ms - now_ms();
		if (left_ms < timeout_ms)
			timeout_ms = left_ms < 0 ? 0 : (int)left_ms;
	}
	fd[0] = (struct pollfd){ m->epoll, POLLIN, 0 };
	if (nextra > 0)
		memcpy(fd + 1, extra, nextra * sizeof(*extra));
	if (poll(fd, 1 + nextra, timeout_ms) == -1 && errno != EINTR)
		return -1;
	if (fd[0].revents != 0 && run_sockets(m) == -1)
		return -1;
	return run_timer(m);
}

static int
run_sockets(struct multi *m)
{
	struct epoll_event	 ev[EVENTS];
	int			 i, n, what;

	n = epoll_wait(m->epoll, ev, EVENTS, 0);
	for (i = 0; i < n; i++) {
		what = (ev[i].events & (EPOLLIN | EPOLLHUP) ?
		    CURL_CSELECT_IN : 0) |
		    (ev[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
		    (ev[i].events & EPOLLERR ? CURL_CSELECT_ERR : 0);
		if (curl_multi_socket_action(m->curl, ev[i].data.fd, what,
		    &m->running) != CURLM_OK)
			return -1;
	}
	return 0;
}

/* Transfers that begin, time out, or wait for a name. */
static int
run_timer(struct multi *m)
{
	if (m->timer_ms == -1 || now_ms() < m->timer_ms)
		return 0;
	m->timer_ms = -1;
	return curl_multi_socket_action(m->curl, CURL_SOCKET_TIMEOUT, 0,
	    &m->running) == CURLM_OK ? 0 : -1;
}

static int64_t
now_ms(void)
{
	struct timespec	 ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}
