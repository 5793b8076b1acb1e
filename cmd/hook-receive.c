/*
 * hook-receive: take webhooks in over HTTP: verify, keep once, then say so.
 *
 * 202 and 200 promise that the message is committed in webhook_inbox.  Any
 * other answer promises nothing, and a sender that repeats itself does no
 * harm.  One thread, which never blocks: serve.h has the clients, intake.h
 * the database, receive.h what stands between.
 */
#include <sys/resource.h>

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "config.h"
#include "follow.h"
#include "hide.h"
#include "listen.h"
#include "log.h"
#include "notify.h"
#include "opt.h"
#include "receive.h"
#include "serve.h"

#define LISTEN_DEFAULT	"127.0.0.1:8080"
#define BODY_DEFAULT	(1024 * 1024)		/* bytes */
#define BODY_MAX	(64 * 1024 * 1024)
#define HELD_MIN	((size_t)32 * 1024 * 1024)	/* bytes of requests */
#define CONN_DEFAULT	4096
#define SPARE_FDS	24		/* of what a process may open */
#define TIME_MAX_MS	(INT64_C(3600) * 1000)
#define IDLE_MS		75000		/* nginx keeps its own for 60 s */
#define LISTEN_MAX	16

static const char	*listen_at[LISTEN_MAX];
static size_t		 nlisten;
static int64_t		 patience_ms = 15000, grace_ms = 20000;
static int64_t		 max_body = BODY_DEFAULT, max_conn = CONN_DEFAULT;
static struct receive	 receiver;
static struct seal	 seal;
static struct serve	*server;

static void	 limits(void);
static void	 open_sockets(void);
static void	 options(int, char *[]);
static void	 run(void);
static _Noreturn void usage(int);

int
main(int argc, char *argv[])
{
	struct serve_conf	 conf = { 0 };
	const char		*why;

	options(argc, argv);
	if (seal_load(&seal, &why) == -1)
		errx(EX_UNAVAILABLE, "HOOK_KEY_FILE: %s", why);
	if (sources_init(&receiver.sources) == -1)
		errx(EX_TEMPFAIL, "out of memory");
	limits();
	conf.max_body = (size_t)max_body;
	conf.max_held = HELD_MIN > (size_t)max_body * 4 ? HELD_MIN :
	    (size_t)max_body * 4;
	conf.max_conn = (size_t)max_conn;
	conf.head_ms = patience_ms;
	conf.body_ms = patience_ms;
	conf.send_ms = patience_ms;
	conf.idle_ms = IDLE_MS;
	conf.arg = &receiver;
	conf.take = receive_take;
	conf.refused = receive_refused;
	if ((server = serve_new(&conf)) == NULL)
		err(EX_TEMPFAIL, "epoll");
	follow_signals();
	open_sockets();
	receiver.max_body = (size_t)max_body;
	receiver.intake.tool = getprogname();
	receiver.intake.sources = &receiver.sources;
	receiver.intake.seal = &seal;
	receiver.intake.arg = &receiver;
	receiver.intake.done = receive_done;
	intake_init(&receiver.intake);

	run();
	intake_free(&receiver.intake);
	serve_free(server);
	sources_free(&receiver.sources);
	seal_wipe(&seal);
	return EX_OK;
}

static void
options(int argc, char *argv[])
{
	const char	*why, *bad;
	static struct buf nets = BUF_INIT(4096);
	int		 ch;

	opterr = 0;
	while ((ch = getopt(argc, argv, "P:Vc:d:g:hk:l:m:w:")) != -1)
		switch (ch) {
		case 'P':
			if (buf_addf(&nets, "%s%s", nets.len > 0 ? "," : "",
			    optarg) == -1)
				errx(EX_USAGE, "-P: too many");
			break;
		case 'V':
			puts(VERSION);
			exit(EX_OK);
		case 'c':
			if (opt_int(optarg, 1, 1000000, &max_conn,
			    &why) == -1)
				errx(EX_USAGE, "-c %s: %s", optarg, why);
			break;
		case 'd':
			receiver.intake.conninfo = hide_arg(optarg);
			break;
		case 'g':
			if (opt_duration(optarg, 0, TIME_MAX_MS, &grace_ms,
			    &why) == -1)
				errx(EX_USAGE, "-g %s: %s", optarg, why);
			break;
		case 'h':
			usage(EX_OK);
		case 'k':
			receiver.offers = optarg;
			break;
		case 'l':
			if (nlisten == LISTEN_MAX)
				errx(EX_USAGE, "-l %s: too many", optarg);
			listen_at[nlisten++] = optarg;
			break;
		case 'm':
			if (opt_int(optarg, 1, BODY_MAX, &max_body,
			    &why) == -1)
				errx(EX_USAGE, "-m %s: %s", optarg, why);
			break;
		case 'w':
			if (opt_duration(optarg, 100, TIME_MAX_MS,
			    &patience_ms, &why) == -1)
				errx(EX_USAGE, "-w %s: %s", optarg, why);
			break;
		default:
			usage(EX_USAGE);
		}
	if (optind != argc)
		usage(EX_USAGE);
	if (addr_allow_parse(&receiver.proxies, nets.s, &bad) == -1)
		errx(EX_USAGE, "-P %s: not an address or a CIDR", bad);
	buf_free(&nets);
}

