/*
 * The text format of Prometheus.  Names and labels are API: alert rules and
 * dashboards of others hold them.  The number of series is bounded by the
 * statements (200 event types, 200 sources, as many subscriptions where they
 * are asked for).
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "status.h"

/* A number of the facts; several of one metric stand together. */
static const struct gauge {
	const char	*column, *metric, *labels, *help;
	int		 absent;	/* where it is null; else 0 then */
} gauges[] = {
	{ "outbox_waiting", "hook_outbox_waiting_events", "",
	    "Events not fanned out yet, counted up to 10,001.", 0 },
	{ "outbox_oldest_s", "hook_outbox_oldest_seconds", "",
	    "Fan-out lag: age of the oldest event not fanned out.", 0 },
	{ "deliveries_due", "hook_deliveries", "{state=\"due\"}",
	    "Pending deliveries: due; held by a breaker, a Retry-After or a"
	    " pause; scheduled for later.", 0 },
	{ "deliveries_held", "hook_deliveries", "{state=\"held\"}", NULL, 0 },
	{ "deliveries_scheduled", "hook_deliveries", "{state=\"scheduled\"}",
	    NULL, 0 },
	{ "deliveries_estimated", "hook_deliveries_estimated", "",
	    "1 where there are so many that hook_deliveries is estimated.", 0 },
	{ "deliveries_in_flight", "hook_deliveries_in_flight", "",
	    "Requests that were sent and not answered.", 0 },
	{ "deliveries_due_oldest_s", "hook_deliveries_due_oldest_seconds", "",
	    "For how long the oldest due delivery has been due.", 0 },
	{ "dead_deliveries", "hook_dlq", "{kind=\"delivery\"}",
	    "Dead letters: deliveries counted up to 100,001, messages to"
	    " 10,001.", 0 },
	{ "dead_messages", "hook_dlq", "{kind=\"message\"}", NULL, 0 },
	{ "dead_deliveries_oldest_s", "hook_dlq_oldest_seconds", "",
	    "Age of the oldest dead delivery.", 0 },
	{ "subscriptions_active", "hook_subscriptions",
	    "{state=\"active\"}", "Subscriptions by state.", 0 },
	{ "subscriptions_paused", "hook_subscriptions",
	    "{state=\"paused\"}", NULL, 0 },
	{ "subscriptions_disabled", "hook_subscriptions",
	    "{state=\"disabled\"}", NULL, 0 },
	{ "subscriptions_failing", "hook_subscriptions_failing", "",
	    "Active subscriptions without a success since a failure.", 0 },
	{ "subscriptions_failing_oldest_s",
	    "hook_subscriptions_failing_oldest_seconds", "",
	    "For how long the one that fails longest has failed.", 0 },
	{ "breakers_open", "hook_breakers", "{state=\"open\"}",
	    "Lanes by the state of their breaker.", 0 },
	{ "breakers_closed", "hook_breakers", "{state=\"closed\"}", NULL,
	    0 },
	{ "lanes_owned", "hook_lanes_owned", "",
	    "Lanes that workers own.", 0 },
	{ "workers_consume", "hook_workers", "{tool=\"hook-consume\"}",
	    "Followers seen within 20 seconds.", 0 },
	{ "workers_deliver", "hook_workers", "{tool=\"hook-deliver\"}",
	    NULL, 0 },
	{ "workers_fanout", "hook_workers", "{tool=\"hook-fanout\"}", NULL,
	    0 },
	{ "deliver_seen_s", "hook_seen_seconds", "{tool=\"hook-deliver\"}",
	    "Time since a run of the tool was last seen, to the minute.", 1 },
	{ "fanout_seen_s", "hook_seen_seconds", "{tool=\"hook-fanout\"}",
	    NULL, 1 },
	{ "snapshot_s", "hook_snapshot_oldest_seconds", "",
	    "Age of the oldest transaction that holds back vacuum.", 0 },
	{ "snapshot_transactions", "hook_snapshot_oldest_transactions", "",
	    "By how many transactions it holds back vacuum.", 0 },
	{ "notify_usage", "hook_notify_queue_ratio", "",
	    "How full the server's NOTIFY queue is.", 0 },
	{ "partitions_ahead_s", "hook_partitions_ahead_seconds", "",
	    "Time for which there are partitions; 0: today's is missing.",
	    0 },
	{ "secret_expires_s", "hook_secret_expires_seconds", "",
	    "Time until a subscription or source is left without a secret;"
	    " none: not within 30 days.", 1 },
};

