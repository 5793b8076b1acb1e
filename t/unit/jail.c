/* jail: a shell in it can compute, and nothing else. */
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "jail.h"
#include "tap.h"

#define MEMORY	(64 << 20)	/* bytes */

static char	 said[4096];
static int	 how;

/* Run a shell script in the jail; leaves what it said, and how it ended. */
static const char *
run(const char *script)
{
	char		*argv[] = { (char[]){ "sh" }, (char[]){ "-c" },
			    (char *)(uintptr_t)script, NULL };
	struct pollfd	 pfd;
	ssize_t		 n;
	size_t		 len = 0;
	pid_t		 pid;
	int		 fd[3];

	if ((pid = jail_start("/bin/sh", argv, 1, MEMORY, fd)) == -1)
		return NULL;
	close(fd[0]);
	pfd.fd = fd[1];
	pfd.events = POLLIN;
	while (poll(&pfd, 1, 10000) == 1 && (n = read(fd[1], said + len,
	    sizeof(said) - 1 - len)) > 0)
		len += (size_t)n;
	said[len] = '\0';
	if (len > 0 && said[len - 1] == '\n')
		said[len - 1] = '\0';
	close(fd[1]);
	close(fd[2]);
	while (waitpid(pid, &how, 0) == -1 && errno == EINTR)
		;
	return said;
}

static int
exited(int status)
{
	return WIFEXITED(how) && WEXITSTATUS(how) == status;
}

/* Landlock's version, 0 where the kernel has none. */
static int
has_landlock(void)
{
	/* landlock_create_ruleset(2), asked for its version */
	return syscall(444, NULL, 0, 1) > 0;
}

int
main(void)
{
	char		 path[] = "/tmp/hook-jail.XXXXXX", script[256];
	char		*none[] = { (char[]){ "x" }, NULL };
	struct stat	 st;
	int		 fd[3], file, i;
	pid_t		 pid;

	if ((file = mkstemp(path)) == -1 || write(file, "secret\n", 7) != 7)
		return 1;
	/* Not close-on-exec, as somebody else's library may leave them. */
	for (i = 0; i < 3; i++)
		if (fcntl(file, F_DUPFD, 10) == -1)
			return 1;
	setenv("SECRET", "1", 1);

	is(run("echo $((6 * 7))"), "42", "it computes");
	is(run("cat"), "", "its input ends");
	is(run("exit 3"), "", "a status");
	ok(exited(3), "comes through");
	is(run("/usr/bin/env | grep -c SECRET"), "0",
	    "the environment is empty");
	is(run("pwd"), "/", "it starts in /");
	is(run("for i in 3 4 5 6 7 8 9 10 11 12 13 14 15; do"
	    " (eval \": <&$i\") && echo $i; done; :"), "",
	    "no descriptor of ours is open");

	snprintf(script, sizeof(script), "echo x >>%s; : >/tmp/x.$$", path);
	run(script);
	ok(!exited(0) && stat(path, &st) == 0 && st.st_size == 7,
	    "it writes no file");
	if (has_landlock()) {
		snprintf(script, sizeof(script), "read x <%s; echo $x", path);
		is(run(script), "", "it reads none of ours");
		is(run("read x </etc/passwd; echo $x"), "", "nor the system's");
		is(run("ls /etc | head -n 1"), "", "nor lists any");
		is(run("ls /usr | grep -x bin"), "bin",
		    "but what programs are made of");
	} else {
		printf("# this kernel has no Landlock\n");
	}

	run("while :; do :; done");
	ok(WIFSIGNALED(how) && WTERMSIG(how) == SIGXCPU, "CPU time is bounded");
	run("x=x; while :; do x=$x$x; done");
	ok(!exited(0) && !(WIFSIGNALED(how) && WTERMSIG(how) == SIGXCPU),
	    "so is memory");
	is(run("kill -PIPE $$; echo deaf"), "", "signals have their defaults");

	pid = jail_start("/nowhere/program", none, 1, MEMORY, fd);
	how = pid == -1 ? 0 : jail_end(pid);
	ok(pid == -1 || !exited(0), "a program that is not there fails");
	if (pid != -1)
		for (i = 0; i < 3; i++)
			close(fd[i]);
	unlink(path);
	return done_testing();
}
