/* jq: what a program may do, what it may not, and what it is told. */
#include <sys/wait.h>

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "jq.h"
#include "tap.h"

#define MAX_OUTPUT	(256 * 1024)	/* bytes */

static struct jq	 jq;

static int64_t
now_ms(void)
{
	struct timespec	 ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Run to the end; jq stays readable until the next run. */
static enum jq_state
run_on(const char *program, const char *input, size_t len)
{
	enum jq_state	 state;
	struct pollfd	 pfd[3];

	jq_end(&jq);
	if (jq_start(&jq, program, input, len, MAX_OUTPUT) == -1)
		return JQ_FAILED;
	while ((state = jq_step(&jq, now_ms())) == JQ_RUNNING) {
		pfd[0].fd = jq.in;
		pfd[0].events = POLLOUT;
		pfd[1].fd = jq.out;
		pfd[2].fd = jq.err;
		pfd[1].events = pfd[2].events = POLLIN;
		poll(pfd, 3, 100);
	}
	return state;
}

static enum jq_state
run(const char *program, const char *input)
{
	return run_on(program, input, strlen(input));
}

static void
results(void)
{
	char	*big, *end;
	size_t	 i, n = 200 * 1024;

	ok(run(".a", "{\"a\":{\"b\":[1, 2]}}") == JQ_DONE, "a result");
	is(jq.output.s, "{\"b\":[1,2]}", "is one JSON text on one line");
	ok(run("-1", "null") == JQ_DONE && strcmp(jq.output.s, "-1") == 0,
	    "a program may begin with a minus");
	ok(run("# note\n.a # more", "{\"a\":\"x\\ny\"}") == JQ_DONE &&
	    strcmp(jq.output.s, "\"x\\ny\"") == 0,
	    "comments, and a line break in a string");
	ok(run("empty", "{}") == JQ_EMPTY, "no result is not a failure");
	ok(run("halt", "{}") == JQ_EMPTY, "halt is no result");
	ok(run(".[]", "[1,2]") == JQ_FAILED, "two results are a failure");
	is(jq.why, "more than one result", "which says so");

	if ((big = malloc(n + 3)) == NULL)
		abort();
	big[0] = '"';
	for (i = 1; i <= n; i++)
		big[i] = 'x';
	strcpy(big + n + 1, "\"");
	ok(run(".", big) == JQ_DONE && strcmp(jq.output.s, big) == 0,
	    "a payload larger than any pipe goes through");
	ok(run("1", big) == JQ_DONE, "one that is not looked at, too");
	ok(run("halt", big) == JQ_EMPTY, "nor read to its end");
	ok(run(". + .", big) == JQ_FAILED, "a result over the limit fails");
	end = strstr(jq.why, "262144");
	ok(end != NULL, "and the limit is named");
	free(big);
}

static void
failures(void)
{
	int64_t	 from = now_ms();

	ok(run("error(\"no\\nway\")", "{}") == JQ_FAILED, "error fails");
	is(jq.why, "no", "with the first line of its text");
	ok(run("1, error(\"late\")", "{}") == JQ_FAILED,
	    "also after a result");
	ok(run("error(\"\\u001b[2J\\u00e9\")", "{}") == JQ_FAILED &&
	    strpbrk(jq.why, "\x1b\xc3") == NULL, "the reason is plain text");
	ok(run(".a.b.", "{}") == JQ_FAILED &&
	    strstr(jq.why, "syntax error") != NULL &&
	    strstr(jq.why, "Unix shell") == NULL, "a syntax error is told");
	ok(run(".", "{") == JQ_FAILED, "half a payload fails");
	ok(run("[range(1e9)] | length", "{}") == JQ_FAILED,
	    "a program that fills memory fails");
	ok(run("def f: f; f", "{}") == JQ_FAILED, "an endless one fails");
	ok(strstr(jq.why, "CPU") != NULL || strstr(jq.why, "longer") != NULL,
	    "by its CPU time, or on a busy machine by the whole time");
	ok(run("repeat(1)", "{}") == JQ_FAILED &&
	    strstr(jq.why, "over") != NULL, "endless results fail");
	ok(run("def f: (\"x\" * 1000 | debug), f; f | empty", "{}") ==
	    JQ_FAILED, "endless noise on its stderr fails");
	ok(now_ms() - from < 12 * 1000, "each within its bounds");
}

static void
isolation(void)
{
	char	 why[256], over[JQ_PROGRAM_MAX + 2];
	static const char *const refused[] = {
		"import \"a\" as a; .", "include \"a\"; .",
		"module {}; .", " \t\r\n import \"a\" as a; .",
		"# x\n# y\n  include \"a\"; .", "#\rinclude \"a\"; .",
		"#\r.\ninclude \"a\"; .", "# \\\n.\ninclude \"a\"; .",
		"# \\\r\n.\ninclude \"a\"; .", "import\"a\" as a; .",
		"modulemeta", "", " \n"
	};
	size_t	 i;
	int	 all = 1;

	setenv("HOOK_TEST_SECRET", "s3cret", 1);
	ok(run("env | length", "1") == JQ_DONE &&
	    strcmp(jq.output.s, "0") == 0, "the environment is empty");
	for (i = 0; i < sizeof(refused) / sizeof(*refused); i++)
		if (run(refused[i], "1") != JQ_FAILED ||
		    jq_check(refused[i], why, sizeof(why)) != 1) {
			printf("# ran: %s\n", refused[i]);
			all = 0;
		}
	ok(all, "programs that open files are refused, however they hide it");
	ok(run("{module: 1,\ninclude: 2}", "1") == JQ_DONE,
	    "the words may stand elsewhere");
	ok(run("# two\n{a: 1,\nmodule: 2}", "1") == JQ_DONE,
	    "also at a line's start, behind a comment");
	ok(run("\"a\" | modulemeta", "1") == JQ_FAILED, "no module is found");

	memset(over, ' ', sizeof(over) - 1);
	over[0] = '1';
	over[sizeof(over) - 1] = '\0';
	jq_end(&jq);
	ok(jq_start(&jq, over, "1", 1, 10) == -1 && errno == EINVAL,
	    "a program over the limit is refused for good");
	over[sizeof(over) - 2] = '\0';
	ok(run(over, "1") == JQ_DONE, "one at the limit is not");
}

static void
checks(void)
{
	char	 why[256];

	ok(jq_check(".a | length", why, sizeof(why)) == 0,
	    "a good program passes");
	ok(jq_check("error(\"x\")", why, sizeof(why)) == 0,
	    "so does one that would fail when run");
	ok(jq_check("def f: f; f", why, sizeof(why)) == 0,
	    "or never end: nothing is run");
	ok(jq_check(".a |", why, sizeof(why)) == 1 &&
	    strstr(why, "syntax error") != NULL, "a syntax error is found");
	ok(jq_check("nosuch(1)", why, sizeof(why)) == 1, "an unknown name too");
	is(why, "nosuch/1 is not defined at <top-level>, line 1",
	    "and named");
	setenv("HOOK_JQ", "/nowhere/jq", 1);
	ok(jq_check(".", why, sizeof(why)) == -1, "no jq is no verdict");
	is(why, "jq: not found", "but a reason");
	setenv("HOOK_JQ", "jq", 1);
	ok(jq_check(".", why, sizeof(why)) == -1, "HOOK_JQ is a full path");
	unsetenv("HOOK_JQ");
}

static void
leftovers(void)
{
	int64_t	 now = now_ms();

	jq_end(&jq);
	ok(jq_start(&jq, "def f: f; f", "1", 1, 10) == 0 &&
	    jq_step(&jq, now) == JQ_RUNNING &&
	    jq_step(&jq, now + JQ_WALL_MS - 100) == JQ_RUNNING &&
	    jq_step(&jq, now + 2 * JQ_WALL_MS) == JQ_FAILED,
	    "the wall clock ends it");
	is(jq.why, "took longer than 2000 ms", "and says so");
	jq_end(&jq);
	jq_end(&jq);
	ok(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD,
	    "no child is left behind");
}

int
main(void)
{
	/* What jq_end() gets after a start that failed is safe, too. */
	jq.in = jq.out = jq.err = -1;
	results();
	failures();
	isolation();
	checks();
	leftovers();
	return done_testing();
}
