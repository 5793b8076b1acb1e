/*
 * hook-deliver: claim lanes, sign and POST their due deliveries, record what
 * came of it.  The only program that dials out.
 *
 * One loop: lib/store.c talks to the database, lib/send.c to the endpoints,
 * lib/lane.c holds the rules between them, lib/worker.c joins them; nothing
 * waits for anything but all of it at once (send_wait).  No transaction is
 * open while a request is under way: each statement is its own.
 *
 * A kill at any moment loses no delivery: it stays pending until its outcome
 * is written, and its lane comes free when the lease runs out.
 */
#include <sys/resource.h>

#include <err.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>
#include <unistd.h>

#include "config.h"
#include "db_async.h"
#include "follow.h"
#include "hide.h"
#include "log.h"
#include "notify.h"
#include "opt.h"
#include "stmt.h"
#include "worker.h"

#define LAST_WORDS_MS	5000	/* to write outcomes, after the grace */
#define IDLE_MS		1000
#define TRANSFORM_MS	50	/* to see a child's end, and its bounds */

static int	 dry_run(struct store *);
static void	 duration(int, int64_t, int64_t, int64_t *);
static int	 finished(struct worker *, int64_t);
static void	 options(struct worker *, int, char *[]);
static void	 reload(struct store *);
static int	 run(struct worker *);
static void	 set_up(struct worker *);
static _Noreturn void usage(int);
static int	 wait_for_all(struct worker *, int64_t);

static int	 dry;

int
main(int argc, char *argv[])
{
	static struct worker	 w;
	int			 rc;

	w.store.tool = "hook-deliver";
	w.store.lease_ms = 30000;
	w.store.poll_ms = 1000;
	w.store.slots = 64;
	w.grace_ms = 20000;
	options(&w, argc, argv);
	set_up(&w);
	rc = dry ? dry_run(&w.store) : run(&w);
	if (rc != EX_OK)
		log_event(LOG_ERROR, "stopped", "reason",
		    db_error(&w.store.db), NULL);
	send_close(w.sender);
	store_free(&w.store);
	return rc == EX_OK ? follow_code : rc;
}

static void
options(struct worker *w, int argc, char *argv[])
{
	const char	*why;
	int64_t		 n;
	int		 ch;

	while ((ch = getopt(argc, argv, "Vd:fg:hi:j:l:nv")) != -1)
		switch (ch) {
		case 'V':
			puts(VERSION);
			exit(EX_OK);
		case 'd':
			w->store.conninfo = hide_arg(optarg);
			break;
		case 'f':
			w->store.follow = 1;
			break;
		case 'g':
			duration(ch, 0, 3600000, &w->grace_ms);
			break;
		case 'h':
			usage(EX_OK);
		case 'i':
			duration(ch, 10, 60000, &w->store.poll_ms);
			break;
		case 'j':
			if (opt_int(optarg, 1, 5000, &n, &why) == -1)
				errx(EX_USAGE, "-j %s: %s", optarg, why);
			w->store.slots = (size_t)n;
			break;
		case 'l':
			duration(ch, 1000, 600000, &w->store.lease_ms);
			break;
		case 'n':
			dry = 1;
			break;
		case 'v':
			w->verbose = 1;
			break;
		default:
			usage(EX_USAGE);
		}
	if (optind != argc)
		usage(EX_USAGE);
}

static void
duration(int ch, int64_t min_ms, int64_t max_ms, int64_t *ms)
{
	const char	*why;

	if (opt_duration(optarg, min_ms, max_ms, ms, &why) == -1)
		errx(EX_USAGE, "-%c %s: %s", ch, optarg, why);
}

/* All that can be checked without a server is checked before. */
static void
set_up(struct worker *w)
{
	const char	*allow = getenv("HOOK_ALLOW_NET"), *why;
	const char	*proxy = getenv("HOOK_PROXY");
	const char	*ca = getenv("HOOK_CA_FILE");
	struct rlimit	 files;

	if (addr_allow_parse(&w->store.allow, allow, &why) == -1)
		errx(EX_USAGE, "HOOK_ALLOW_NET: %s: not a CIDR", why);
	if (opt_max_payload(&w->max_payload) == -1)
		errx(EX_USAGE, "HOOK_MAX_PAYLOAD: not a size in bytes");
	if (proxy != NULL && *proxy == '\0')
		proxy = NULL;
	if (ca != NULL && *ca == '\0')
		ca = NULL;
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	w->sender = send_open(w->store.slots, &w->store.allow, proxy, ca,
	    &why);
	if (w->sender == NULL)
		errx(errno == EINVAL ? EX_USAGE : EX_TEMPFAIL, "%s", why);
	if (store_init(&w->store, &why) == -1)
		errx(EX_USAGE, "HOOK_KEY_FILE: %s", why);
	w->store.db.wait = follow_db_wait;
	follow_signals();
}

