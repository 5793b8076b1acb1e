/*
 * hint_try.c - what a message may have been before something changed it, and
 * what a secret may have been meant to be.
 */
#include <string.h>
#include <strings.h>

#include "base64.h"
#include "hint_int.h"
#include "sign_int.h"
#include "unpack.h"

#define BYTES_MAX	1024		/* of a secret */

/* Ways in which a body is changed before it is verified. */
enum change {
	NEWLINE_ADDED, NEWLINE_LOST, CRLF_MADE, CRLF_LOST, MARK_ADDED,
	MARK_LOST, PACKED, NCHANGE
};

#define MARK		"\xef\xbb\xbf"	/* of UTF-8 */
#define UNPACKED_MAX	((size_t)4 * 1024 * 1024)	/* bytes */

static const char	*const told[NCHANGE] = {
	[NEWLINE_ADDED] = "good without the line end behind the body, which "
	    "something added",
	[NEWLINE_LOST] = "good with a line end behind the body, which "
	    "something took off",
	[CRLF_MADE] = "good with LF line ends, which something made CRLF",
	[CRLF_LOST] = "good with CRLF line ends, which something made LF",
	[MARK_ADDED] = "good without the byte-order mark before the body, "
	    "which something added",
	[MARK_LOST] = "good with a byte-order mark before the body, which "
	    "something took off",
	[PACKED] = "good with the body unpacked (hook-source --unpack)",
};

/* Secrets that say what they are, and are never what signs. */
static const struct {
	const char	*begins, *told;
} token[] = {
	{ "sk_", "the secret is an API key, where the endpoint's own is due" },
	{ "rk_", "the secret is an API key, where the endpoint's own is due" },
	{ "pk_", "the secret is an API key, where the endpoint's own is due" },
	{ "SK", "the secret is an API key's SID, where the auth token is due" },
	{ "AC", "the secret is an account's SID, where the auth token is due" },
	{ "xox", "the secret is a token, where the app's signing secret is "
	    "due" },
	{ "shpat_", "the secret is an access token, where the app's secret is "
	    "due" },
	{ "ghp_", "the secret is an access token, where the webhook's secret "
	    "is due" },
	{ "github_pat_", "the secret is an access token, where the webhook's "
	    "secret is due" },
};

static int	 undo(const struct hint *, enum change, struct buf *);
static int	 without_cr(const char *, size_t, struct buf *);
static int	 with_cr(const char *, size_t, struct buf *);
static int	 good_url(const struct hint *, const char *, const char *,
		    const char *);
static const char *other_reading(const struct hint *, const char *);
static const char *other_thing(const char *);
static int	 good_bytes(const struct hint *, const void *, ssize_t);

const char *
hint_body(const struct hint *h)
{
	struct hint	 try = *h;
	struct buf	 body = BUF_INIT(2 * h->message.body_len + 4);
	int		 c;

	for (c = 0; c < NCHANGE; c++) {
		buf_reset(&body);
		if (undo(h, c, &body) != 1)
			continue;
		try.message.body = body.s;
		try.message.body_len = body.len;
		if (hint_good(&try))
			break;
	}
	buf_free(&body);
	return c < NCHANGE ? told[c] : NULL;
}

/* Behind a proxy http: stands for https:; frameworks add or drop a slash. */
const char *
hint_url(const struct hint *h)
{
	struct hint	 try = *h;
	const char	*url = h->message.url, *rest;
	size_t		 n;

	if (url == NULL || !scheme_signs(h->scheme, 'u'))
		return NULL;
	if (scheme_signs(h->scheme, 'm')) {
		try.message.method = h->message.method != NULL &&
		    strcmp(h->message.method, "POST") != 0 ? "POST" : "GET";
		if (hint_good(&try))
			return "good with another method than was given";
	}
	if (strncasecmp(url, "http:", 5) == 0 &&
	    good_url(h, "https", "", url + 4))
		return "good with https: in the URL, where http: was given";
	if (strncasecmp(url, "https:", 6) == 0 &&
	    good_url(h, "http", "", url + 5))
		return "good with http: in the URL, where https: was given";
	n = strcspn(url, "?");
	rest = url + n;
	if (n > 0 && url[n - 1] == '/') {
		if (good_url(h, "", url, rest))
			return "good without the slash at the URL's end";
	} else if (good_url(h, url, "/", rest))
		return "good with a slash at the URL's end";
	return *rest == '?' && good_url(h, url, "", "") ?
	    "good without the URL's query" : NULL;
}

