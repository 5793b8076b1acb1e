#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "handler.h"

#define KILL_AFTER_MS	2000
#define STEP_MAX	(64 * 1024)	/* bytes of stderr read in one step */
#define PATH_DEFAULT	"/usr/local/bin:/usr/bin:/bin"

/* What the child needs to know; it must not allocate. */
struct job {
	struct handler	*h;
	const char	*path;
	char *const	*argv, *const *env;
	int		 in, out, err;		/* out -1: ours */
	pid_t		 parent;
	const struct guard *guard;
	int64_t		 lease_ms;
};

static _Noreturn void	 child(const struct job *);
static void	 keep_tail(struct handler *, const char *, size_t);
static void	 pass_on(const char *, size_t);
static int	 runnable(const char *);
static void	 shut(int *);
static pid_t	 spawn(const struct job *);

static int			 ended[2] = { -1, -1 };
static volatile sig_atomic_t	 some_ended;

static void
on_child(int sig)
{
	int	 saved = errno;

	(void)sig;
	some_ended = 1;
	if (write(ended[1], "", 1) == -1)
		errno = saved;		/* full: it will be seen */
	errno = saved;
}

int
handler_signals(void)
{
	struct sigaction	 sa;

	if (pipe2(ended, O_CLOEXEC | O_NONBLOCK) == -1)
		return -1;
	memset(&sa, 0, sizeof(sa));
	sigemptyset(&sa.sa_mask);
	sa.sa_handler = on_child;
	sa.sa_flags = SA_NOCLDSTOP | SA_RESTART;
	sigaction(SIGCHLD, &sa, NULL);
	return ended[0];
}

int
handler_some_ended(void)
{
	char	 some[64];

	if (!some_ended)
		return 0;
	some_ended = 0;
	while (read(ended[0], some, sizeof(some)) == sizeof(some))
		;
	return 1;
}

char *
handler_find(const char *command)
{
	const char	*dir = getenv("PATH");
	char		*path;
	int		 saved = ENOENT;
	size_t		 len;

	if (strchr(command, '/') != NULL)
		return runnable(command) == -1 ? NULL : strdup(command);
	if (dir == NULL)
		dir = PATH_DEFAULT;
	for (;; dir += len + 1) {
		len = strcspn(dir, ":");
		if (asprintf(&path, "%.*s/%s", (int)(len == 0 ? 1 : len),
		    len == 0 ? "." : dir, command) == -1)
			return NULL;
		if (runnable(path) == 0)
			return path;
		if (errno != ENOENT && errno != ENOTDIR)
			saved = errno;
		free(path);
		if (dir[len] == '\0')
			break;
	}
	errno = saved;
	return NULL;
}

static int
runnable(const char *path)
{
	struct stat	 st;

	if (stat(path, &st) == -1)
		return -1;
	if (S_ISDIR(st.st_mode)) {
		errno = EISDIR;
		return -1;
	}
	return access(path, X_OK);
}

int
handler_start(struct handler *h, const char *path, char *const *argv,
    char *const *env, int in, size_t keep, int64_t until_ms,
    const struct guard *guard, int64_t lease_ms)
{
	struct job	 job = { h, path, argv, env, in, -1, -1, getpid(),
			    guard, lease_ms };
	int		 out[2] = { -1, -1 }, err[2] = { -1, -1 }, saved;

	memset(h, 0, sizeof(*h));
	h->out = h->err = -1;
	h->output.max = keep;
	h->until_ms = until_ms;
	h->kill_ms = INT64_MAX;
	if (pipe2(err, O_CLOEXEC) == 0 &&
	    (keep == 0 || pipe2(out, O_CLOEXEC) == 0) &&
	    fcntl(err[0], F_SETFL, O_NONBLOCK) != -1 &&
	    (keep == 0 || fcntl(out[0], F_SETFL, O_NONBLOCK) != -1)) {
		job.out = out[1];
		job.err = err[1];
		h->pid = spawn(&job);
	} else
		h->pid = -1;
	saved = errno;
	shut(&out[1]);
	shut(&err[1]);
	h->out = out[0];
	h->err = err[0];
	if (h->pid == -1) {
		h->pid = 0;
		handler_free(h);
		errno = saved;
		return -1;
	}
	return 0;
}

