#include <sys/socket.h>

#include <netinet/in.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "listen.h"
#include "opt.h"

#define BACKLOG		1024
#define PASSED_MAX	64

static int	 fail(const char **, const char *);
static int	 open_one(const struct addrinfo *, const char **);
static int	 split(const char *, char *, size_t, const char **);

int
listen_on(const char *s, const char **why)
{
	struct addrinfo	 hints = { 0 }, *ai;
	const char	*port;
	char		 host[64];
	int		 fd;

	if (split(s, host, sizeof(host), &port) == -1)
		return fail(why, "not address:port");
	hints.ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV;
	hints.ai_socktype = SOCK_STREAM;
	if (getaddrinfo(strcmp(host, "*") == 0 ? NULL : host, port, &hints,
	    &ai) != 0)
		return fail(why, "not an address of numbers");
	fd = open_one(ai, why);
	freeaddrinfo(ai);
	return fd;
}

static int
split(const char *s, char *host, size_t max, const char **port)
{
	const char	*colon = strrchr(s, ':'), *why;
	size_t		 len;
	int64_t		 n;

	if (colon == NULL || opt_int(colon + 1, 0, 65535, &n, &why) == -1)
		return -1;
	*port = colon + 1;
	len = (size_t)(colon - s);
	if (len >= 2 && s[0] == '[' && s[len - 1] == ']') {
		s++;
		len -= 2;
	} else if (memchr(s, ':', len) != NULL)
		return -1;
	if (len == 0 || len >= max)
		return -1;
	memcpy(host, s, len);
	host[len] = '\0';
	return 0;
}

static int
open_one(const struct addrinfo *ai, const char **why)
{
	int	 fd, on = 1;

	fd = socket(ai->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
	    0);
	if (fd == -1)
		return fail(why, strerror(errno));
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, ai->ai_addr, ai->ai_addrlen) == -1 ||
	    listen(fd, BACKLOG) == -1) {
		fail(why, strerror(errno));
		close(fd);
		return -1;
	}
	return fd;
}

int
listen_passed(const char **why)
{
	const char	*pid = getenv("LISTEN_PID");
	const char	*fds = getenv("LISTEN_FDS"), *bad;
	int64_t		 n;
	int		 fd, on, rc = 0;
	socklen_t	 len = sizeof(on);

	if (pid == NULL || fds == NULL)
		return 0;
	if (opt_int(pid, 1, INT32_MAX, &n, &bad) == -1 || n != getpid())
		goto out;	/* meant for another process */
	if (opt_int(fds, 0, PASSED_MAX, &n, &bad) == -1) {
		rc = fail(why, "LISTEN_FDS is malformed");
		goto out;
	}
	for (fd = LISTEN_FIRST; fd < LISTEN_FIRST + (int)n; fd++)
		if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &on, &len) ==
		    -1 || !on || fcntl(fd, F_SETFD, FD_CLOEXEC) == -1 ||
		    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) ==
		    -1) {
			rc = fail(why, "LISTEN_FDS: not a listening socket");
			goto out;
		}
	rc = (int)n;
out:
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	return rc;
}

void
listen_name(int fd, char text[80])
{
	struct sockaddr_storage	 ss;
	socklen_t		 len = sizeof(ss);
	char			 host[48], port[8];

	if (getsockname(fd, (struct sockaddr *)&ss, &len) == -1 ||
	    getnameinfo((struct sockaddr *)&ss, len, host, sizeof(host), port,
	    sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		snprintf(text, 80, "?");
	else
		snprintf(text, 80, strchr(host, ':') == NULL ? "%s:%s" :
		    "[%s]:%s", host, port);
}

static int
fail(const char **why, const char *what)
{
	*why = what;
	return -1;
}
