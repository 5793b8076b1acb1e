#include <string.h>
#include <strings.h>

#include "http.h"

#define EXTRA_MAX	4096	/* bytes of chunk extensions and trailers */
#define LENGTH_DIGITS	18	/* what an int64_t holds */
#define CHUNK_DIGITS	15	/* hex */

static int	 absolute(char *, struct http_request *);
static int	 bad(struct http_error *, int, const char *);
static void	 connection_of(struct http_request *, const char *);
static int	 finish(struct http_request *, struct http_error *);
static int	 first_line(char *, struct http_request *,
		    struct http_error *);
static int	 framing(struct http_request *, const struct http_header *,
		    struct http_error *);
static int	 header_line(char *, struct http_request *,
		    struct http_error *);
static int	 is_host(const char *);
static int	 is_token(const char *);
static int	 number(const char *, int64_t *);

/* Control bytes are found here, so that what follows may use C strings. */
int
http_complete(const char *s, size_t len, size_t *seen, struct http_error *e)
{
	size_t	 i;

	for (i = *seen; i < len && i < HTTP_HEAD_MAX; i++) {
		unsigned char	 c = (unsigned char)s[i];

		if (i > 0 && s[i - 1] == '\r' && c != '\n')
			return bad(e, 400, "line ends with a bare CR");
		if (c >= ' ' && c != 0x7f)
			continue;
		if (c == '\n') {
			if (i == 0 || s[i - 1] != '\r')
				return bad(e, 400, "line ends with a bare LF");
			if (i == 1)
				return bad(e, 400, "empty first line");
			if (i >= 3 && s[i - 2] == '\n')
				return (int)i + 1;
		} else if (c != '\r' && c != '\t')
			return bad(e, 400, "control byte in the head");
	}
	*seen = i;
	return i == HTTP_HEAD_MAX ? bad(e, 431, "head is too large") : 0;
}

int
http_head(char *s, size_t len, struct http_request *r, struct http_error *e)
{
	char	*line, *next, *end = s + len - 2;

	r->method = r->target = r->host = NULL;
	r->nheader = 0;
	r->hosts = r->absolute = 0;
	r->keep = -1;
	r->expects = 0;
	r->length = -2;		/* not said */
	for (line = s; line < end; line = next) {
		next = memchr(line, '\r', (size_t)(end - line));
		*next = '\0';
		next += 2;
		if ((line == s ? first_line(line, r, e) :
		    header_line(line, r, e)) == -1)
			return -1;
	}
	return finish(r, e);
}

static int
first_line(char *s, struct http_request *r, struct http_error *e)
{
	char	*target, *version, *p;

	if ((target = strchr(s, ' ')) == NULL)
		return bad(e, 400, "first line is malformed");
	*target++ = '\0';
	if ((version = strchr(target, ' ')) == NULL)
		return bad(e, 400, "first line is malformed");
	*version++ = '\0';
	if (strncmp(version, "HTTP/", 5) != 0)
		return bad(e, 400, "first line is malformed");
	if (strcmp(version, "HTTP/1.1") != 0 &&
	    strcmp(version, "HTTP/1.0") != 0)
		return bad(e, 505, "HTTP version");
	if (!is_token(s))
		return bad(e, 400, "method is malformed");
	for (p = target; *p > ' ' && *p <= '~' && *p != '#'; p++)
		continue;
	if (*p != '\0' || (*target != '/' && absolute(target, r) == -1))
		return bad(e, 400, "target is malformed");
	r->method = s;
	if (!r->absolute)
		r->target = target;
	r->minor = version[7] - '0';
	return 0;
}

/*
 * http://host/path, as to a proxy: its host is the one that counts (RFC 9112,
 * 3.2.2).  The scheme's place has room for the ends of both.
 */
