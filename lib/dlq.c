#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "db_int.h"
#include "dlq.h"
#include "stmt.h"

#define TRIES	5
#define PLACES	5	/* columns of dlq-find */

/*
 * Where it stands first, so that the server plans the rest for one partition
 * of each table, not for all.  It may move between the two.
 */
int
dlq_show(struct db *db, const char *id)
{
	char		*at[PLACES] = { NULL };
	const char	*s;
	int		 i, tries, n = 0;

	for (tries = 0; tries < TRIES && n == 0; tries++) {
		if ((n = db_run(db, &stmt_dlq_find, DB_ARGS(id))) <= 0)
			break;
		for (i = 0; i < PLACES; i++) {
			free(at[i]);
			s = db_col(db, 0, i);
			at[i] = s == NULL ? NULL : strdup(s);
			if (at[i] == NULL && s != NULL) {
				n = db_fail(db, EX_TEMPFAIL, "out of memory");
				goto out;
			}
		}
		n = db_run(db, &stmt_dlq_show, DB_ARGS(id, at[0], at[1], at[2],
		    at[3], at[4]));
	}
out:
	for (i = 0; i < PLACES; i++)
		free(at[i]);
	return n;
}
