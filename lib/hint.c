/*
 * hint.c - the likely cause of a refused signature.
 */
#include <inttypes.h>
#include <string.h>

#include "hint.h"

/* Ways in which a body is changed before it is verified. */
enum change { NEWLINE_ADDED, NEWLINE_LOST, CRLF_MADE, CRLF_LOST, NCHANGE };

static const char	*const told[NCHANGE] = {
	[NEWLINE_ADDED] = "good without the line end behind the body, which "
	    "something added",
	[NEWLINE_LOST] = "good with a line end behind the body, which "
	    "something took off",
	[CRLF_MADE] = "good with LF line ends, which something made CRLF",
	[CRLF_LOST] = "good with CRLF line ends, which something made LF",
};

static int	 add_time(const struct hint *, struct buf *);
static int	 add_body(const struct hint *, struct buf *);
static int	 undo(const struct hint *, enum change, struct buf *);
static int	 without_cr(const char *, size_t, struct buf *);
static int	 with_cr(const char *, size_t, struct buf *);
static int	 add_other_scheme(const struct hint *, struct buf *);

int
hint_add(const struct hint *h, const char *why, struct buf *out)
{
	if (why == SIGN_TOO_OLD || why == SIGN_TOO_NEW)
		return add_time(h, out);
	if (why == SIGN_DIFFERENT)
		return add_body(h, out);
	if (why == SIGN_OTHER_KIND)
		return buf_adds(out, ": whsec_ secrets check v1, whpk_ keys "
		    "check v1a");
	if (why == SIGN_NO_HEADER)
		return add_other_scheme(h, out);
	return 0;
}

static int
add_time(const struct hint *h, struct buf *out)
{
	const char	*id, *why;
	int64_t		 at;

	if (sign_read(h->scheme, &h->message, &id, &at, &why) != 0)
		return 0;
	return buf_addf(out, ": %" PRId64 " s %s, tolerance %" PRId64 " s: %s",
	    at < h->now ? h->now - at : at - h->now,
	    at < h->now ? "old" : "ahead", h->tolerance,
	    at < h->now ? "an old message sent again, or a wrong clock" :
	    "a wrong clock");
}

static int
add_body(const struct hint *h, struct buf *out)
{
	struct hint	 other = *h;
	struct buf	 body = BUF_INIT(2 * h->message.body_len + 2);
	const char	*why;
	int		 c, rc = 0;

	for (c = 0; c < NCHANGE; c++) {
		buf_reset(&body);
		if ((rc = undo(h, c, &body)) == -1)
			break;
		if (rc == 0)
			continue;
		other.message.body = body.s;
		other.message.body_len = body.len;
		if (sign_check(h->scheme, h->key, h->nkey, &other.message,
		    h->now, SIGN_NO_TOLERANCE, NULL, &why) == 0)
			break;
	}
	buf_free(&body);
	if (rc == -1)
		return -1;
	return buf_addf(out, ": %s", c < NCHANGE ? told[c] : "another secret,"
	    " or the body was changed (parsed and written again?)");
}

/* What the body was before the change; 0 if it can't have been that. */
static int
undo(const struct hint *h, enum change c, struct buf *out)
{
	const char	*s = h->message.body;
	size_t		 n = h->message.body_len;

	switch (c) {
	case NEWLINE_ADDED:
		if (n == 0 || s[n - 1] != '\n')
			return 0;
		n -= n > 1 && s[n - 2] == '\r' ? 2 : 1;
		return buf_add(out, s, n) == -1 ? -1 : 1;
	case NEWLINE_LOST:
		if ((n > 0 && buf_add(out, s, n) == -1) ||
		    buf_adds(out, "\n") == -1)
			return -1;
		return 1;
	case CRLF_MADE:
		return without_cr(s, n, out);
	case CRLF_LOST:
		return with_cr(s, n, out);
	default:
		return 0;
	}
}

static int
without_cr(const char *s, size_t n, struct buf *out)
{
	size_t	 i;

	for (i = 0; i < n; i++)
		if ((s[i] != '\r' || i + 1 == n || s[i + 1] != '\n') &&
		    buf_add(out, s + i, 1) == -1)
			return -1;
	return out->len != n;
}

static int
with_cr(const char *s, size_t n, struct buf *out)
{
	size_t	 i;

	for (i = 0; i < n; i++)
		if ((s[i] == '\n' && (i == 0 || s[i - 1] != '\r') &&
		    buf_adds(out, "\r") == -1) || buf_add(out, s + i, 1) == -1)
			return -1;
	return out->len != n;
}

static int
add_other_scheme(const struct hint *h, struct buf *out)
{
	const struct sign_scheme	*s;
	const char			*id, *why;
	int64_t				 at;
	size_t				 i;

	if (h->message.nheader == 0)
		return buf_adds(out, ": no header was given");
	for (i = 0; (s = sign_scheme_at(i)) != NULL; i++)
		if (s != h->scheme &&
		    sign_read(s, &h->message, &id, &at, &why) == 0)
			return buf_addf(out, ": the headers are %s",
			    sign_scheme_name(s));
	return 0;
}
