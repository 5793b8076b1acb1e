/*
 * http.h - HTTP/1.1 requests, read strictly (RFC 9112).  Pure.
 *
 * Whatever two programs could read in two ways is refused, since the one in
 * front of us may have read it the other way: line ends that are not CR LF,
 * folded lines, NUL and other control bytes, space before a colon, two
 * lengths, a length beside a transfer coding, a coding other than "chunked",
 * numbers with a sign.  libmicrohttpd 0.9.75 takes nearly all of these even
 * when told to be strict, and a folded line's header under a wrong name,
 * which is why the head is read here.
 *
 * Errors: -1, with the status to answer with and a static phrase.
 */
#ifndef HTTP_H
#define HTTP_H

#include <stddef.h>
#include <stdint.h>

#include "buf.h"

#define HTTP_HEAD_MAX	(64 * 1024)	/* bytes, first line included */
#define HTTP_HEADERS	128		/* lines */
#define HTTP_CHUNKED	(-1)		/* instead of a length */

struct http_error {
	int		 status;
	const char	*why;
};

struct http_request {
	const char	*method, *target;
	const char	*host;		/* NULL: none, which HTTP/1.0 may */
	int		 hosts, absolute;	/* Host lines; target has it */
	int		 minor;		/* of HTTP/1.x: 0 or 1 */
	int		 keep;		/* the connection, after this */
	int		 expects;	/* 100-continue */
	int64_t		 length;	/* of the body, or HTTP_CHUNKED */
	size_t		 nheader;
	struct http_header {
		const char	*name, *value;	/* no space around it */
	}		 header[HTTP_HEADERS];
};

/*
 * Is the head complete?  Its length with the empty line; 0 not yet; -1 it can
 * never be a good one.  *seen is how much was looked at before: 0 at first.
 */
int	 http_complete(const char *, size_t len, size_t *seen,
	    struct http_error *);

/* Read a complete head, which is cut up in place; 0 or -1. */
int	 http_head(char *, size_t len, struct http_request *,
	    struct http_error *);

/* A chunked body as it comes in pieces. */
struct http_chunks {
	int		 state;		/* 0 at first, like the others */
	int		 digits;
	uint64_t	 left;		/* bytes of this chunk */
	size_t		 extra;		/* bytes of extensions and trailers */
};

/*
 * Append what of in[len] is content; *used is how much of it was read.
 * 1 the body is complete; 0 more must come; -1 (413: it outgrows out->max;
 * 503: no memory).
 */
int	 http_chunks(struct http_chunks *, const char *in, size_t len,
	    size_t *used, struct buf *out, struct http_error *);

/* "Not Found" for 404; for the statuses that this suite answers with. */
const char *http_reason(int status);

#endif /* HTTP_H */
