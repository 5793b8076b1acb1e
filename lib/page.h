/*
 * page.h - the dead-letter queue, a page at a time: a keyset instead of a
 * cursor, so that no snapshot is kept while somebody reads on.
 */
#ifndef PAGE_H
#define PAGE_H

#include "db.h"
#include "dlq.h"
#include "select.h"

#define PAGE_ROWS	1000

struct page {
	int		 messages;	/* of the inbox, or deliveries */
	char		 at[64], id[24]; /* after these */
	struct dlq_days	 days;		/* "": not known yet */
};

void	 page_first(struct page *, int messages);

/*
 * Read the next page: db's last result.  Returns how many rows; less than
 * PAGE_ROWS: it is the last.
 */
int	 page_next(struct page *, struct db *, const struct select *)
	    DB_CHECKED;

#endif /* PAGE_H */
