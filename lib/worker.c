#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "worker.h"

static void	 abort_all(struct worker *, int64_t);
static void	 outcome(struct worker *, struct delivery *,
		    enum retry_class, const char *, const struct answer *,
		    int64_t);
static void	 post(struct worker *, struct delivery *, int64_t);
static void	 start(struct worker *, struct delivery *, int64_t);
static void	 take_answers(struct worker *, int64_t);
static void	 take_transforms(struct worker *, int64_t);

void
worker_take(struct worker *w, int64_t now_ms)
{
	take_answers(w, now_ms);
	take_transforms(w, now_ms);
}

/* One of each lane whose turn it is, and again. */
void
worker_launch(struct worker *w, int64_t now_ms)
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
		/* A program that may not run never may; no jq is no reason. */
		outcome(w, d, errno == EINVAL ? RETRY_NEVER : RETRY_LATER,
		    w->transforms.why, NULL, now_ms);
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

void
worker_stop(struct worker *w, int hurry, int64_t now_ms)
{
	struct lane	*l;

	if (!w->store.stopping) {
		w->store.stopping = 1;
		w->stop_ms = now_ms + w->grace_ms;
		for (l = w->store.lanes; l != NULL; l = l->next)
			lane_drop(l);
	}
	if ((now_ms >= w->stop_ms || hurry) && !w->aborted) {
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
