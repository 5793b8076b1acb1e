/*
 * Members of a JSON text: the input is a path, up to a newline, and the text.
 * What is found lies in it, and nothing outside of it is read.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "member.h"

int	 LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static void
look(const struct member *m, const char *text, size_t len)
{
	struct buf	 b = BUF_INIT(1024 * 1024);
	struct member	 one;
	const char	*at = NULL;
	int		 n = 0;

	if (m->s < text || m->s + m->len > text + len)
		abort();
	if (member_text(m, &b) == -1 || b.len > m->len)
		abort();
	while (member_next(m, &at, &one) == 1) {
		if (one.s < m->s || one.s + one.len > m->s + m->len ||
		    one.len == 0 || ++n > 1000000)
			abort();
	}
	buf_free(&b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t	*nl = memchr(data, '\n', size);
	struct member	 m;
	char		*path, *text;
	size_t		 len;

	if (nl == NULL || nl == data || *data != '.')
		return 0;
	len = size - (size_t)(nl + 1 - data);
	if ((path = strndup((const char *)data, (size_t)(nl - data))) ==
	    NULL || (text = malloc(len == 0 ? 1 : len)) == NULL)
		abort();
	memcpy(text, nl + 1, len);
	if (member_find(text, len, path, &m) == 1)
		look(&m, text, len);
	m.s = text;
	m.len = len;
	if (len > 0)
		look(&m, text, len);
	free(path);
	free(text);
	return 0;
}
