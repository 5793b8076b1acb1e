#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#if __has_include(<linux/landlock.h>)
#include <linux/landlock.h>
#endif

#include "jail.h"

#define FILES_MAX	16	/* descriptors */

/* What the child needs to know; it must not allocate. */
struct job {
	const char	*path;
	char *const	*argv;
	int		 fd[3];		/* its stdin, stdout, stderr */
	int		 ruleset;	/* Landlock, or -1 */
	pid_t		 parent;
	struct rlimit	 cpu, memory;
};

static int	 above(int *);
static _Noreturn void	 child(const struct job *);
static int	 landlock(const char *);
static int	 own_end(int *);
static int	 pipes(int [3], int [3]);
static void	 shut(int *);
static pid_t	 spawn(const struct job *);

pid_t
jail_start(const char *path, char *const argv[], unsigned int cpu_s,
    size_t memory, int fd[3])
{
	struct job	 job = {
		.path = path,
		.argv = argv,
		.fd = { -1, -1, -1 },
		.ruleset = landlock(path),
		.parent = getpid(),
		.cpu = { cpu_s, cpu_s + 1 },
		.memory = { memory, memory }
	};
	pid_t		 pid = -1;
	int		 i, saved;

	fd[0] = fd[1] = fd[2] = -1;
	if (pipes(fd, job.fd) == 0)
		pid = spawn(&job);
	saved = errno;
	for (i = 0; i < 3; i++) {
		shut(&job.fd[i]);
		if (pid == -1)
			shut(&fd[i]);
	}
	errno = saved;
	return pid;
}

int
jail_end(pid_t pid)
{
	/* Where SIGCHLD is ignored nobody can say how it ended. */
	int	 how = JAIL_NO_EXEC << 8;

	kill(-pid, SIGKILL);
	while (waitpid(pid, &how, 0) == -1)
		if (errno != EINTR)
			break;
	return how;
}

static int
pipes(int ours[3], int its[3])
{
	int	 i, p[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p) == -1)
		return -1;
	ours[0] = p[0];
	its[0] = p[1];
	for (i = 1; i < 3; i++) {
		if (pipe2(p, O_CLOEXEC) == -1)
			return -1;
		ours[i] = p[0];
		its[i] = p[1];
	}
	for (i = 0; i < 3; i++)
		if (own_end(&ours[i]) == -1 || above(&its[i]) == -1)
			return -1;
	return 0;
}

static int
own_end(int *fd)
{
	return above(fd) == -1 ? -1 : fcntl(*fd, F_SETFL, O_NONBLOCK);
}

/* Out of the way of the child's 0, 1 and 2, if ours were closed. */
static int
above(int *fd)
{
	int	 up;

	if (*fd > STDERR_FILENO)
		return 0;
	if ((up = fcntl(*fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)) == -1)
		return -1;
	close(*fd);
	*fd = up;
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
	static const struct {
		int		 what;
		struct rlimit	 limit;
	} bound[] = {
		{ RLIMIT_FSIZE, { 0, 0 } },
		{ RLIMIT_CORE, { 0, 0 } },
		{ RLIMIT_NOFILE, { FILES_MAX, FILES_MAX } },
	};
	static char	*const none[] = { NULL };
	sigset_t	 empty;
	size_t		 i;
	int		 fd;

	setsid();
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) == -1 ||
	    getppid() != job->parent || chdir("/") == -1)
		_exit(JAIL_NO_EXEC);
	for (fd = 0; fd < 3; fd++)
		if (dup2(job->fd[fd], fd) == -1)
			_exit(JAIL_NO_EXEC);
#ifdef SYS_landlock_restrict_self
	if (job->ruleset != -1 && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ==
	    -1 || syscall(SYS_landlock_restrict_self, job->ruleset, 0) == -1))
		_exit(JAIL_NO_EXEC);
#endif
	if (close_range(3, ~0U, 0) == -1)
		for (fd = 3; fd < 65536; fd++)
			close(fd);
	/* These only fail where a stricter one is in force. */
	setrlimit(RLIMIT_CPU, &job->cpu);
	setrlimit(RLIMIT_AS, &job->memory);
	for (i = 0; i < sizeof(bound) / sizeof(*bound); i++)
		setrlimit(bound[i].what, &bound[i].limit);
	for (fd = 1; fd < NSIG; fd++)
		signal(fd, SIG_DFL);
	sigemptyset(&empty);
	sigprocmask(SIG_SETMASK, &empty, NULL);
	execve(job->path, job->argv, none);
	_exit(JAIL_NO_EXEC);
}

/*
 * What the child may open: libraries and the program, to read and execute.
 * Made once, for one program; -1 where the kernel has no Landlock.
 */
static int
landlock(const char *program)
{
#ifdef SYS_landlock_create_ruleset
	static int	 ruleset = -2;
	const char	*const path[] = {
		"/usr", "/lib", "/lib64", "/etc/ld.so.cache", program
	};
	struct landlock_ruleset_attr all = {
		.handled_access_fs = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1
	};
	struct landlock_path_beneath_attr rule;
	struct stat	 st;
	size_t		 i;

	if (ruleset != -2)
		return ruleset;
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof(all),
	    0);
	for (i = 0; ruleset != -1 && i < sizeof(path) / sizeof(*path); i++) {
		rule.parent_fd = open(path[i], O_PATH | O_CLOEXEC);
		if (rule.parent_fd == -1)
			continue;
		rule.allowed_access = LANDLOCK_ACCESS_FS_EXECUTE |
		    LANDLOCK_ACCESS_FS_READ_FILE;
		if (fstat(rule.parent_fd, &st) == 0 && S_ISDIR(st.st_mode))
			rule.allowed_access |= LANDLOCK_ACCESS_FS_READ_DIR;
		syscall(SYS_landlock_add_rule, ruleset,
		    LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
		close(rule.parent_fd);
	}
	return ruleset;
#else
	(void)program;
	return -1;
#endif
}

static void
shut(int *fd)
{
	if (*fd != -1)
		close(*fd);
	*fd = -1;
}
