/*
 * listen.h - listening sockets: of an address, or passed by systemd.
 *
 * They do not block and are closed on exec.  Errors: -1 with *why, static.
 */
#ifndef LISTEN_H
#define LISTEN_H

/*
 * Listen on "address:port": IPv4, IPv6 in brackets, "*" for all; port 0 is a
 * free one.  The descriptor.
 */
int	 listen_on(const char *, const char **why);

/*
 * How many sockets systemd (or whoever speaks sd_listen_fds(3)'s protocol)
 * passed to this process, from descriptor 3 on; 0 none.  The variables are
 * taken out of the environment.
 */
int	 listen_passed(const char **why);
#define LISTEN_FIRST	3

/* Where it listens, as text: "127.0.0.1:8080". */
void	 listen_name(int fd, char text[80]);

#endif /* LISTEN_H */