/* Columns of lists, with the column that is the label. */
static const struct list {
	enum status_part part;
	const char	*column, *metric, *label, *from, *help;
} lists[] = {
	{ STATUS_SOURCES, "pending", "hook_inbox_pending", "source", "source",
	    "Messages that wait, up to 20,000 of all sources." },
	{ STATUS_SOURCES, "oldest_s", "hook_inbox_oldest_seconds", "source",
	    "source", "Age of the oldest message that waits." },
	{ STATUS_SOURCES, "dead", "hook_inbox_dead", "source", "source",
	    "Messages that could not be handled." },
	{ STATUS_TABLES, "bytes", "hook_table_bytes", "table", "table",
	    "Size with indexes, as of the last vacuum." },
	{ STATUS_TABLES, "partitions", "hook_table_partitions", "table",
	    "table", "Partitions." },
	{ STATUS_SUBS, "pending", "hook_subscription_pending", "subscription",
	    "id", "Pending deliveries of those worst off." },
	{ STATUS_SUBS, "due", "hook_subscription_due", "subscription", "id",
	    "Due deliveries of those worst off." },
	{ STATUS_SUBS, "due_oldest_s", "hook_subscription_due_oldest_seconds",
	    "subscription", "id",
	    "For how long their oldest due delivery has been due." },
	{ STATUS_SUBS, "failing_s", "hook_subscription_failing_seconds",
	    "subscription", "id", "For how long they have failed." },
};

/* Counters: their name in webhook_counters, and what its columns are. */
static const struct counter {
	const char	*name, *metric, *label, *outcome, *help;
} counters[] = {
	{ "events_fanned_out", "hook_events_fanned_out_total", NULL, NULL,
	    "Events turned into deliveries." },
	{ "deliveries_created", "hook_deliveries_created_total",
	    "event_type", NULL, "Deliveries made." },
	{ "deliveries_finished", "hook_deliveries_finished_total",
	    "event_type", "state", "Deliveries that came to their end." },
	{ "attempts", "hook_attempts_total", "event_type", "outcome",
	    "Requests by what came of them; later: to be tried again." },
	{ "takeovers", "hook_lane_takeovers_total", NULL, NULL,
	    "Lanes taken from a worker that stopped without a word." },
	{ "received", "hook_received_total", "source", "outcome",
	    "Requests to hook-receive by what came of them." },
	{ "consumed", "hook_consumed_total", "source", "outcome",
	    "Messages handed out by what came of them." },
	{ "events_pruned", "hook_events_pruned_total", NULL, NULL,
	    "Old events dropped." },
	{ "deliveries_pruned", "hook_deliveries_pruned_total", NULL,
	    "state", "Old deliveries dropped." },
	{ "attempts_pruned", "hook_attempts_pruned_total", NULL, NULL,
	    "Old attempts dropped." },
};

static int	 add_counter(const struct status *, const struct counter *,
		    struct buf *);
static int	 add_fanout(const struct status *, struct buf *);
static int	 add_gauges(const struct status *, struct buf *);
static int	 add_histogram(const struct status *, struct buf *);
static int	 add_label(struct buf *, char, const char *, const char *);
static int	 add_list(const struct status *, const struct list *,
		    struct buf *);
static int64_t	 count(const struct status *, const char *, const char *);

static int
head(struct buf *b, const char *metric, const char *type, const char *help)
{
	return buf_addf(b, "# HELP %s %s\n# TYPE %s %s\n", metric, help,
	    metric, type);
}