static int
absolute(char *s, struct http_request *r)
{
	char	*host = s + (strncasecmp(s, "http://", 7) == 0 ? 7 :
		    strncasecmp(s, "https://", 8) == 0 ? 8 : 0);
	size_t	 n = strcspn(host, "/?");

	if (host == s || n == 0)
		return -1;
	memmove(s, host, n);
	s[n] = '\0';
	if (!is_host(s))
		return -1;
	r->absolute = 1;
	r->host = s;
	r->target = host + n;
	if (host[n] != '/') {
		host[n - 1] = '/';
		r->target = host + n - 1;
	}
	return 0;
}

static int
header_line(char *s, struct http_request *r, struct http_error *e)
{
	struct http_header	*h = &r->header[r->nheader];
	char			*value, *end;

	if (*s == ' ' || *s == '\t')
		return bad(e, 400, "folded header line");
	if ((value = strchr(s, ':')) == NULL)
		return bad(e, 400, "header line without a colon");
	if (r->nheader == HTTP_HEADERS)
		return bad(e, 431, "too many header lines");
	*value++ = '\0';
	value += strspn(value, " \t");
	end = value + strlen(value);
	while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	*end = '\0';
	if (!is_token(s))
		return bad(e, 400, "header name is malformed");
	h->name = s;
	h->value = value;
	r->nheader++;
	return framing(r, h, e);
}

/* Headers that say how the message is cut out of the stream, and Host. */
static int
framing(struct http_request *r, const struct http_header *h,
    struct http_error *e)
{
	if (strcasecmp(h->name, "content-length") == 0) {
		if (r->length != -2)
			return bad(e, 400, "a second length");
		if (number(h->value, &r->length) == -1)
			return bad(e, 400, "length is malformed");
	} else if (strcasecmp(h->name, "transfer-encoding") == 0) {
		if (r->length != -2)
			return bad(e, 400, "a second length");
		if (r->minor == 0 || strcasecmp(h->value, "chunked") != 0)
			return bad(e, 400, "transfer coding");
		r->length = HTTP_CHUNKED;
	} else if (strcasecmp(h->name, "host") == 0) {
		if (r->hosts++ > 0 || !is_host(h->value))
			return bad(e, 400, "host is malformed, or there twice");
		if (!r->absolute)
			r->host = h->value;
	} else if (strcasecmp(h->name, "connection") == 0) {
		connection_of(r, h->value);
	} else if (strcasecmp(h->name, "expect") == 0) {
		if (r->minor == 0)
			return 0;
		if (strcasecmp(h->value, "100-continue") != 0)
			return bad(e, 417, "expectation");
		r->expects = 1;
	}
	return 0;
}

static int
finish(struct http_request *r, struct http_error *e)
{
	if (r->minor == 1 && r->hosts == 0)
		return bad(e, 400, "no host");
	if (r->length == -2)
		r->length = 0;
	if (r->keep == -1)
		r->keep = r->minor == 1;
	return 0;
}

/* A list of tokens; "close" wins over "keep-alive". */
static void
connection_of(struct http_request *r, const char *s)
{
	size_t	 n;

	for (; *s != '\0'; s += n) {
		s += strspn(s, " \t,");
		n = strcspn(s, " \t,");
		if (n == 5 && strncasecmp(s, "close", n) == 0)
			r->keep = 0;
		else if (n == 10 && strncasecmp(s, "keep-alive", n) == 0 &&
		    r->keep == -1)
			r->keep = 1;
	}
}

/* States of a chunked body: the byte that is expected next. */
enum {
	SIZE, EXTENSION, SIZE_LF, DATA, DATA_CR, DATA_LF, TRAILER, TRAILER_TEXT,
	TRAILER_LF, LAST_LF
};

