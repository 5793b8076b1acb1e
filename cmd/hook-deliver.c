/*
 * hook-deliver: claim lanes, sign and POST their due deliveries, record what
 * came of it.  The only program that dials out.
 *
 * One loop: lib/store.c talks to the database, lib/send.c to the endpoints,
 * lib/lane.c holds the rules between them; nothing here waits for anything
 * but all of it at once (send_wait).  No transaction is open while a request
 * is under way: each statement is its own.
 *
 * A kill at any moment loses no delivery: it stays pending until its outcome
 * is written, and its lane comes free when the lease runs out.
 */
#include <sys/resource.h>

#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include <curl/curl.h>

#include "config.h"
#include "db_async.h"
#include "follow.h"
#include "hide.h"
#include "log.h"
#include "opt.h"
#include "send.h"
#include "stmt.h"
#include "store.h"
#include "transform.h"
#include "turn.h"

#define LAST_WORDS_MS	5000	/* to write outcomes, after the grace */
#define IDLE_MS		1000
#define TRANSFORM_MS	50	/* to see a child's end, and its bounds */

struct worker {
	struct store	 store;
	struct sender	*sender;
	struct transforms transforms;
	struct turn	 turn;
	struct delivery	*made;		/* transformed, waiting for a slot */
	int64_t		 grace_ms, stop_ms;
	size_t		 max_payload;
	int		 verbose, aborted;
};

static void	 abort_all(struct worker *, int64_t);
static int	 dry_run(struct store *);
static void	 duration(int, int64_t, int64_t, int64_t *);
static int	 finished(struct worker *, int64_t);
static void	 launch(struct worker *, int64_t);
static void	 options(struct worker *, int, char *[]);
static void	 outcome(struct worker *, struct delivery *,
		    enum retry_class, const char *, const struct answer *,
		    int64_t);
static void	 post(struct worker *, struct delivery *, int64_t);
static int	 run(struct worker *);
static void	 set_up(struct worker *);
static void	 start(struct worker *, struct delivery *, int64_t);
static void	 stop(struct worker *, int64_t);
static void	 take_answers(struct worker *, int64_t);
static void	 take_transforms(struct worker *, int64_t);
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
	return rc;
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
	const char	*why;
	int64_t		 now_ms;
	int		 rc = EX_OK;

	do {
		now_ms = follow_now_ms();
		take_answers(w, now_ms);
		take_transforms(w, now_ms);
		if (follow_stop)
			stop(w, now_ms);
		if (follow_hup && store_reload(s, &why) == -1)
			log_event(LOG_ERROR, "HOOK_KEY_FILE", "reason", why,
			    NULL);
		follow_hup = 0;
		if (store_step(s, now_ms) == -1) {
			if (!s->stopping || s->code != EX_TEMPFAIL)
				return s->code;
			rc = EX_TEMPFAIL;
			break;
		}
		launch(w, now_ms);
		if (finished(w, now_ms))
			break;
		if (wait_for_all(w, now_ms) == -1)
			errx(EX_SOFTWARE, "waiting for the network failed");
	} while (1);
	if (s->up == 2 && s->job == NULL && db_run(&s->db, &stmt_worker_gone,
	    DB_ARGS(s->name)) == -1)
		warnx("%s", db_error(&s->db));
	if (s->ndone > 0 || (s->up != 2 && s->nlane > 0))
		rc = EX_TEMPFAIL;	/* not recorded, or not given back */
	return rc;
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
	struct curl_waitfd	 fd[1 + TRANSFORM_FDS];
	struct lane		*l;
	unsigned		 n;
	int64_t			 ms = store_wait(&w->store, now_ms), wait_ms;

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
		fd[n].events = CURL_WAIT_POLLIN;
		if (db_writes(&w->store.db))
			fd[n].events = (short)(w->store.up == 1 ?
			    CURL_WAIT_POLLOUT :
			    CURL_WAIT_POLLIN | CURL_WAIT_POLLOUT);
		fd[n++].revents = 0;
	}
	return send_wait(w->sender, fd, n, (int)ms);
}

/* Fill the free slots: one of each lane whose turn it is, and again. */
static void
launch(struct worker *w, int64_t now_ms)
{
	struct store	*s = &w->store;
	struct delivery	*d;
	struct lane	*l;
	int		 some;

	while (w->made != NULL && send_room(w->sender) > 0) {
		d = w->made;
		w->made = d->after;
		if (d->lane->stale || now_ms >= d->lane->lease_ms)
			delivery_free(d);	/* not ours to send any more */
		else
			post(w, d, now_ms);
	}
	if (s->stopping || s->ndone >= s->slots * 4 + STORE_BATCH)
		return;
	turn_rotate(&s->lanes);
	do {
		some = 0;
		turn_begin(&w->turn, s->lanes, s->slots,
		    transform_room(&w->transforms), now_ms);
		for (l = s->lanes; l != NULL; l = l->next) {
			if (send_room(w->sender) == 0)
				return;
			if (!turn_may(&w->turn, l) || (l->first != NULL &&
			    l->first->raw_input &&
			    !transform_room(&w->transforms)))
				continue;
			if ((d = lane_pop(l, now_ms)) == NULL)
				continue;
			turn_took(&w->turn, l);
			start(w, d, now_ms);
			some = 1;
		}
	} while (some);
}

