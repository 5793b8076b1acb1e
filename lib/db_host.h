/*
 * db_host.h - which of several hosts is asked first.
 *
 * libpq goes on to the next host of a list when one refuses, but leaves it to
 * the caller of PQconnectPoll() when one is mute (its machine has no power);
 * and it can't be told to.  So the next try begins with the next host.
 */
#ifndef DB_HOST_H
#define DB_HOST_H

struct pg_conn;

struct db_hosts {
	unsigned	 n;		/* how many there are */
	int		 timeout_s;	/* connect_timeout; 0: none is given */
	char		*host;		/* or NULL, likewise: rotated lists */
	char		*hostaddr;
	char		*port;
};

/*
 * The hosts that a connection was begun with, rotated so that the turn-th is
 * the first.  -1: out of memory.  What was kept is freed by db_hosts_free().
 */
int	 db_hosts(struct db_hosts *, struct pg_conn *, unsigned turn);
void	 db_hosts_free(struct db_hosts *);

#endif /* DB_HOST_H */
