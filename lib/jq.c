/*
 * jq.c - run a jq program on one payload in a child, without blocking.
 *
 * The program is a customer's or an operator's, the payload a producer's:
 * neither may cost more than the bounds in jq.h, nor see anything but each
 * other: jail.h.
 */
#include <sys/socket.h>
#include <sys/wait.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "jail.h"
#include "jq.h"

#define ERRORS_MAX	1024		/* bytes kept of its stderr */
#define STEP_MAX	(64 * 1024)	/* bytes of stderr read in one step */
#define EXIT_COMPILE	3		/* jq(1): the program is no good */

static int	 drain(struct jq *);
static int	 fail(struct jq *, int, const char *, ...)
		    __attribute__((__format__(printf, 3, 4)));
static void	 feed(struct jq *);
static const char *find_jq(void);
static enum jq_state finish(struct jq *);
static enum jq_state judge(struct jq *);
static int64_t	 monotonic_ms(void);
static int	 reads_files(const char *);
static const char *reason(char *);
static const char *refused(const char *);
static void	 shut(int *);

int
jq_start(struct jq *jq, const char *program, const char *input, size_t len,
    size_t max_output)
{
	char	*argv[] = { (char[]){ "jq" }, (char[]){ "-c" },
		    (char[]){ "-L/dev/null" }, NULL, NULL };
	const char *path, *why;
	int	 fd[3];

	memset(jq, 0, sizeof(*jq));
	jq->in = jq->out = jq->err = jq->status = -1;
	jq->input = input;
	jq->input_len = len;
	jq->output.max = max_output + 1;	/* and a newline */
	jq->errors.max = ERRORS_MAX;
	if ((why = refused(program)) != NULL)
		return fail(jq, EINVAL, "%s", why);
	if ((path = find_jq()) == NULL)
		return fail(jq, ENOENT, "jq: not found");

	/* The space keeps a program that begins with - from being an option. */
	if (asprintf(&argv[3], " %s", program) == -1)
		return fail(jq, ENOMEM, "out of memory");
	jq->pid = jail_start(path, argv, JQ_CPU_S, JQ_MEMORY, fd);
	free(argv[3]);
	if (jq->pid == -1) {
		jq->pid = 0;
		return fail(jq, errno, "jq: %s", strerror(errno));
	}
	jq->in = fd[0];
	jq->out = fd[1];
	jq->err = fd[2];
	jq->deadline_ms = monotonic_ms() + JQ_WALL_MS;
	return 0;
}

enum jq_state
jq_step(struct jq *jq, int64_t now_ms)
{
	if (jq->pid == 0 || jq->why[0] != '\0')
		return JQ_FAILED;
	feed(jq);
	if (drain(jq) == -1)
		return JQ_FAILED;
	if (jq->out == -1 && jq->err == -1)
		return finish(jq);
	if (now_ms >= jq->deadline_ms) {
		fail(jq, 0, "took longer than %d ms", JQ_WALL_MS);
		return JQ_FAILED;
	}
	return JQ_RUNNING;
}

void
jq_end(struct jq *jq)
{
	if (jq->pid != 0)
		jail_end(jq->pid);
	jq->pid = 0;
	shut(&jq->in);
	shut(&jq->out);
	shut(&jq->err);
	buf_free(&jq->output);
	buf_free(&jq->errors);
}

int
jq_check(const char *program, char *why, size_t whylen)
{
	struct jq	 jq;
	struct pollfd	 pfd[2];
	enum jq_state	 state = JQ_FAILED;
	int64_t		 now = 0;
	int		 rc = -1;

	/* Without any input, jq compiles the program and runs nothing. */
	if (jq_start(&jq, program, "", 0, 0) == -1)
		rc = errno == EINVAL ? 1 : -1;
	else {
		while ((state = jq_step(&jq, now)) == JQ_RUNNING) {
			pfd[0].fd = jq.out;
			pfd[1].fd = jq.err;
			pfd[0].events = pfd[1].events = POLLIN;
			poll(pfd, 2, (int)(jq.deadline_ms - monotonic_ms()));
			now = monotonic_ms();
		}
		rc = state == JQ_EMPTY ? 0 :
		    jq.status == JAIL_NO_EXEC ? -1 : 1;
	}
	snprintf(why, whylen, "%s", jq.why);
	jq_end(&jq);
	return rc;
}

/* Why a program is never run, or NULL. */
static const char *
refused(const char *program)
{
	if (strlen(program) > JQ_PROGRAM_MAX)
		return "program too long";
	if (program[strspn(program, " \t\r\n")] == '\0')
		return "program empty";
	if (reads_files(program))
		return "import, include and module are not allowed";
	return NULL;
}

/*
 * Is import, include or module the first word?  jq takes them nowhere else.
 * Its versions do not agree on where a comment ends (at a carriage return?
 * after a backslash?), so where in doubt both readings are followed: a
 * position may be within a comment, between words, or either.
 */
static int
reads_files(const char *s)
{
	static const char *const word[] = { "import", "include", "module" };
	int		 between = 1, comment = 0, line_break, was_between;
	char		 last = '\0';
	size_t		 i;

	for (; *s != '\0'; last = *s++) {
		for (i = 0; between && i < sizeof(word) / sizeof(*word); i++)
			if (strncmp(s, word[i], strlen(word[i])) == 0)
				return 1;
		was_between = between;
		line_break = comment && (*s == '\n' || *s == '\r');
		between = line_break ||
		    (between && strchr(" \t\r\n", *s) != NULL);
		if (line_break && *s == '\n' && last != '\\' && last != '\r')
			comment = 0;
		if (was_between && *s == '#')
			comment = 1;
	}
	return 0;
}

