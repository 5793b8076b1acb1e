/*
 * HTTP heads and chunked bodies: however the bytes are cut into reads, they
 * are read the same; and what is accepted is of the one plain form.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "http.h"

#define BODY_MAX	1000	/* bytes */

int	 LLVMFuzzerTestOneInput(const uint8_t *, size_t);

/* What a reader that gets step bytes at a time makes of it. */
static int
complete(const char *s, size_t len, size_t step, struct http_error *e)
{
	size_t	 n, seen = 0;
	int	 rc = 0;

	for (n = 0; rc == 0 && n < len;) {
		n = len - n < step ? len : n + step;
		rc = http_complete(s, n, &seen, e);
	}
	return rc;
}

static void
check_head(const char *s, size_t len)
{
	struct http_request	 r;
	struct http_error	 e;
	char			*copy;
	size_t			 i, lines = 0;

	if ((copy = malloc(len)) == NULL)
		abort();
	memcpy(copy, s, len);
	if (memcmp(s + len - 4, "\r\n\r\n", 4) != 0 ||
	    memchr(s, '\0', len) != NULL)
		abort();
	for (i = 0; i < len; i++) {
		if (s[i] == '\n' && (i == 0 || s[i - 1] != '\r'))
			abort();
		lines += s[i] == '\n';
	}
	if (http_head(copy, len, &r, &e) == 0) {
		if (r.nheader + 2 != lines || r.target[0] != '/' ||
		    r.length < HTTP_CHUNKED)
			abort();
		for (i = 0; i < r.nheader; i++)
			if (r.header[i].name < copy ||
			    r.header[i].value + strlen(r.header[i].value) >=
			    copy + len || *r.header[i].name == '\0')
				abort();
	} else if (e.status < 400 || e.why == NULL)
		abort();
	free(copy);
}

static int
body(const char *s, size_t len, size_t step, struct buf *out, size_t *end)
{
	struct http_chunks	 k = { 0, 0, 0, 0 };
	struct http_error	 e;
	size_t			 n, used;
	int			 rc = 0;

	for (n = 0; rc == 0 && n < len; n += used) {
		rc = http_chunks(&k, s + n, len - n < step ? len - n : step,
		    &used, out, &e);
		if (rc == -1)
			return -e.status;
	}
	*end = n;
	return rc;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct buf		 one = BUF_INIT(BODY_MAX);
	struct buf		 all = BUF_INIT(BODY_MAX);
	struct http_error	 e, f;
	const char		*s = (const char *)data;
	size_t			 end = 0, end_one = 0;
	int			 n, m;

	if (len == 0)
		return 0;
	n = complete(s, len, len, &e);
	m = complete(s, len, 1, &f);
	if (n != m || (n == -1 && e.status != f.status))
		abort();
	if (n > 0)
		check_head(s, (size_t)n);

	n = body(s, len, len, &all, &end);
	m = body(s, len, 1, &one, &end_one);
	if (n != m || (n >= 0 && (end != end_one || all.len != one.len ||
	    (all.len > 0 && memcmp(all.s, one.s, all.len) != 0))))
		abort();
	buf_free(&one);
	buf_free(&all);
	return 0;
}
