/*
 * recv: a receiver that answers 204, at any rate, and notes what came when.
 *
 *	recv -o log -p port-file [-d drip-ms] [-w late-ms]
 *
 * The log has a line a request: webhook-id, microseconds since 1970 when its
 * last byte was there, path.  It is complete when recv has ended, at SIGTERM.
 * What the path begins with decides:
 *
 *	/hang	never answered
 *	/late	answered after late-ms
 *	/drip	answered by one byte each drip-ms
 *	/fail	answered 500
 *	/_count	says how many requests were answered, or will be, by 204
 */
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <arpa/inet.h>

#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#define CONNS		16384
#define IN_MAX		65536		/* bytes of a request */
#define GOOD		"HTTP/1.1 204 No Content\r\n\r\n"
#define BAD		"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"
#define SLOW		"HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n"

struct conn {
	int		 fd;
	char		*in;
	size_t		 len;
	int64_t		 due_us;	/* answer, or next byte; 0: none */
	size_t		 dripped;
	int		 drips;
	struct conn	*next, *prev;	/* of those with a due_us */
};

static volatile sig_atomic_t stop;
static struct conn	 conn[CONNS];	/* by descriptor */
static struct conn	*first, *last;	/* in the order they are due */
static struct conn	*drip;
static int64_t		 late_us = 1000000, drip_us = 100000, count;
static FILE		*out;

static void	 answer(struct conn *, const char *, size_t);
static void	 close_conn(struct conn *);
static void	 enqueue(struct conn **, struct conn **, struct conn *);
static size_t	 handle(struct conn *);
static int	 listen_on(const char *);
static int64_t	 now_us(void);
static void	 readable(struct conn *);
static int	 timers(void);

static void
on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

int
main(int argc, char *argv[])
{
	struct epoll_event	 ev[256], e;
	struct sigaction	 sa = { .sa_handler = on_signal };
	struct rlimit		 rl;
	const char		*port = NULL, *log = NULL;
	int			 ch, ep, l, n, i, fd, one = 1;

	while ((ch = getopt(argc, argv, "d:o:p:w:")) != -1)
		switch (ch) {
		case 'd':
			drip_us = 1000 * strtoll(optarg, NULL, 10);
			break;
		case 'o':
			log = optarg;
			break;
		case 'p':
			port = optarg;
			break;
		case 'w':
			late_us = 1000 * strtoll(optarg, NULL, 10);
			break;
		default:
			exit(EX_USAGE);
		}
	if (port == NULL || log == NULL)
		errx(EX_USAGE, "usage: recv -o log -p port-file [-d drip-ms]"
		    " [-w late-ms]");
	if (getrlimit(RLIMIT_NOFILE, &rl) == 0) {
		rl.rlim_cur = rl.rlim_max;
		setrlimit(RLIMIT_NOFILE, &rl);
	}
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	signal(SIGPIPE, SIG_IGN);
	if ((out = fopen(log, "we")) == NULL)
		err(EX_TEMPFAIL, "%s", log);
	setvbuf(out, NULL, _IOFBF, 1 << 20);
	if ((ep = epoll_create1(EPOLL_CLOEXEC)) == -1)
		err(EX_TEMPFAIL, "epoll");
	l = listen_on(port);
	e = (struct epoll_event){ .events = EPOLLIN, .data.fd = l };
	if (epoll_ctl(ep, EPOLL_CTL_ADD, l, &e) == -1)
		err(EX_TEMPFAIL, "epoll");
	while (!stop) {
		n = epoll_wait(ep, ev, 256, timers());
		for (i = 0; i < n; i++) {
			if (ev[i].data.fd != l) {
				readable(&conn[ev[i].data.fd]);
				continue;
			}
			while ((fd = accept4(l, NULL, NULL, SOCK_NONBLOCK |
			    SOCK_CLOEXEC)) != -1) {
				if (fd >= CONNS) {
					close(fd);
					continue;
				}
				setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one,
				    sizeof(one));
				conn[fd].fd = fd;
				e.data.fd = fd;
				epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e);
			}
		}
	}
	if (fclose(out) == EOF)
		err(EX_TEMPFAIL, "%s", log);
	return 0;
}

static int
listen_on(const char *port)
{
	struct sockaddr_in	 sin = { .sin_family = AF_INET };
	socklen_t		 len = sizeof(sin);
	FILE			*f;
	int			 s;

	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if ((s = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
	    0)) == -1 || bind(s, (struct sockaddr *)&sin, len) == -1 ||
	    listen(s, 4096) == -1 ||
	    getsockname(s, (struct sockaddr *)&sin, &len) == -1 ||
	    (f = fopen(port, "we")) == NULL)
		err(EX_TEMPFAIL, "listen");
	fprintf(f, "%d\n", ntohs(sin.sin_port));
	fclose(f);
	return s;
}

