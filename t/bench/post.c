/*
 * post: senders for hook-receive: POST signed messages, each with an id of
 * its own, over kept connections.
 *
 *	post [-x] [-b body-bytes] [-c connections] [-n requests] [-r rate]
 *	    secret-file address port path
 *
 * All are signed before the clock starts.  With -r they start at that rate
 * (a second) and no sooner, and latencies count from when each should have;
 * without it each connection sends the next when it has its answer.  -x
 * changes a byte that was signed, so that each is verified and refused.
 *
 * Prints one NDJSON object: requests, per_second, answers 2xx, 401 and other,
 * and latencies in ms.
 */
#include <sys/epoll.h>
#include <sys/socket.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "buf.h"
#include "opt.h"
#include "secret.h"
#include "sign.h"

struct conn {
	int	 fd;
	int64_t	 request;	/* -1: none */
	size_t	 sent, len;
	char	 in[2048];
};

static char		**text;
static size_t		 *length;
static double		 *due, *took;
static struct conn	 *conn, **idle;	/* a ring */
static int64_t		  nconn = 64, n = 10000, rate, body_len = 300;
static int64_t		  nidle, longest;	/* the one idle for longest */
static int64_t		  started, done, good, refused, other;
static int		  spoil, epoll;

static void	 dial(struct conn *, const char *, int);
static void	 make(struct sign_key *, const char *, int64_t);
static double	 now(void);
static void	 next(struct conn *);
static void	 on(struct conn *, uint32_t);
static void	 push(struct conn *);
static double	 percentile(double);
static void	 rest(struct conn *);
static void	 run(void);
static struct conn *wake(void);

int
main(int argc, char *argv[])
{
	struct sign_key	*key;
	const char	*why;
	int64_t		 port, i;
	double		 began;
	int		 ch;

	while ((ch = getopt(argc, argv, "b:c:n:r:x")) != -1) {
		int64_t	*v = ch == 'b' ? &body_len : ch == 'c' ? &nconn :
			    ch == 'n' ? &n : &rate;

		if (ch == 'x')
			spoil = 1;
		else if (ch == '?' || opt_int(optarg, 1, 100000000, v,
		    &why) == -1)
			errx(EX_USAGE, "bad option");
	}
	argv += optind;
	if (argc - optind != 4 ||
	    opt_int(argv[2], 1, 65535, &port, &why) == -1)
		errx(EX_USAGE, "usage: post [-x] [-b bytes] [-c connections]"
		    " [-n requests] [-r rate] secret-file address port path");
	key = secret_key(argv[0], sign_scheme("standard_webhooks"), 1, &why);
	if (key == NULL)
		errx(EX_DATAERR, "%s: %s", argv[0], why);
	text = calloc((size_t)n, sizeof(*text));
	length = calloc((size_t)n, sizeof(*length));
	due = calloc((size_t)n, sizeof(*due));
	took = calloc((size_t)n, sizeof(*took));
	conn = calloc((size_t)nconn, sizeof(*conn));
	idle = calloc((size_t)nconn, sizeof(*idle));
	if (text == NULL || length == NULL || due == NULL || took == NULL ||
	    conn == NULL || idle == NULL)
		err(EX_TEMPFAIL, NULL);
	for (i = 0; i < n; i++)
		make(key, argv[3], i);
	if ((epoll = epoll_create1(0)) == -1)
		err(EX_TEMPFAIL, "epoll");
	for (i = 0; i < nconn; i++)
		dial(&conn[i], argv[1], (int)port);

	began = now();
	for (i = 0; i < n; i++)
		due[i] = rate > 0 ? began + (double)i / (double)rate : 0;
	run();
	printf("{\"requests\":%" PRId64 ",\"per_second\":%.0f,\"good\":%" PRId64
	    ",\"refused\":%" PRId64 ",\"other\":%" PRId64, done,
	    (double)done / (now() - began), good, refused, other);
	printf(",\"p50_ms\":%.2f,\"p99_ms\":%.2f,\"max_ms\":%.2f}\n",
	    percentile(0.5), percentile(0.99), percentile(1));
	return 0;
}

