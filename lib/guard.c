#include <sys/prctl.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "follow.h"
#include "guard.h"

/* What goes through the pipe: less than PIPE_BUF, so never in parts. */
struct told {
	pid_t	 pid;
	int64_t	 until_ms;
};

static _Noreturn void	 watch(int);
static void	 note(struct told *, size_t *, const struct told *);
static void	 overdue(struct told *, size_t *, int64_t);

int
guard_start(struct guard *g)
{
	int	 p[2];

	if (pipe2(p, O_CLOEXEC | O_NONBLOCK) == -1)
		return -1;
	switch (g->pid = fork()) {
	case -1:
		close(p[0]);
		close(p[1]);
		g->pid = 0;
		return -1;
	case 0:
		watch(p[0]);
	}
	close(p[0]);
	g->fd = p[1];
	return 0;
}

void
guard_tell(const struct guard *g, pid_t pid, int64_t until_ms)
{
	struct told	 t = { pid, until_ms };
	ssize_t		 n;

	/* If that fails it died, and guard_died() will say so. */
	do
		n = write(g->fd, &t, sizeof(t));
	while (n == -1 && errno == EINTR);
}

int
guard_died(struct guard *g)
{
	if (g->pid == 0 || waitpid(g->pid, NULL, WNOHANG) != g->pid)
		return 0;
	close(g->fd);
	g->pid = 0;
	return 1;
}

void
guard_stop(struct guard *g)
{
	if (g->pid == 0)
		return;
	close(g->fd);
	while (waitpid(g->pid, NULL, 0) == -1 && errno == EINTR)
		;
	g->pid = 0;
}

/*
 * It has a session of its own and is deaf to what ends its parent, which a
 * terminal or a service manager may send to both.
 */
static _Noreturn void
watch(int fd)
{
	static struct told	 all[GUARD_MAX];
	struct pollfd		 pfd = { .fd = 3, .events = POLLIN };
	struct told		 t;
	size_t			 n = 0, i;
	int64_t			 now_ms, ms;
	ssize_t			 got;
	int			 sig;

	setsid();
	prctl(PR_SET_NAME, "hook-guard", 0, 0, 0);
	for (sig = 1; sig < NSIG; sig++)
		signal(sig, sig == SIGCHLD || sig == SIGABRT ? SIG_DFL :
		    SIG_IGN);
	if (chdir("/") == -1 || (fd != 3 && dup2(fd, 3) == -1))
		_exit(1);
	for (i = 0; i < 3; i++)
		close((int)i);
	if (close_range(4, ~0U, 0) == -1)
		for (i = 4; i < 65536; i++)
			close((int)i);
	for (;;) {
		/* All that was said comes before all that is overdue. */
		while ((got = read(3, &t, sizeof(t))) == sizeof(t))
			note(all, &n, &t);
		if (got == 0)
			break;
		now_ms = follow_now_ms();
		overdue(all, &n, now_ms);
		for (ms = 3600000, i = 0; i < n; i++)
			if (all[i].until_ms - now_ms < ms)
				ms = all[i].until_ms - now_ms;
		poll(&pfd, 1, (int)ms);
	}
	for (i = 0; i < n; i++)
		kill(-all[i].pid, SIGKILL);
	_exit(0);
}

static void
note(struct told *all, size_t *n, const struct told *t)
{
	size_t	 i;

	for (i = 0; i < *n && all[i].pid != t->pid; i++)
		;
	if (t->until_ms == 0) {
		if (i < *n)
			all[i] = all[--*n];
	} else if (i < GUARD_MAX) {
		all[i] = *t;
		if (i == *n)
			++*n;
	}
}

static void
overdue(struct told *all, size_t *n, int64_t now_ms)
{
	size_t	 i = 0;

	while (i < *n)
		if (all[i].until_ms <= now_ms) {
			kill(-all[i].pid, SIGKILL);
			all[i] = all[--*n];
		} else
			i++;
}