static void
start(struct worker *w, struct delivery *d, int64_t now_ms)
{
	struct sub	*sub = d->lane->sub;

	if (sub->broken != NULL)
		outcome(w, d, sub->for_good ? RETRY_NEVER : RETRY_LATER,
		    sub->broken, NULL, now_ms);
	else if (d->body == NULL)
		outcome(w, d, RETRY_NEVER, "payload: no longer in the outbox,"
		    " or over 16 MiB", NULL, now_ms);
	else if (!d->raw_input)
		post(w, d, now_ms);
	else if (transform_start(&w->transforms, d, sub->transform,
	    w->max_payload) == -1)
		outcome(w, d, RETRY_NEVER, w->transforms.why, NULL, now_ms);
}

static void
post(struct worker *w, struct delivery *d, int64_t now_ms)
{
	struct sub		*sub = d->lane->sub;
	struct send_request	 req;

	if (sub_request(sub, d->event_id, store_now_s(&w->store, now_ms),
	    d->body, d->body_len, &d->text, &req) == -1) {
		outcome(w, d, RETRY_LATER, "secret: none is live", NULL,
		    now_ms);
		return;
	}
	req.arg = d;
	d->started_ms = now_ms;
	if (send_post(w->sender, &req) == -1)
		outcome(w, d, RETRY_LATER, "send: out of memory", NULL,
		    now_ms);
}

static void
take_answers(struct worker *w, int64_t now_ms)
{
	const struct answer	*a;
	enum retry_class	 class;
	struct delivery		*d;

	while ((a = send_answer(w->sender,
	    store_now_s(&w->store, now_ms))) != NULL) {
		d = a->arg;
		d->status = a->status;
		d->duration_ms = a->duration_ms;
		if (a->body_len > 0 &&
		    (d->answer = malloc(a->body_len)) != NULL) {
			memcpy(d->answer, a->body, a->body_len);
			d->answer_len = a->body_len;
		}
		class = a->blocked ? RETRY_NEVER :
		    retry_classify(a->status, d->lane->sub->retry_4xx,
		    a->abort);
		outcome(w, d, class, a->error, a, now_ms);
	}
}

/* What an attempt came to; a is NULL where no request was made. */
static void
outcome(struct worker *w, struct delivery *d, enum retry_class class,
    const char *error, const struct answer *a, int64_t now_ms)
{
	struct lane	*l = d->lane;
	int64_t		 after_ms = a == NULL ? -1 : a->after_ms;
	double		 dice = arc4random() / 4294967296.0;
	char		 id[24];

	if (after_ms > l->sub->deadline_ms)
		after_ms = l->sub->deadline_ms;	/* nobody is asked for more */
	delivery_judge(d, class, error, a != NULL && a->abort);
	d->pause_ms = retry_delay(l->sub->retry_ms, l->sub->nretry,
	    d->attempts - d->round_start + 1, after_ms, dice);
	lane_outcome(l, d, class, a != NULL && !a->blocked, after_ms, now_ms,
	    dice);
	lane_disable(l, class, a != NULL && !a->blocked,
	    store_now_s(&w->store, now_ms));
	if (w->verbose) {
		snprintf(id, sizeof(id), "%" PRId64, d->id);
		log_event(LOG_INFO, d->outcome, "delivery", id, "event_id",
		    d->event_id, "url", l->sub->shown, "reason", d->error,
		    NULL);
	}
	store_done(&w->store, d);
}

/* What the jq children made: kept first, then sent. */
static void
take_transforms(struct worker *w, int64_t now_ms)
{
	struct delivery	*d;
	enum jq_state	 how;

	while ((d = transform_next(&w->transforms, now_ms, &how)) != NULL) {
		if (how == JQ_DONE) {
			store_body(&w->store, d);
			continue;
		}
		outcome(w, d, RETRY_NEVER, w->transforms.why, NULL, now_ms);
		if (how == JQ_EMPTY)
			d->outcome = "discarded";
	}
	while ((d = store_ready(&w->store)) != NULL) {
		if (w->aborted) {
			delivery_free(d);
			continue;
		}
		d->after = w->made;
		w->made = d;
	}
}

/* No new claims; what is under way may finish until the grace is over. */
static void
stop(struct worker *w, int64_t now_ms)
{
	struct lane	*l;

	if (!w->store.stopping) {
		w->store.stopping = 1;
		w->stop_ms = now_ms + w->grace_ms;
		for (l = w->store.lanes; l != NULL; l = l->next)
			lane_drop(l);
	}
	if ((now_ms >= w->stop_ms || follow_stop > 1) && !w->aborted) {
		w->aborted = 1;
		w->stop_ms = now_ms;
		abort_all(w, now_ms);
	}
}

/* Given back: due again at once, with the attempt on record. */
static void
abort_all(struct worker *w, int64_t now_ms)
{
	struct delivery	*d;

	while ((d = send_abort(w->sender)) != NULL) {
		d->duration_ms = (int)(now_ms - d->started_ms);
		outcome(w, d, RETRY_LATER,
		    "no outcome known: the worker was stopped", NULL, now_ms);
		d->pause_ms = 0;
	}
	while ((d = transform_abort(&w->transforms)) != NULL)
		delivery_free(d);
	while ((d = w->made) != NULL) {
		w->made = d->after;
		delivery_free(d);
	}
}

static _Noreturn void
usage(int status)
{
	fprintf(status == EX_OK ? stdout : stderr, "usage: %s [-fhnVv]"
	    " [-d conninfo] [-g grace] [-i poll] [-j in-flight] [-l lease]\n",
	    getprogname());
	exit(status);
}
