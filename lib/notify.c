#include <sys/socket.h>
#include <sys/un.h>

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "notify.h"
#include "opt.h"

#define AGAIN_MS	100	/* where the listener had no room */
#define LINE_MAX_BYTES	512

static int	 listener(const char *);
static int	 tell(const char *);
static void	 watchdog(const char *, const char *);

int64_t			 notify_due_ms = INT64_MAX;	/* the next beat */
static int		 fd = -1;
static struct sockaddr_un addr;
static socklen_t	 addr_len;
static int64_t		 every_ms;	/* between beats; 0: none wanted */
static int		 ready, stopping;

void
notify_init(void)
{
	const char	*to = getenv("NOTIFY_SOCKET");

	if (to != NULL && listener(to) == 0)
		watchdog(getenv("WATCHDOG_USEC"), getenv("WATCHDOG_PID"));
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
}

/* A path, or with @ before it a name without a file. */
static int
listener(const char *to)
{
	size_t	 len = strlen(to);

	if ((*to != '/' && *to != '@') || len < 2 ||
	    len >= sizeof(addr.sun_path))
		return -1;
	addr.sun_family = AF_UNIX;
	memcpy(addr.sun_path, to, len + 1);
	addr_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
	if (*to == '@')
		addr.sun_path[0] = '\0';
	else
		addr_len++;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return fd == -1 ? -1 : 0;
}

/* We speak up twice in the time that we are given, as is advised. */
static void
watchdog(const char *usec, const char *pid)
{
	const char	*why;
	int64_t		 n;

	if (usec == NULL || (pid != NULL &&
	    (opt_int(pid, 1, INT32_MAX, &n, &why) == -1 || n != getpid())))
		return;
	if (opt_int(usec, 2000, INT64_MAX / 2, &n, &why) == -1)
		return;
	every_ms = n / 2000;
	notify_due_ms = 0;
}

/* 0: heard, or nobody is there to hear; -1: to be said again. */
static int
tell(const char *line)
{
	if (fd == -1 || sendto(fd, line, strlen(line), MSG_NOSIGNAL,
	    (struct sockaddr *)&addr, addr_len) != -1)
		return 0;
	return errno == EAGAIN || errno == ENOBUFS ? -1 : 0;
}

void
notify_ready(const char *status)
{
	char	 line[LINE_MAX_BYTES];

	if (ready)
		return;
	snprintf(line, sizeof(line), "READY=1\nSTATUS=%s", status);
	ready = tell(line) == 0;
}

void
notify_status(const char *what, const char *why)
{
	char	 line[LINE_MAX_BYTES];

	snprintf(line, sizeof(line), "STATUS=%s%s%s", what,
	    why == NULL ? "" : ": ", why == NULL ? "" : why);
	line[strcspn(line, "\n")] = '\0';
	(void)tell(line);
}

void
notify_reload(int under_way)
{
	if (ready && under_way)
		(void)tell("RELOADING=1");
	else if (ready)
		ready = tell("READY=1") == 0;
}

void
notify_stopping(void)
{
	if (!stopping)
		stopping = tell("STOPPING=1\nSTATUS=stopping") == 0;
}

/*
 * Before it is ready a follower is not watched, but has a time to start up
 * in; a database that is away makes that as long as it takes.
 */
void
notify_beat(int64_t now_ms)
{
	char	 line[64];
	int	 rc;

	snprintf(line, sizeof(line), "WATCHDOG=1");
	if (!ready)
		snprintf(line, sizeof(line), "EXTEND_TIMEOUT_USEC=%" PRId64,
		    every_ms * 2000);
	rc = tell(line);
	notify_due_ms = now_ms + (rc == 0 ? every_ms : AGAIN_MS);
}

int
notify_wait(int64_t ms, int64_t now_ms)
{
	if (ms > notify_due_ms - now_ms)
		ms = notify_due_ms - now_ms;
	return ms < 0 ? 0 : ms > INT32_MAX ? INT32_MAX : (int)ms;
}
