/*
 * db_listen.c - notifications.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include <libpq-fe.h>

#include "db_async.h"
#include "db_int.h"

int
db_listen(struct db *db, const char *follower)
{
	char	 sql[128], *channel;
	PGresult *r;
	int	 rc;
	const char *val[] = { follower };

	r = db_await(db, PQsendQueryParams(db->conn,
	    "select webhook_channel($1)", 1, NULL, val, NULL, NULL, 0));
	if (db_keep(db, r) == -1)
		return -1;
	channel = PQescapeIdentifier(db->conn, db_col(db, 0, 0),
	    db_len(db, 0, 0));
	if (channel == NULL)
		return db_failed_conn(db);
	rc = snprintf(sql, sizeof(sql), "listen %s", channel);
	PQfreemem(channel);
	if (rc < 0 || (size_t)rc >= sizeof(sql))
		return db_fail(db, EX_SOFTWARE, "channel name too long");
	return db_exec(db, sql);
}

int
db_notified(struct db *db)
{
	PGnotify	*n;
	int		 some = 0;

	if (db->conn == NULL || db->connecting)
		return 0;
	while ((n = PQnotifies(db->conn)) != NULL) {
		if (some < 2)
			some = *n->extra != '\0' ? 2 : 1;
		PQfreemem(n);
	}
	return some;
}

int
db_wait(struct db *db, int timeout_ms)
{
	struct pollfd	 pfd = { .fd = db_socket(db), .events = POLLIN };

	if (db_notified(db))
		return 1;
	switch (poll(&pfd, 1, timeout_ms)) {
	case -1:
		return errno == EINTR ? 0 : db_fail(db, EX_TEMPFAIL, "poll: %s",
		    strerror(errno));
	case 0:
		return 0;
	}
	if (PQconsumeInput(db->conn) == 0)
		return db_failed_conn(db);
	return db_notified(db);
}
