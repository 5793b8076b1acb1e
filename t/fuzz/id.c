/*
 * Ids: as arguments, as lines of standard input (the reading of lines; their
 * JSON is PostgreSQL's), and the ids of messages.
 */
#include <sys/mman.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ids.h"
#include "line.h"
#include "sign.h"

#define NARG		8
#define LINE_MAX_LEN	40		/* bytes */

int	 LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static void
arguments(char *text)
{
	struct ids	 ids = IDS_INIT;
	char		*arg[NARG + 1] = { NULL };
	int		 n = 0;
	size_t		 i;

	while (n < NARG && (arg[n] = strsep(&text, "\n")) != NULL)
		n++;
	if (ids_args(&ids, n, arg) == -1) {
		if (ids.code == 0 || *ids.why == '\0' ||
		    strchr(ids.why, '\n') != NULL)
			abort();
	} else if (!ids.from_stdin && ids.n != (size_t)n)
		abort();
	for (i = 0; i < ids.n; i++)
		if (ids.id[i] < 1)
			abort();
	ids_free(&ids);
}

static void
lines(const uint8_t *data, size_t size)
{
	struct line	 in;
	size_t		 n = 0, bytes = 0;
	int		 fd = memfd_create("lines", 0), got;

	if (fd == -1 || write(fd, data, size) != (ssize_t)size ||
	    lseek(fd, 0, SEEK_SET) == -1)
		abort();
	line_init(&in, fd, LINE_MAX_LEN);
	while ((got = line_next(&in)) == 1) {
		if (in.number != ++n || in.len > LINE_MAX_LEN ||
		    strlen(in.s) != in.len || strchr(in.s, '\n') != NULL)
			abort();
		bytes += in.len + 1;
	}
	if (got == 0 && bytes != size && bytes != size + 1)
		abort();
	line_free(&in);
	close(fd);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char	*text = strndup((const char *)data, size);

	if (text == NULL)
		return 0;
	if (sign_id(text) && (strlen(text) > 64 ||
	    strpbrk(text, " .\r\n:") != NULL || *text == '\0'))
		abort();
	arguments(text);
	lines(data, size);
	free(text);
	return 0;
}
