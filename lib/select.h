/*
 * select.h - which deliveries or events: the filter options that hook-dlq and
 * hook-replay share.
 *
 * Ownership: a struct select points at the caller's strings and owns what
 * select_free() frees.
 * Errors: -1 with one line in why.
 */
#ifndef SELECT_H
#define SELECT_H

#include "db.h"

/* Its options without a letter; a tool's own come after them. */
enum { SELECT_SINCE = 1, SELECT_STATE, SELECT_UNTIL, SELECT_END };

/* Long options of these, for a tool's table. */
#define SELECT_TIMES							\
	{ "since", required_argument, NULL, SELECT_SINCE },		\
	{ "until", required_argument, NULL, SELECT_UNTIL }

struct select {
	const char	*subscription;	/* each NULL: any */
	const char	*tenant;
	const char	*type;		/* exactly */
	char		*prefix;	/* "payment." of payment.* */
	const char	*event;
	char		*states;	/* an SQL array */
	int		 over;		/* ... of delivered or discarded, too */
	const char	*since_arg, *until_arg;
	char		 since[64];	/* resolved; see select_times() */
	char		 until[64];
	char		 why[600];
};

/*
 * One option: -T tenant, -e event id, -s subscription, -t type (exact, or
 * payment.*, or * for every type), --since, --until, --state.  1: taken; 0:
 * not one of these; -1: its argument is wrong, in why with the option.
 */
int	 select_option(struct select *, int ch, const char *arg) DB_CHECKED;

/*
 * Let the server read --since and --until, once, so that "now" or "today" do
 * not move while a list is paged.  -1: db_exitcode() is EX_DATAERR where it
 * can't read one of them.
 */
int	 select_times(struct select *, struct db *) DB_CHECKED;

/* What it read, or NULL. */
const char *select_since(const struct select *);
const char *select_until(const struct select *);

void	 select_free(struct select *);

#endif /* SELECT_H */
