/*
 * One screen: what is not well first, then how much there is of everything,
 * then who.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "out.h"
#include "status.h"

static void	 totals(const struct status *, FILE *);

static const char *
age(const struct status *s, const char *column, char text[32])
{
	if (status_text(s, STATUS_FACTS, 0, column) == NULL)
		return "-";
	return status_age(status_fact(s, column), text);
}

int
status_table(const struct status *s, FILE *f)
{
	static const enum status_part list[] = { STATUS_RATES, STATUS_SUBS,
	    STATUS_SOURCES, STATUS_WORKERS, STATUS_TABLES };
	size_t	 i;
	int	 n;

	fprintf(f, "%.19sZ  %s\n", status_text(s, STATUS_LOOK, 0, "at"),
	    s->nproblem == 0 ? "all is well" : "not well:");
	for (n = 0; n < s->nproblem; n++)
		fprintf(f, "  %s\n      %s\n", s->problem[n].what,
		    s->problem[n].todo);
	totals(s, f);
	for (i = 0; i < sizeof(list) / sizeof(*list); i++) {
		if (!(s->read & STATUS_PART(list[i])) ||
		    db_rows(&s->part[list[i]]) == 0)
			continue;
		if (putc('\n', f) == EOF ||
		    out_table(f, &s->part[list[i]]) == -1)
			return -1;
	}
	return ferror(f) ? -1 : 0;
}

static void
totals(const struct status *s, FILE *f)
{
	const char	*about = status_fact(s, "deliveries_estimated") ?
			    "about " : "";
	const char	*kind = status_text(s, STATUS_FACTS, 0,
			    "snapshot_kind");
	char		 a[32];
	int64_t		 n;

	n = status_fact(s, "outbox_waiting");
	fprintf(f, "\nevents        %" PRId64 "%s waiting, oldest %s\n", n,
	    n > 10000 ? " or more" : "", age(s, "outbox_oldest_s", a));
	fprintf(f, "deliveries    %s%" PRId64 " pending: %" PRId64 " due"
	    " (oldest %s), ", about, status_fact(s, "deliveries_pending"),
	    status_fact(s, "deliveries_due"),
	    age(s, "deliveries_due_oldest_s", a));
	fprintf(f, "%" PRId64 " held, %" PRId64 " later; %" PRId64
	    " in flight\n", status_fact(s, "deliveries_held"),
	    status_fact(s, "deliveries_scheduled"),
	    status_fact(s, "deliveries_in_flight"));
	fprintf(f, "dead letters  %" PRId64 " deliveries, oldest %s; %" PRId64
	    " messages\n", status_fact(s, "dead_deliveries"),
	    age(s, "dead_deliveries_oldest_s", a),
	    status_fact(s, "dead_messages"));
	fprintf(f, "subscribers   %" PRId64 " active (%" PRId64 " failing, %"
	    PRId64 " breakers open), %" PRId64 " paused, %" PRId64
	    " disabled\n", status_fact(s, "subscriptions_active"),
	    status_fact(s, "subscriptions_failing"),
	    status_fact(s, "breakers_open"),
	    status_fact(s, "subscriptions_paused"),
	    status_fact(s, "subscriptions_disabled"));
	fprintf(f, "workers       %" PRId64 " hook-fanout, %" PRId64
	    " hook-deliver with %" PRId64 " lanes, %" PRId64
	    " hook-consume\n", status_fact(s, "workers_fanout"),
	    status_fact(s, "workers_deliver"), status_fact(s, "lanes_owned"),
	    status_fact(s, "workers_consume"));
	fprintf(f, "server        clock %+" PRId64 " ms, NOTIFY queue %.0f %%,"
	    " partitions for %s\n", -s->skew_ms, strtod(status_text(s,
	    STATUS_FACTS, 0, "notify_usage"), NULL) * 100,
	    age(s, "partitions_ahead_s", a));
	if (*status_text(s, STATUS_FACTS, 0, "snapshot_blind") == 't')
		fprintf(f, "snapshot      not told: webhook_snapshot()'s owner"
		    " lacks pg_read_all_stats\n");
	else
		fprintf(f, "snapshot      oldest %s%s%s\n", kind == NULL ? "-"
		    : status_age(status_fact(s, "snapshot_s"), a),
		    kind == NULL ? "" : ", ", kind == NULL ? "" : kind);
}