/* All requests that are there.  Of one that waits, no more is read. */
static void
readable(struct conn *c)
{
	ssize_t	 n;
	size_t	 used;

	if (c->fd == 0)
		return;
	if (c->in == NULL && (c->in = malloc(IN_MAX)) == NULL)
		err(EX_TEMPFAIL, "malloc");
	n = read(c->fd, c->in + c->len, IN_MAX - 1 - c->len);
	if (n == 0 || (n == -1 && errno != EAGAIN && errno != EINTR)) {
		close_conn(c);
		return;
	}
	if (n == -1)
		return;
	c->len += (size_t)n;
	while (c->fd != 0 && c->len > 0 && (used = handle(c)) > 0) {
		c->len -= used;
		memmove(c->in, c->in + used, c->len);
	}
	if (c->len == IN_MAX - 1)
		close_conn(c);
}

/* One request at the buffer's start: its length, 0 if it isn't all there. */
static size_t
handle(struct conn *c)
{
	char	*end, *p, *path, *id = NULL, text[128];
	size_t	 body = 0, total, path_len, id_len = 0;
	int	 n;

	c->in[c->len] = '\0';
	if ((end = strstr(c->in, "\r\n\r\n")) == NULL)
		return 0;
	for (p = strstr(c->in, "\r\n"); p != NULL && p < end;
	    p = strstr(p, "\r\n")) {
		p += 2;
		if (strncasecmp(p, "content-length:", 15) == 0)
			body = strtoul(p + 15, NULL, 10);
		else if (strncasecmp(p, "webhook-id: ", 12) == 0) {
			id = p + 12;
			id_len = strcspn(id, "\r");
		}
	}
	total = (size_t)(end + 4 - c->in) + body;
	if (total > c->len)
		return 0;
	path = c->in + strcspn(c->in, " ");
	path += *path == ' ';
	path_len = strcspn(path, " \r");
	if (strncmp(path, "/_count", 7) == 0) {
		n = snprintf(text, sizeof(text), "%" PRId64 "\n", count);
		n = snprintf(text, sizeof(text), "HTTP/1.1 200 OK\r\n"
		    "Content-Length: %d\r\n\r\n%" PRId64 "\n", n, count);
		answer(c, text, (size_t)n);
		return total;
	}
	if (id != NULL)
		fprintf(out, "%.*s %" PRId64 " %.*s\n", (int)id_len, id,
		    now_us(), (int)path_len, path);
	if (strncmp(path, "/hang", 5) == 0)
		return total;
	if (strncmp(path, "/late", 5) == 0) {
		count++;
		c->due_us = now_us() + late_us;
		enqueue(&first, &last, c);
	} else if (strncmp(path, "/drip", 5) == 0) {
		c->due_us = now_us() + drip_us;
		c->dripped = 0;
		c->drips = 1;
		c->prev = NULL;
		if ((c->next = drip) != NULL)
			drip->prev = c;
		drip = c;
	} else if (strncmp(path, "/fail", 5) == 0)
		answer(c, BAD, sizeof(BAD) - 1);
	else {
		count += id != NULL;
		answer(c, GOOD, sizeof(GOOD) - 1);
	}
	return total;
}

static void
enqueue(struct conn **head, struct conn **tail, struct conn *c)
{
	c->next = NULL;
	if ((c->prev = *tail) != NULL)
		(*tail)->next = c;
	else
		*head = c;
	*tail = c;
}

static void
dequeue(struct conn *c)
{
	if (c->due_us == 0)
		return;
	if (c->prev != NULL)
		c->prev->next = c->next;
	else if (c->drips)
		drip = c->next;
	else
		first = c->next;
	if (c->next != NULL)
		c->next->prev = c->prev;
	else if (!c->drips)
		last = c->prev;
	c->due_us = 0;
	c->drips = 0;
}

/* Do what is due; milliseconds until the next. */
static int
timers(void)
{
	struct conn	*c, *next;
	int64_t		 t = now_us(), ms = -1, left;

	while ((c = first) != NULL && c->due_us <= t) {
		dequeue(c);
		answer(c, GOOD, sizeof(GOOD) - 1);
	}
	if (first != NULL)
		ms = (first->due_us - t) / 1000 + 1;
	for (c = drip; c != NULL; c = next) {
		next = c->next;
		if (c->due_us <= t) {
			c->due_us = t + drip_us;
			answer(c, c->dripped < sizeof(SLOW) - 1 ?
			    &SLOW[c->dripped] : "x", 1);
			c->dripped++;
			if (c->fd == 0)
				continue;
		}
		left = (c->due_us - t) / 1000 + 1;
		if (ms == -1 || left < ms)
			ms = left;
	}
	return (int)ms;
}

static void
answer(struct conn *c, const char *text, size_t len)
{
	if (write(c->fd, text, len) != (ssize_t)len)
		close_conn(c);
}

static void
close_conn(struct conn *c)
{
	dequeue(c);
	close(c->fd);
	c->fd = 0;
	c->len = 0;
	free(c->in);
	c->in = NULL;
}

static int64_t
now_us(void)
{
	struct timespec	 ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}