static int
dry_run(struct store *s)
{
	if (db_open(&s->db, s->conninfo, s->tool) == -1 ||
	    db_run(&s->db, &stmt_deliver_due, 0, NULL) == -1)
		return db_exitcode(&s->db);
	printf("{\"lanes_due\":%s,\"lanes_held\":%s,\"pending\":%s}\n",
	    db_col(&s->db, 0, 0), db_col(&s->db, 0, 1),
	    db_col(&s->db, 0, 2));
	return fflush(stdout) == EOF ? EX_TEMPFAIL : EX_OK;
}

static int
run(struct worker *w)
{
	struct store	*s = &w->store;
	struct lane	*l;
	int64_t		 now_ms;
	int		 rc = EX_OK, kept = 0;

	do {
		now_ms = follow_now_ms();
		notify_alive(now_ms);
		worker_take(w, now_ms);
		if (follow_stop) {
			notify_stopping();
			worker_stop(w, follow_stop > 1, now_ms);
		}
		if (follow_hup)
			reload(s);
		if (store_step(s, now_ms) == -1) {
			if (!s->stopping || s->code != EX_TEMPFAIL)
				return s->code;
			rc = EX_TEMPFAIL;
			break;
		}
		worker_launch(w, now_ms);
		if (finished(w, now_ms))
			break;
		if (wait_for_all(w, now_ms) == -1)
			errx(EX_SOFTWARE, "waiting for the network failed");
	} while (1);
	if (s->up == 2 && s->job == NULL && db_run(&s->db, &stmt_worker_gone,
	    DB_ARGS(s->name)) == -1)
		warnx("%s", db_error(&s->db));
	for (l = s->lanes; l != NULL; l = l->next)
		kept += !l->stale;
	if (s->ndone > 0 || (s->stopping && kept > 0))
		rc = EX_TEMPFAIL;	/* not recorded, or not given back */
	return rc;
}

static void
reload(struct store *s)
{
	const char	*why;

	follow_hup = 0;
	notify_reload(1);
	if (store_reload(s, &why) == -1)
		log_event(LOG_ERROR, "HOOK_KEY_FILE", "reason", why, NULL);
	notify_reload(0);
}

/* One-shot: nothing is due any more.  Stopping: all is written or hopeless. */
static int
finished(struct worker *w, int64_t now_ms)
{
	struct store	*s = &w->store;
	struct lane	*l;
	int		 out = 0;

	if (!s->stopping)
		return !s->follow && store_idle(s);
	if (now_ms >= w->stop_ms + LAST_WORDS_MS)
		return 1;
	for (l = s->lanes; l != NULL; l = l->next)
		out += !l->stale || l->out > 0;
	return out == 0 && s->ndone == 0 && s->job == NULL &&
	    s->rest[0].n == 0;
}

static int
wait_for_all(struct worker *w, int64_t now_ms)
{
	struct pollfd	 fd[1 + TRANSFORM_FDS];
	struct lane	*l;
	unsigned	 n;
	int64_t		 ms = store_wait(&w->store, now_ms), wait_ms;

	n = transform_fds(&w->transforms, fd);
	if (n > 0 && ms > TRANSFORM_MS)
		ms = TRANSFORM_MS;
	if (ms > IDLE_MS)
		ms = IDLE_MS;
	if (send_room(w->sender) > 0 && !w->store.stopping)
		for (l = w->store.lanes; l != NULL && ms > 0; l = l->next)
			if ((wait_ms = lane_wait(l, now_ms)) > 0 &&
			    wait_ms < ms)
				ms = wait_ms;
	if (db_socket(&w->store.db) != -1 && w->store.up != 0) {
		fd[n].fd = db_socket(&w->store.db);
		fd[n].events = POLLIN;
		if (db_writes(&w->store.db))
			fd[n].events = w->store.up == 1 ? POLLOUT :
			    POLLIN | POLLOUT;
		fd[n++].revents = 0;
	}
	return send_wait(w->sender, fd, n, notify_wait(ms, now_ms));
}

static _Noreturn void
usage(int status)
{
	fprintf(status == EX_OK ? stdout : stderr, "usage: %s [-fhnVv]"
	    " [-d conninfo] [-g grace] [-i poll] [-j in-flight] [-l lease]\n",
	    getprogname());
	exit(status);
}