static void
make(struct sign_key *key, const char *path, int64_t i)
{
	struct buf	 body = BUF_INIT(100000000), sig = BUF_INIT(1000);
	struct buf	 all = BUF_INIT(100000000);
	static char	 run_id[24];
	char		 id[64];
	int64_t		 at = time(NULL);
	int		 failed;

	if (*run_id == '\0')
		snprintf(run_id, sizeof(run_id), "%lx%lx", (long)at,
		    (long)getpid());
	snprintf(id, sizeof(id), "msg_%s_%" PRId64, run_id, i);
	failed = buf_addf(&body, "{\"type\":\"bench.event\",\"n\":%" PRId64
	    ",\"data\":\"", i) == -1;
	while (!failed && body.len + 2 < (size_t)body_len)
		failed = buf_add(&body, "x", 1) == -1;
	failed = failed || buf_adds(&body, "\"}") == -1 ||
	    sign_standard(key, id, at, body.s, body.len, &sig) == -1 ||
	    buf_addf(&all, "POST %s HTTP/1.1\r\nHost: bench\r\n"
	    "User-Agent: bench\r\nContent-Type: application/json\r\n"
	    "webhook-id: %s\r\nwebhook-timestamp: %" PRId64 "\r\n"
	    "webhook-signature: %s\r\nContent-Length: %zu\r\n\r\n%s", path,
	    id, at, sig.s, body.len, body.s) == -1;
	if (failed)
		err(EX_TEMPFAIL, "signing");
	if (spoil)
		all.s[all.len - 3] = 'y';
	text[i] = all.s;
	length[i] = all.len;
	buf_free(&body);
	buf_free(&sig);
}

static void
dial(struct conn *c, const char *address, int port)
{
	struct sockaddr_in	 sin = { .sin_family = AF_INET };
	struct epoll_event	 ev = { .events = EPOLLIN | EPOLLOUT |
				    EPOLLET };
	int			 yes = 1;

	sin.sin_port = htons((uint16_t)port);
	if (inet_pton(AF_INET, address, &sin.sin_addr) != 1)
		errx(EX_USAGE, "%s: no address", address);
	c->fd = socket(AF_INET, SOCK_STREAM, 0);
	if (c->fd == -1 || connect(c->fd, (struct sockaddr *)&sin,
	    sizeof(sin)) == -1)
		err(EX_UNAVAILABLE, "%s:%d", address, port);
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	ev.data.ptr = c;
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &ev) == -1)
		err(EX_TEMPFAIL, "epoll");
	c->request = -1;
	rest(c);
}

static void
run(void)
{
	struct epoll_event	 ev[256];
	double			 wait;
	int			 i, got, ms;

	while (done < n) {
		while (nidle > 0 && started < n && now() >= due[started])
			next(wake());
		ms = 1000;
		if (nidle > 0 && started < n) {
			wait = (due[started] - now()) * 1000;
			ms = wait <= 0 ? 0 : wait < 1 ? 1 : (int)wait;
		}
		got = epoll_wait(epoll, ev, 256, ms);
		for (i = 0; i < got; i++)
			on(ev[i].data.ptr, ev[i].events);
	}
}

static void
next(struct conn *c)
{
	c->request = started++;
	c->sent = c->len = 0;
	if (rate == 0)
		due[c->request] = now();
	push(c);
}

static void
push(struct conn *c)
{
	ssize_t	 k;

	k = send(c->fd, text[c->request] + c->sent,
	    length[c->request] - c->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (k == -1 && errno != EAGAIN)
		err(EX_UNAVAILABLE, "send");
	if (k > 0)
		c->sent += (size_t)k;
}

static void
on(struct conn *c, uint32_t events)
{
	const char	*end, *len;
	ssize_t		 k;

	if ((events & EPOLLOUT) && c->request != -1 &&
	    c->sent < length[c->request])
		push(c);
	if (!(events & EPOLLIN))
		return;
	k = recv(c->fd, c->in + c->len, sizeof(c->in) - 1 - c->len,
	    MSG_DONTWAIT);
	if (k == -1 && errno == EAGAIN)
		return;
	if (k <= 0)
		errx(EX_UNAVAILABLE, "connection closed");
	c->len += (size_t)k;
	c->in[c->len] = '\0';
	if (c->request == -1 || (end = strstr(c->in, "\r\n\r\n")) == NULL ||
	    (len = strstr(c->in, "Content-Length: ")) == NULL ||
	    c->len < (size_t)(end + 4 - c->in) + strtoul(len + 16, NULL, 10))
		return;
	took[done++] = (now() - due[c->request]) * 1000;
	if (c->in[9] == '2')
		good++;
	else if (strncmp(c->in + 9, "401", 3) == 0)
		refused++;
	else
		other++;
	free(text[c->request]);
	c->request = -1;
	if (rate == 0 && started < n)
		next(c);
	else
		rest(c);
}

static void
rest(struct conn *c)
{
	idle[(longest + nidle++) % nconn] = c;
}

/* In turns, or the server would close those that are never used. */
static struct conn *
wake(void)
{
	struct conn	*c = idle[longest];

	longest = (longest + 1) % nconn;
	nidle--;
	return c;
}

static int
by_size(const void *a, const void *b)
{
	double	 x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double
percentile(double p)
{
	qsort(took, (size_t)done, sizeof(*took), by_size);
	return done == 0 ? 0 : took[(int64_t)((double)(done - 1) * p)];
}

static double
now(void)
{
	struct timespec	 ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}
