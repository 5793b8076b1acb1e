/*
 * sink: a scripted HTTP/1.1 server for the tests.
 *
 * sink -d dir [-q] [-i idle-ms] [-l address:port] [-r rules]
 *     [-c certificate -k key]
 *
 * Listens (127.0.0.1 and a free port by default), writes its port to
 * DIR/port, and answers as the first rule that fits says; 200 with an empty
 * body where none does.  A rule is a line:
 *
 *	PATH OCCURRENCE step | step | ...
 *
 * PATH is a prefix of the request's path.  OCCURRENCE counts the requests
 * with that same whole path: 3, 2-5, 4-, or * for all; with "id" before it
 * (id1, id2-) those with the same webhook-id too.  Text takes \n \r \t \0 \\
 * and \xNN.  Steps:
 *
 *	status N [reason]	the status line
 *	header Name: value	one header more
 *	body TEXT, file PATH	the body
 *	length N|none		announce this Content-Length instead
 *	delay MS		before the first byte of the answer
 *	drip MS [body]		one byte each MS; of the body only
 *	interim N [COUNT [MS]]	COUNT 1xx answers first, MS between them
 *	endless head|body [MS]	for ever, 1 KiB at a time, MS between
 *	huge BYTES		a body of that many x, at full speed
 *	raw TEXT, rawfile PATH	exactly these bytes instead, then close
 *	hang, close, rst	no answer: silence, FIN, RST
 *	then close|rst|hang	after the answer
 *	early			answer as soon as the head is there, read what
 *				comes for 5 s, and close; "then close": at once
 *	idle MS			close the connection that long after the answer
 *	reused			only for a connection's later requests
 *
 * for example
 *
 *	/a 1-2 delay 100 | status 503 | header Retry-After: 1 | body later
 *	/a *   status 204
 *	/b id1 rst
 *
 * The Nth request is kept as DIR/N.head and DIR/N.body, byte for byte.
 * DIR/log has a line when the head is there, when the body is, and when the
 * answer is sent ("out") or the connection ended before that ("gone"), times
 * in microseconds since 1970:
 *
 *	in N TIME CONNECTION PATH WEBHOOK-ID IN-FLIGHT-ON-PATH IN-FLIGHT
 *	body N TIME CONNECTION BYTES
 *	out N TIME CONNECTION STATUS
 *
 * GET /_stats says "PATH TOTAL MOST-IN-FLIGHT IN-FLIGHT" for each path; at
 * SIGTERM that is written to DIR/stats.  POST /_rules takes other rules at
 * once, with occurrences counted anew; the answer's body is the bad line, or
 * empty.  -q keeps no requests and no log.
 */
#include <sys/resource.h>
#include <sys/socket.h>

#include <openssl/ssl.h>

#include <err.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sink.h"

#define MAX_CONN	20000

const char	*dir;
int		 quiet, idle_ms;

static struct count	*bucket[4096];
static FILE		*logfile;
static volatile sig_atomic_t stop;

static void
on_term(int sig)
{
	stop = sig;
}

