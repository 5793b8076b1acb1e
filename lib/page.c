#include <stdlib.h>
#include <string.h>

#include "page.h"
#include "stmt.h"

#define ROWS		"1000"		/* PAGE_ROWS */
#define FINISHED_AT	11		/* column */

void
page_first(struct page *p, int messages)
{
	p->messages = messages;
	strlcpy(p->at, "-infinity", sizeof(p->at));
	strlcpy(p->id, "0", sizeof(p->id));
	*p->days.from = '\0';
}

int
page_next(struct page *p, struct db *db, const struct select *s)
{
	const char	*since = select_since(s), *until = select_until(s), *id;
	int		 n;

	if (p->messages)
		n = db_run(db, &stmt_dead_list, DB_ARGS(p->at, p->id, ROWS,
		    s->type, s->prefix, since, until));
	else if (*p->days.from == '\0' && dlq_days(db, DLQ_DEAD, since, until,
	    &p->days) == -1)
		n = -1;
	else
		n = db_run(db, &stmt_dlq_list, DB_ARGS(p->at, p->id, ROWS,
		    s->subscription, s->tenant, s->type, s->prefix,
		    p->days.from, p->days.until));
	if (n <= 0)
		return n;
	id = db_col(db, n - 1, 0);
	if (strlcpy(p->id, id + (*id == 'm'), sizeof(p->id)) >=
	    sizeof(p->id) || strlcpy(p->at, db_col(db, n - 1, FINISHED_AT),
	    sizeof(p->at)) >= sizeof(p->at))
		abort();
	/* The days before are done with. */
	strlcpy(p->days.from, p->at, sizeof(p->days.from));
	return n;
}