static pid_t
spawn(const struct job *job)
{
	sigset_t	 all, before;
	pid_t		 pid;
	int		 saved;

	/* No handler of ours may run in the child: it is in our memory. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	if ((pid = vfork()) == 0)
		child(job);
	saved = errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	errno = saved;
	return pid;
}

static _Noreturn void
child(const struct job *job)
{
	sigset_t	 empty;
	int		 sig, fd;

	setsid();
	guard_tell(job->guard, getpid(), job->lease_ms);
	/* A parent that died before the first of these is not its parent. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) == -1 ||
	    getppid() != job->parent ||
	    dup2(job->in, STDIN_FILENO) == -1 ||
	    (job->out != -1 && dup2(job->out, STDOUT_FILENO) == -1) ||
	    dup2(job->err, STDERR_FILENO) == -1)
		goto failed;
	if (close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) == -1)
		for (fd = 3; fd < 65536; fd++)
			fcntl(fd, F_SETFD, FD_CLOEXEC);
	for (sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	sigemptyset(&empty);
	sigprocmask(SIG_SETMASK, &empty, NULL);
	execve(job->path, job->argv, job->env);
failed:
	job->h->no_exec = errno == 0 ? EIO : errno;
	_exit(127);
}

void
handler_drain(struct handler *h)
{
	char	 some[16 * 1024];
	size_t	 seen = 0;
	ssize_t	 n;

	while (h->out != -1) {
		n = read(h->out, some, sizeof(some));
		if (n == 0)
			shut(&h->out);
		else if (n > 0 && buf_add(&h->output, some, (size_t)n) == -1) {
			h->too_long = 1;
			shut(&h->out);
			handler_kill(h);
		} else if (n == -1 && errno != EINTR)
			break;
	}
	while (h->err != -1 && seen < STEP_MAX) {
		n = read(h->err, some, 4096);
		if (n == 0)
			shut(&h->err);
		else if (n > 0) {
			seen += (size_t)n;
			keep_tail(h, some, (size_t)n);
			pass_on(some, (size_t)n);
		} else if (errno != EINTR)
			break;
	}
}

static void
keep_tail(struct handler *h, const char *s, size_t n)
{
	size_t	 keep;

	if (n > HANDLER_TAIL) {
		s += n - HANDLER_TAIL;
		n = HANDLER_TAIL;
	}
	if (h->tail_len + n > sizeof(h->tail)) {
		keep = HANDLER_TAIL < h->tail_len ? HANDLER_TAIL : h->tail_len;
		memmove(h->tail, h->tail + h->tail_len - keep, keep);
		h->tail_len = keep;
	}
	memcpy(h->tail + h->tail_len, s, n);
	h->tail_len += n;
}

/*
 * Its diagnostics are ours, too.  Where nobody takes them they are dropped:
 * other handlers do not wait for that.
 */
static void
pass_on(const char *s, size_t n)
{
	struct pollfd	 pfd = { .fd = STDERR_FILENO, .events = POLLOUT };

	if (poll(&pfd, 1, 0) == 1 && (pfd.revents & POLLOUT) != 0 &&
	    write(STDERR_FILENO, s, n) == -1)
		return;
}

int
handler_step(struct handler *h, const struct guard *guard, int look,
    int64_t now_ms)
{
	siginfo_t	 si;

	if (!h->overdue && now_ms >= h->until_ms) {
		h->overdue = 1;
		handler_stop(h, now_ms);
	}
	if (now_ms >= h->kill_ms) {
		h->kill_ms = INT64_MAX;
		handler_kill(h);
	}
	if (!look)
		return 0;
	memset(&si, 0, sizeof(si));
	if (waitid(P_PID, (id_t)h->pid, &si, WEXITED | WNOHANG | WNOWAIT) ==
	    -1 || si.si_pid != h->pid)
		return 0;

	/* While it is not reaped the group's number is nobody else's. */
	kill(-h->pid, SIGKILL);
	guard_tell(guard, h->pid, 0);
	while (waitpid(h->pid, &h->status, 0) == -1 && errno == EINTR)
		;
	handler_drain(h);
	h->pid = 0;
	shut(&h->out);
	shut(&h->err);
	return 1;
}

void
handler_stop(struct handler *h, int64_t now_ms)
{
	if (h->pid == 0)
		return;
	kill(-h->pid, SIGTERM);
	kill(-h->pid, SIGCONT);
	if (h->kill_ms > now_ms + KILL_AFTER_MS)
		h->kill_ms = now_ms + KILL_AFTER_MS;
}

void
handler_kill(struct handler *h)
{
	if (h->pid != 0)
		kill(-h->pid, SIGKILL);
}

size_t
handler_tail(const struct handler *h, const unsigned char **s)
{
	size_t	 n = h->tail_len < HANDLER_TAIL ? h->tail_len : HANDLER_TAIL;

	*s = h->tail + h->tail_len - n;
	return n;
}

void
handler_free(struct handler *h)
{
	shut(&h->out);
	shut(&h->err);
	buf_free(&h->output);
}

static void
shut(int *fd)
{
	if (*fd != -1)
		close(*fd);
	*fd = -1;
}
