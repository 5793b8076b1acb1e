/*
 * clocked: run a command and write what it cost.
 *
 *	clocked FILE command [argument ...]
 *
 * FILE gets one line when it ends: seconds of wall clock, of user and of
 * system time, KiB of the largest resident set.  SIGTERM, SIGINT and SIGHUP
 * are handed on.  Exits as the command did.
 */
#include <sys/resource.h>
#include <sys/wait.h>

#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t	 child;

static void
hand_on(int sig)
{
	if (child > 0)
		kill(child, sig);
}

static double
now(void)
{
	struct timespec	 ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

int
main(int argc, char *argv[])
{
	struct sigaction sa = { .sa_handler = hand_on };
	struct rusage	 ru;
	double		 start = now();
	FILE		*f;
	pid_t		 pid;
	int		 status;

	if (argc < 3)
		errx(EX_USAGE, "usage: clocked file command [argument ...]");
	if ((f = fopen(argv[1], "we")) == NULL)
		err(EX_TEMPFAIL, "%s", argv[1]);
	if ((pid = fork()) == -1)
		err(EX_TEMPFAIL, "fork");
	if (pid == 0) {
		execvp(argv[2], argv + 2);
		err(EX_UNAVAILABLE, "%s", argv[2]);
	}
	child = pid;
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	while (wait4(pid, &status, 0, &ru) == -1)
		if (errno != EINTR)
			err(EX_SOFTWARE, "wait4");
	fprintf(f, "%.6f %ld.%06ld %ld.%06ld %ld\n", now() - start,
	    (long)ru.ru_utime.tv_sec, (long)ru.ru_utime.tv_usec,
	    (long)ru.ru_stime.tv_sec, (long)ru.ru_stime.tv_usec,
	    ru.ru_maxrss);
	if (fclose(f) == EOF)
		err(EX_TEMPFAIL, "%s", argv[1]);
	return WIFEXITED(status) ? WEXITSTATUS(status) :
	    128 + WTERMSIG(status);
}
