/* log: one line an event, whatever is in it. */
#include <stdlib.h>
#include <unistd.h>

#include "log.h"
#include "tap.h"

static FILE	*file;

static char *
logged(void)
{
	static char	 text[8192];
	size_t		 n;

	rewind(file);
	n = fread(text, 1, sizeof(text) - 1, file);
	text[n] = '\0';
	rewind(file);
	if (ftruncate(fileno(file), 0) == -1)
		abort();
	return text;
}

int
main(void)
{
	char	 big[3000], *s;

	if ((file = tmpfile()) == NULL || dup2(fileno(file), STDERR_FILENO) ==
	    -1)
		return 1;

	log_event(LOG_INFO, "started", NULL);
	is(logged(), "info started\n", "no key is fine");
	log_event(LOG_ERROR, "gone", "lane", "7", "why", NULL, "n", "-1.5",
	    NULL);
	is(logged(), "error gone lane=7 n=-1.5\n", "a null value has no key");
	log_event(LOG_WARNING, "w", "a", "", "b", "x y", "c", "k=v", NULL);
	is(logged(), "warning w a=\"\" b=\"x y\" c=\"k=v\"\n",
	    "empty values, spaces and equal signs are quoted");
	log_event(LOG_NOTICE, "n", "a", "say \"hi\" \\", NULL);
	is(logged(), "notice n a=\"say \\\"hi\\\" \\\\\"\n",
	    "quotes and backslashes are escaped");
	log_event(LOG_INFO, "i", "a", "x\nerror forged\r\x1b[2J\x7f\xc3\xa9",
	    NULL);
	is(logged(), "info i a=\"x\\x0aerror forged\\x0d\\x1b[2J\\x7f"
	    "\\xc3\\xa9\"\n", "a line can't be forged");

	memset(big, 'a', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	log_event(LOG_INFO, "big", "a", big, "b", big, "c", "d", NULL);
	s = logged();
	ok(strlen(s) <= 4096 && s[strlen(s) - 1] == '\n' &&
	    strchr(s, '\n') == s + strlen(s) - 1, "a long line is cut");
	ok(strstr(s, "d\n") == NULL, "nothing follows the cut");
	return done_testing();
}
