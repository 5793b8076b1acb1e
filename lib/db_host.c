#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libpq-fe.h>

#include "db_host.h"

static unsigned	 count(const char *);
static char	*rotated(const char *, unsigned);

int
db_hosts(struct db_hosts *h, PGconn *conn, unsigned turn)
{
	PQconninfoOption	*all, *o;
	const char		*host = "", *addr = "", *port = "";
	int			 rc = -1;

	memset(h, 0, sizeof(*h));
	if ((all = PQconninfo(conn)) == NULL)
		return -1;
	for (o = all; o->keyword != NULL; o++)
		if (o->val == NULL)
			continue;
		else if (strcmp(o->keyword, "host") == 0)
			host = o->val;
		else if (strcmp(o->keyword, "hostaddr") == 0)
			addr = o->val;
		else if (strcmp(o->keyword, "port") == 0)
			port = o->val;
		else if (strcmp(o->keyword, "connect_timeout") == 0)
			h->timeout_s = (int)strtol(o->val, NULL, 10);
	h->n = count(*addr != '\0' ? addr : host);
	turn %= h->n;
	if ((*host == '\0' || (h->host = rotated(host, turn)) != NULL) &&
	    (*addr == '\0' || (h->hostaddr = rotated(addr, turn)) != NULL) &&
	    (*port == '\0' || (h->port = rotated(port, turn)) != NULL))
		rc = 0;
	PQconninfoFree(all);
	return rc;
}

void
db_hosts_free(struct db_hosts *h)
{
	free(h->host);
	free(h->hostaddr);
	free(h->port);
}

static unsigned
count(const char *list)
{
	unsigned	 n = 1;

	for (; *list != '\0'; list++)
		n += *list == ',';
	return n;
}

/* One port for all hosts stays as it is. */
static char *
rotated(const char *list, unsigned turn)
{
	const char	*p = list;
	char		*out;

	if (count(list) == 1 || turn == 0)
		return strdup(list);
	while (turn-- > 0)
		p = strchr(p, ',') + 1;
	return asprintf(&out, "%s,%.*s", p, (int)(p - list - 1), list) == -1 ?
	    NULL : out;
}