const char *
hint_secret(const struct hint *h)
{
	const char	*found = NULL;
	size_t		 i;

	for (i = 0; found == NULL && i < h->nsecret; i++)
		if (h->secret[i] != NULL)
			found = other_reading(h, h->secret[i]);
	for (i = 0; found == NULL && i < h->nsecret; i++)
		if (h->secret[i] != NULL)
			found = other_thing(h->secret[i]);
	return found;
}

static const char *
other_thing(const char *s)
{
	size_t	 i, n;

	for (i = 0; i < sizeof(token) / sizeof(token[0]); i++) {
		n = strlen(token[i].begins);
		/* SIDs are two letters and 32 hex digits. */
		if (strncmp(s, token[i].begins, n) == 0 && (n > 2 ||
		    (strlen(s) == 34 && s[strspn(s + 2,
		    "0123456789abcdef") + 2] == '\0')))
			return token[i].told;
	}
	return NULL;
}

/* What the body was before the change; 0 if it can't have been that. */
static int
undo(const struct hint *h, enum change c, struct buf *out)
{
	const char	*s = h->message.body;
	size_t		 n = h->message.body_len;
	struct http_error e;

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
	case MARK_ADDED:
		if (n < 3 || memcmp(s, MARK, 3) != 0)
			return 0;
		return buf_add(out, s + 3, n - 3) == -1 ? -1 : 1;
	case MARK_LOST:
		return buf_adds(out, MARK) == -1 || (n > 0 &&
		    buf_add(out, s, n) == -1) ? -1 : 1;
	case PACKED:
		out->max = UNPACKED_MAX;
		return n < 3 || memcmp(s, "\x1f\x8b\x08", 3) != 0 ? 0 :
		    unpack("gzip", s, n, out, &e);
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

/*
 * Three pieces: a and b, of which one may be the URL itself and is then taken
 * up to its query or, where a is empty, without its last character; and c.
 */
static int
good_url(const struct hint *h, const char *a, const char *b, const char *c)
{
	struct hint	 try = *h;
	struct buf	 url = BUF_INIT(65536);
	const char	*own = h->message.url;
	size_t		 n = strcspn(own, "?");
	int		 good = 0;

	if (buf_add(&url, a, a == own ? n : strlen(a)) == 0 &&
	    buf_add(&url, b, b == own ? n - 1 : strlen(b)) == 0 &&
	    buf_adds(&url, c) == 0) {
		try.message.url = url.s;
		good = hint_good(&try);
	}
	buf_free(&url);
	return good;
}

/* Bytes that the text of a secret could stand for, and does not here. */
static const char *
other_reading(const struct hint *h, const char *s)
{
	static const char around[] = " \t\r\n\"'";
	unsigned char	 raw[BYTES_MAX];
	size_t		 len = strlen(s), from, to;
	const char	*bare = strncmp(s, "whsec_", 6) == 0 ? s + 6 : s;
	const char	*found = NULL;

	from = strncmp(s, MARK, 3) == 0 ? 3 : 0;
	while (from < len && strchr(around, s[from]) != NULL)
		from++;
	for (to = len; to > from && strchr(around, s[to - 1]) != NULL;)
		to--;
	if (to - from < len && good_bytes(h, s + from, (ssize_t)(to - from)))
		found = "good without the white space, quotes or byte-order "
		    "mark around the secret";
	else if (h->scheme->secret != SCHEME_SECRET_TEXT &&
	    good_bytes(h, s, (ssize_t)len))
		found = "good with the secret taken as text, which this "
		    "scheme does not";
	else if (bare != s && good_bytes(h, bare, (ssize_t)strlen(bare)))
		found = "good with the secret's text without whsec_";
	else if (good_bytes(h, raw, base64_decode_lax(bare, strlen(bare),
	    raw, sizeof(raw))))
		found = "good with the secret decoded from base64, which "
		    "this scheme takes as text";
	else if (good_bytes(h, raw, hex_decode(s, len, raw, sizeof(raw))))
		found = "good with the secret decoded from hex, which this "
		    "scheme does not do";
	explicit_bzero(raw, sizeof(raw));
	return found;
}

static int
good_bytes(const struct hint *h, const void *bytes, ssize_t n)
{
	struct hint	 try = *h;
	struct sign_key	*key;
	int		 good;

	if (n < 1 || (key = sign_key_bytes(h->scheme, bytes, (size_t)n)) ==
	    NULL)
		return 0;
	try.key = &key;
	try.nkey = 1;
	good = hint_good(&try);
	sign_key_free(key);
	return good;
}