/* As many descriptors as we may have; and as many connections as those. */
static void
limits(void)
{
	struct rlimit	 r;

	if (getrlimit(RLIMIT_NOFILE, &r) == -1)
		return;
	if (r.rlim_cur < (rlim_t)max_conn + SPARE_FDS) {
		r.rlim_cur = r.rlim_max < (rlim_t)max_conn + SPARE_FDS ?
		    r.rlim_max : (rlim_t)max_conn + SPARE_FDS;
		(void)setrlimit(RLIMIT_NOFILE, &r);
	}
	if (r.rlim_cur < (rlim_t)max_conn + SPARE_FDS)
		max_conn = r.rlim_cur > 2 * SPARE_FDS ?
		    (int64_t)r.rlim_cur - SPARE_FDS : SPARE_FDS;
}

static void
open_sockets(void)
{
	const char	*why;
	char		 name[80];
	size_t		 i;
	int		 fd, passed;

	if ((passed = listen_passed(&why)) == -1)
		errx(EX_UNAVAILABLE, "%s", why);
	if (passed == 0 && nlisten == 0)
		listen_at[nlisten++] = LISTEN_DEFAULT;
	for (i = 0; i < nlisten + (size_t)passed; i++) {
		fd = i < nlisten ? listen_on(listen_at[i], &why) :
		    LISTEN_FIRST + (int)(i - nlisten);
		if (fd == -1)
			errx(strncmp(why, "not ", 4) == 0 ? EX_USAGE :
			    EX_UNAVAILABLE, "-l %s: %s", listen_at[i], why);
		if (serve_listen(server, fd) == -1)
			err(EX_UNAVAILABLE, "listen");
		listen_name(fd, name);
		log_event(LOG_NOTICE, "listening", "address", name, NULL);
	}
}

static void
run(void)
{
	struct intake	*it = &receiver.intake;
	struct pollfd	 also[INTAKE_SESSIONS];
	int64_t		 stop_ms = 0;
	int		 wait_ms;

	/* Without the database, too: it answers that it can't, at once. */
	notify_ready("listening");
	while (follow_stop < 2) {
		notify_alive(follow_now_ms());
		if (follow_stop == 1 && stop_ms == 0) {
			notify_stopping();
			stop_ms = follow_now_ms() + grace_ms;
			serve_stop(server);
		}
		if (follow_hup) {
			follow_hup = 0;
			notify_reload(1);
			intake_reload(it);
			notify_reload(0);
		}
		wait_ms = intake_step(it);
		if (stop_ms != 0 && (follow_now_ms() >= stop_ms ||
		    (serve_open(server) == 0 &&
		    !intake_uncounted(it))))
			break;
		if (stop_ms != 0 && wait_ms > 10)
			wait_ms = 10;
		wait_ms = notify_wait(wait_ms, follow_now_ms());
		if (serve_wait(server, also, intake_poll(it, also),
		    wait_ms) == -1)
			err(EX_TEMPFAIL, "epoll");
	}
}

static _Noreturn void
usage(int code)
{
	fprintf(code == EX_OK ? stdout : stderr, "usage: %s [-hV]"
	    " [-c connections] [-d conninfo] [-g grace] [-k folder]"
	    " [-l address:port]... [-m max-body] [-P proxies]"
	    " [-w timeout]\n", getprogname());
	exit(code);
}