static int
hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The byte c of what is not content; 1 at the end, 0, -1 misplaced. */
static int
chunk_byte(struct http_chunks *k, char c)
{
	int	 v;

	switch (k->state) {
	case SIZE:
		if ((v = hex(c)) != -1) {
			k->left = k->left * 16 + (unsigned int)v;
			return ++k->digits > CHUNK_DIGITS ? -1 : 0;
		}
		if (k->digits == 0 || (c != '\r' && c != ';'))
			return -1;
		k->state = c == '\r' ? SIZE_LF : EXTENSION;
		return 0;
	case EXTENSION:
	case TRAILER_TEXT:
		if (c == '\r')
			k->state = k->state == EXTENSION ? SIZE_LF :
			    TRAILER_LF;
		else if (((unsigned char)c < ' ' && c != '\t') || c == 0x7f)
			return -1;
		return ++k->extra > EXTRA_MAX ? -1 : 0;
	case SIZE_LF:
		k->digits = 0;
		k->state = k->left == 0 ? TRAILER : DATA;
		return c == '\n' ? 0 : -1;
	case DATA_CR:
		k->state = DATA_LF;
		return c == '\r' ? 0 : -1;
	case DATA_LF:
		k->state = SIZE;
		return c == '\n' ? 0 : -1;
	case TRAILER:
		k->state = c == '\r' ? LAST_LF : TRAILER_TEXT;
		return c == '\r' || is_token((char[]){ c, '\0' }) ? 0 : -1;
	case TRAILER_LF:
		k->state = TRAILER;
		return c == '\n' ? 0 : -1;
	default:
		return c == '\n' ? 1 : -1;
	}
}

int
http_chunks(struct http_chunks *k, const char *in, size_t len, size_t *used,
    struct buf *out, struct http_error *e)
{
	size_t	 i, n;
	int	 rc;

	for (i = 0; i < len; i += n) {
		n = 1;
		if (k->state == DATA) {
			n = k->left < len - i ? (size_t)k->left : len - i;
			if (k->left > out->max - out->len)
				return bad(e, 413, "body is too large");
			if (buf_add(out, in + i, n) == -1)
				return bad(e, 503, "no memory");
			if ((k->left -= n) == 0)
				k->state = DATA_CR;
			continue;
		}
		if ((rc = chunk_byte(k, in[i])) == -1)
			return bad(e, 400, "chunk is malformed");
		if (rc == 1) {
			*used = i + 1;
			return 1;
		}
	}
	*used = len;
	return 0;
}

const char *
http_reason(int status)
{
	static const struct {
		int		 status;
		const char	*reason;
	} table[] = {
		{ 200, "OK" }, { 202, "Accepted" }, { 204, "No Content" },
		{ 400, "Bad Request" },
		{ 401, "Unauthorized" }, { 404, "Not Found" },
		{ 405, "Method Not Allowed" }, { 408, "Request Timeout" },
		{ 413, "Content Too Large" },
		{ 415, "Unsupported Media Type" },
		{ 417, "Expectation Failed" },
		{ 431, "Request Header Fields Too Large" },
		{ 503, "Service Unavailable" },
		{ 505, "HTTP Version Not Supported" },
	};
	size_t	 i;

	for (i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (table[i].status == status)
			return table[i].reason;
	return "Error";
}

/* Digits only; leading zeros do no harm. */
static int
number(const char *s, int64_t *n)
{
	size_t	 i;
	int64_t	 v = 0;

	for (i = 0; s[i] >= '0' && s[i] <= '9'; i++) {
		if (i == LENGTH_DIGITS)
			return -1;
		v = v * 10 + (s[i] - '0');
	}
	if (i == 0 || s[i] != '\0')
		return -1;
	*n = v;
	return 0;
}

static int
is_token(const char *s)
{
	size_t	 n = strspn(s, "!#$%&'*+-.^_`|~0123456789"
		    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");

	return n > 0 && s[n] == '\0';
}

static int
is_host(const char *s)
{
	return s[strspn(s, "0123456789abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ.-_~%!$&'()*+,;=:[]")] == '\0';
}

static int
bad(struct http_error *e, int status, const char *why)
{
	e->status = status;
	e->why = why;
	return -1;
}