int
status_prom(const struct status *s, struct buf *b)
{
	size_t	 i;

	if (head(b, "hook_build_info", "gauge", "The version of hook-stat.") ==
	    -1 || buf_addf(b, "hook_build_info{version=\"%s\"} 1\n",
	    VERSION) == -1 || add_gauges(s, b) == -1)
		return -1;
	if (head(b, "hook_clock_skew_seconds", "gauge",
	    "hook-stat's clock less the database's.") == -1 ||
	    buf_addf(b, "hook_clock_skew_seconds %.3f\n",
	    (double)s->skew_ms / 1000) == -1)
		return -1;
	for (i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		if (add_list(s, &lists[i], b) == -1)
			return -1;
	for (i = 0; i < sizeof(counters) / sizeof(*counters); i++)
		if (add_counter(s, &counters[i], b) == -1)
			return -1;
	return add_fanout(s, b) == -1 ? -1 : add_histogram(s, b);
}

static int
add_gauges(const struct status *s, struct buf *b)
{
	const struct gauge	*g;
	const char		*val, *last = "";
	size_t			 i;

	for (i = 0; i < sizeof(gauges) / sizeof(*gauges); i++) {
		g = &gauges[i];
		val = status_text(s, STATUS_FACTS, 0, g->column);
		if (strcmp(g->metric, last) != 0 &&
		    head(b, g->metric, "gauge", g->help) == -1)
			return -1;
		last = g->metric;
		if (val == NULL && g->absent)
			continue;
		if (buf_addf(b, "%s%s %s\n", g->metric, g->labels,
		    val == NULL ? "0" : val) == -1)
			return -1;
	}
	return 0;
}

static int
add_list(const struct status *s, const struct list *l, struct buf *b)
{
	const char	*val, *label;
	int		 i;

	if (!(s->read & STATUS_PART(l->part)))
		return 0;
	if (head(b, l->metric, "gauge", l->help) == -1)
		return -1;
	for (i = 0; i < db_rows(&s->part[l->part]); i++) {
		val = status_text(s, l->part, i, l->column);
		label = status_text(s, l->part, i, l->from);
		if (buf_adds(b, l->metric) == -1 ||
		    add_label(b, '{', l->label, label) == -1 ||
		    buf_addf(b, "} %s\n", val == NULL ? "0" : val) == -1)
			return -1;
	}
	return 0;
}

/* One without labels is there from the start, at 0. */
static int
add_counter(const struct status *s, const struct counter *c, struct buf *b)
{
	const enum status_part	 p = STATUS_COUNTERS;
	int			 i, n = 0, many = c->label != NULL &&
				    c->outcome != NULL;

	if (head(b, c->metric, "counter", c->help) == -1)
		return -1;
	if (c->label == NULL && c->outcome == NULL)
		return buf_addf(b, "%s %" PRId64 "\n", c->metric,
		    count(s, c->name, NULL));
	for (i = 0; i < db_rows(&s->part[p]); i++) {
		if (strcmp(status_text(s, p, i, "name"), c->name) != 0)
			continue;
		n++;
		if (buf_adds(b, c->metric) == -1 || (c->label != NULL &&
		    add_label(b, '{', c->label, status_text(s, p, i,
		    "label")) == -1) || (c->outcome != NULL &&
		    add_label(b, many ? ',' : '{', c->outcome, status_text(s,
		    p, i, "outcome")) == -1) || buf_addf(b, "} %s\n",
		    status_text(s, p, i, "value")) == -1)
			return -1;
	}
	return 0;
}

/* A counter's sum, of one outcome or of all. */
static int64_t
count(const struct status *s, const char *name, const char *outcome)
{
	const enum status_part	 p = STATUS_COUNTERS;
	int64_t			 n = 0;
	int			 i;

	for (i = 0; i < db_rows(&s->part[p]); i++)
		if (strcmp(status_text(s, p, i, "name"), name) == 0 &&
		    (outcome == NULL || strcmp(status_text(s, p, i,
		    "outcome"), outcome) == 0))
			n += status_int(s, p, i, "value");
	return n;
}

static int
add_fanout(const struct status *s, struct buf *b)
{
	static const char	 metric[] = "hook_fanout_lag_seconds";

	return head(b, metric, "summary",
	    "From the outbox row to its deliveries.") == -1 ? -1 :
	    buf_addf(b, "%s_sum %.3f\n%s_count %" PRId64 "\n", metric,
	    (double)count(s, "fanout_ms_sum", NULL) / 1000, metric,
	    count(s, "events_fanned_out", NULL));
}

static int
add_histogram(const struct status *s, struct buf *b)
{
	static const struct {
		const char	*ms, *le;
	} bucket[] = {
		{ "5", "0.005" }, { "10", "0.01" }, { "25", "0.025" },
		{ "50", "0.05" }, { "100", "0.1" }, { "250", "0.25" },
		{ "500", "0.5" }, { "1000", "1" }, { "2500", "2.5" },
		{ "5000", "5" }, { "10000", "10" }, { "30000", "30" },
		{ "more", "+Inf" },
	};
	static const char	 metric[] = "hook_attempt_duration_seconds";
	int64_t			 n = 0;
	size_t			 i;

	if (head(b, metric, "histogram",
	    "From the start of a request to its end.") == -1)
		return -1;
	for (i = 0; i < sizeof(bucket) / sizeof(*bucket); i++) {
		n += count(s, "attempt_ms", bucket[i].ms);
		if (buf_addf(b, "%s_bucket{le=\"%s\"} %" PRId64 "\n", metric,
		    bucket[i].le, n) == -1)
			return -1;
	}
	return buf_addf(b, "%s_sum %.3f\n%s_count %" PRId64 "\n", metric,
	    (double)count(s, "attempt_ms_sum", NULL) / 1000, metric, n);
}

/* Begun with { or a comma. */
static int
add_label(struct buf *b, char begin, const char *name, const char *val)
{
	const char	*p;
	int		 rc;

	if (buf_addf(b, "%c%s=\"", begin, name) == -1)
		return -1;
	for (p = val == NULL ? "" : val; *p != '\0'; p++) {
		rc = *p == '\n' ? buf_adds(b, "\\n") :
		    *p == '"' || *p == '\\' ? buf_addf(b, "\\%c", *p) :
		    buf_add(b, p, 1);
		if (rc == -1)
			return -1;
	}
	return buf_adds(b, "\"");
}