static int64_t
clock_get(clockid_t id)
{
	struct timespec	 ts;

	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

int64_t
now_us(void)
{
	return clock_get(CLOCK_MONOTONIC);
}

int64_t
clock_us(void)
{
	return clock_get(CLOCK_REALTIME);
}

struct count *
count_get(const char *name)
{
	struct count	*c;
	unsigned int	 h = 5381;

	for (const char *s = name; *s != '\0'; s++)
		h = h * 33 ^ (unsigned char)*s;
	h %= sizeof(bucket) / sizeof(bucket[0]);
	for (c = bucket[h]; c != NULL; c = c->next)
		if (strcmp(c->name, name) == 0)
			return c;
	if ((c = calloc(1, sizeof(*c))) == NULL ||
	    (c->name = strdup(name)) == NULL)
		err(1, NULL);
	c->next = bucket[h];
	return bucket[h] = c;
}

void
count_reset(void)
{
	for (size_t i = 0; i < sizeof(bucket) / sizeof(bucket[0]); i++)
		for (struct count *c = bucket[i]; c != NULL; c = c->next) {
			c->total = 0;
			c->most = c->now;
		}
}

char *
stats_text(void)
{
	char	*text = NULL;
	size_t	 len = 0;
	FILE	*f = open_memstream(&text, &len);

	if (f == NULL)
		err(1, NULL);
	for (size_t i = 0; i < sizeof(bucket) / sizeof(bucket[0]); i++)
		for (struct count *c = bucket[i]; c != NULL; c = c->next)
			if (c->is_path)
				fprintf(f, "%s %ld %ld %ld\n", c->name,
				    c->total, c->most, c->now);
	fclose(f);
	return text;
}

void
save(long n, const char *what, const char *bytes, size_t len)
{
	char	 path[4096];
	FILE	*f;

	if (quiet)
		return;
	snprintf(path, sizeof(path), "%s/%ld.%s", dir, n, what);
	if ((f = fopen(path, "w")) == NULL ||
	    fwrite(bytes, 1, len, f) != len || fclose(f) == EOF)
		err(1, "%s", path);
}

void
say(const char *fmt, ...)
{
	va_list	 ap;

	if (quiet)
		return;
	va_start(ap, fmt);
	vfprintf(logfile, fmt, ap);
	va_end(ap);
}

static FILE *
open_in_dir(const char *name)
{
	char	 path[4096];
	FILE	*f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if ((f = fopen(path, "w")) == NULL)
		err(1, "%s", path);
	setvbuf(f, NULL, _IOLBF, 0);
	return f;
}

static int
listener(char *where)
{
	struct addrinfo	 hints = { .ai_flags = AI_NUMERICHOST | AI_PASSIVE,
		.ai_socktype = SOCK_STREAM }, *ai;
	char		*port = strrchr(where, ':'), name[NI_MAXSERV];
	int		 fd, on = 1, rc;
	FILE		*f;

	if (port == NULL)
		errx(1, "%s: no port", where);
	*port++ = '\0';
	if (*where == '[') {
		where++;
		where[strcspn(where, "]")] = '\0';
	}
	if ((rc = getaddrinfo(where, port, &hints, &ai)) != 0)
		errx(1, "%s: %s", where, gai_strerror(rc));
	fd = socket(ai->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
	    0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (fd == -1 || bind(fd, ai->ai_addr, ai->ai_addrlen) == -1 ||
	    listen(fd, 4096) == -1 ||
	    getsockname(fd, ai->ai_addr, &ai->ai_addrlen) == -1)
		err(1, "%s", where);
	getnameinfo(ai->ai_addr, ai->ai_addrlen, NULL, 0, name, sizeof(name),
	    NI_NUMERICSERV);
	freeaddrinfo(ai);
	f = open_in_dir("port");
	fprintf(f, "%s\n", name);
	fclose(f);
	return fd;
}

static void
load_rules(const char *path)
{
	static char	 text[1 << 20];
	const char	*why;
	size_t		 n = 0;
	FILE		*f;

	if (path != NULL) {
		if ((f = fopen(path, "r")) == NULL)
			err(1, "%s", path);
		n = fread(text, 1, sizeof(text) - 1, f);
		fclose(f);
	}
	text[n] = '\0';
	if (rules_load(text, &why) == -1)
		errx(1, "bad rule: %s", why);
}

static SSL_CTX *
tls(const char *cert, const char *key)
{
	SSL_CTX	*ctx = SSL_CTX_new(TLS_server_method());

	if (ctx == NULL || SSL_CTX_use_certificate_chain_file(ctx, cert) != 1 ||
	    SSL_CTX_use_PrivateKey_file(ctx, key, SSL_FILETYPE_PEM) != 1)
		errx(1, "%s, %s: not a certificate and its key", cert, key);
	SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE |
	    SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	return ctx;
}

static struct conn	*conn[MAX_CONN];
static struct pollfd	 pfd[MAX_CONN + 1];

/* Wait for the next thing; connections are at pfd[0..n), then the listener. */
static void
wait_next(size_t n)
{
	int64_t	 wake = INT64_MAX, now, t;
	int	 ms = -1;

	for (size_t i = 0; i < n; i++) {
		pfd[i].fd = conn_fd(conn[i]);
		pfd[i].events = conn_want(conn[i]);
		if ((t = conn_wake_us(conn[i])) < wake)
			wake = t;
	}
	pfd[n].events = n < MAX_CONN ? POLLIN : 0;
	if (wake != INT64_MAX) {
		now = now_us();
		ms = wake <= now ? 0 : (int)((wake - now + 999) / 1000);
	}
	for (size_t i = 0; i <= n; i++)
		pfd[i].revents = 0;
	if (poll(pfd, n + 1, ms) == -1 && errno != EINTR)
		err(1, "poll");
}

static void
loop(int fd, SSL_CTX *ctx)
{
	size_t	 n = 0, kept;
	int	 c, on = 1;

	while (!stop) {
		pfd[n].fd = fd;
		wait_next(n);
		/* The gone ones first: a peer that gave up one request may
		 * have sent the next, and both were never in flight. */
		for (size_t i = 0; i < n; i++)
			if (conn_gone(conn[i], pfd[i].revents)) {
				conn_drop(conn[i]);
				conn[i] = NULL;
			}
		kept = 0;
		for (size_t i = 0; i < n; i++)
			if (conn[i] != NULL &&
			    conn_step(conn[i], pfd[i].revents) == 0)
				conn[kept++] = conn[i];
		c = pfd[n].revents & POLLIN;
		n = kept;
		while (c != 0 && n < MAX_CONN && (c = accept4(fd, NULL, NULL,
		    SOCK_NONBLOCK | SOCK_CLOEXEC)) != -1) {
			setsockopt(c, IPPROTO_TCP, TCP_NODELAY, &on,
			    sizeof(on));
			conn[n++] = conn_new(c, ctx);
		}
	}
	for (size_t i = 0; i < n; i++)
		conn_drop(conn[i]);
}

int
main(int argc, char *argv[])
{
	char		 any[] = "127.0.0.1:0", *where = any, *text;
	const char	*rules = NULL, *cert = NULL, *key = NULL;
	struct rlimit	 rl;
	SSL_CTX		*ctx = NULL;
	FILE		*f;
	int		 ch, fd;

	while ((ch = getopt(argc, argv, "c:d:i:k:l:qr:")) != -1)
		switch (ch) {
		case 'c':
			cert = optarg;
			break;
		case 'd':
			dir = optarg;
			break;
		case 'i':
			idle_ms = atoi(optarg);
			break;
		case 'k':
			key = optarg;
			break;
		case 'l':
			where = optarg;
			break;
		case 'q':
			quiet = 1;
			break;
		case 'r':
			rules = optarg;
			break;
		default:
			return 64;
		}
	if (dir == NULL || optind != argc)
		errx(64, "usage: sink -d dir [-q] [-i idle-ms] [-l addr:port]"
		    " [-r rules] [-c cert -k key]");
	if (getrlimit(RLIMIT_NOFILE, &rl) == 0) {
		rl.rlim_cur = rl.rlim_max;
		setrlimit(RLIMIT_NOFILE, &rl);
	}
	signal(SIGPIPE, SIG_IGN);
	signal(SIGTERM, on_term);
	signal(SIGINT, on_term);
	logfile = open_in_dir("log");
	load_rules(rules);
	if (cert != NULL)
		ctx = tls(cert, key);
	fd = listener(where);
	loop(fd, ctx);

	text = stats_text();
	f = open_in_dir("stats");
	fputs(text, f);
	fclose(f);
	free(text);
	fclose(logfile);
	SSL_CTX_free(ctx);
	return 0;
}