static const char *
find_jq(void)
{
	static const char *const place[] = {
		"/usr/bin/jq", "/usr/local/bin/jq", "/bin/jq", "/opt/bin/jq"
	};
	const char	*s = getenv("HOOK_JQ");
	size_t		 i;

	if (s != NULL && *s != '\0')
		return *s == '/' && access(s, X_OK) == 0 ? s : NULL;
	for (i = 0; i < sizeof(place) / sizeof(*place); i++)
		if (access(place[i], X_OK) == 0)
			return place[i];
	return NULL;
}

static void
feed(struct jq *jq)
{
	ssize_t	 n;

	while (jq->in != -1 && jq->input_done < jq->input_len) {
		n = send(jq->in, jq->input + jq->input_done,
		    jq->input_len - jq->input_done, MSG_NOSIGNAL);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return;
		if (n == -1)
			break;		/* it reads no more; its status tells */
		jq->input_done += (size_t)n;
	}
	shut(&jq->in);
}

/* Take what it wrote; -1 if that is too much. */
static int
drain(struct jq *jq)
{
	char	 some[4096];
	size_t	 seen = 0;
	ssize_t	 n = 1;

	while (jq->out != -1) {
		n = read(jq->out, some, sizeof(some));
		if (n == 0)
			shut(&jq->out);
		else if (n > 0 && buf_add(&jq->output, some, (size_t)n) == -1)
			return fail(jq, errno, "result of over %zu bytes",
			    jq->output.max - 1);
		else if (n == -1 && errno != EINTR)
			break;
	}
	while (jq->err != -1 && seen < STEP_MAX) {
		n = read(jq->err, some, sizeof(some));
		if (n == 0)
			shut(&jq->err);
		else if (n > 0) {
			seen += (size_t)n;
			if ((size_t)n > jq->errors.max - jq->errors.len)
				n = (ssize_t)(jq->errors.max - jq->errors.len);
			if (buf_add(&jq->errors, some, (size_t)n) == -1)
				return fail(jq, errno, "out of memory");
		} else if (errno != EINTR)
			break;
	}
	return 0;
}

/*
 * Its pipes are closed, so it has exited, or is about to be: what it left
 * running goes with it.
 */
static enum jq_state
finish(struct jq *jq)
{
	int	 how = jail_end(jq->pid);

	jq->pid = 0;
	if (WIFEXITED(how)) {
		jq->status = WEXITSTATUS(how);
		return judge(jq);
	}
	if (WTERMSIG(how) == SIGXCPU)
		fail(jq, 0, "used more than %d s of CPU time", JQ_CPU_S);
	else
		fail(jq, 0, "jq died of signal %d: %s", WTERMSIG(how),
		    jq->errors.len > 0 ? jq->errors.s : "no reason given");
	return JQ_FAILED;
}

static enum jq_state
judge(struct jq *jq)
{
	if (jq->status == JAIL_NO_EXEC)
		return fail(jq, 0, "jq could not be started"), JQ_FAILED;
	if (jq->status != 0 && jq->errors.len == 0)
		return fail(jq, 0, "jq exited with %d", jq->status), JQ_FAILED;
	if (jq->status != 0)
		return fail(jq, 0, "%s", reason(jq->errors.s)), JQ_FAILED;
	if (jq->output.len == 0)
		return JQ_EMPTY;
	if (jq->output.s[jq->output.len - 1] == '\n')
		jq->output.s[--jq->output.len] = '\0';
	if (memchr(jq->output.s, '\n', jq->output.len) != NULL)
		return fail(jq, 0, "more than one result"), JQ_FAILED;
	return JQ_DONE;
}

/* The first line of what it said, without what we know. */
static const char *
reason(char *s)
{
	static const char	 hint[] = " (Unix shell quoting issues?)";
	char			*p;

	s[strcspn(s, "\r\n")] = '\0';
	if ((p = strstr(s, hint)) != NULL)
		memmove(p, p + sizeof(hint) - 1,
		    strlen(p + sizeof(hint) - 1) + 1);
	if (strncmp(s, "jq: error", 9) == 0 &&
	    (p = strstr(s + 9, ": ")) != NULL)
		s = p + 2;
	if (*s != '\0' && s[strlen(s) - 1] == ':')
		s[strlen(s) - 1] = '\0';
	return s;
}

/* Keep the first line of a reason, without anything but printable ASCII. */
static int
fail(struct jq *jq, int error, const char *fmt, ...)
{
	va_list	 ap;
	char	*p;

	va_start(ap, fmt);
	vsnprintf(jq->why, sizeof(jq->why), fmt, ap);
	va_end(ap);
	jq->why[strcspn(jq->why, "\r\n")] = '\0';
	for (p = jq->why; *p != '\0'; p++)
		if (*p < ' ' || *p > '~')
			*p = '?';
	errno = error;
	return -1;
}

static void
shut(int *fd)
{
	if (*fd != -1)
		close(*fd);
	*fd = -1;
}

static int64_t
monotonic_ms(void)
{
	struct timespec	 ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}
