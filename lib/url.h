/*
 * url.h - is this a URL and are these headers that we would send to?
 *
 * One parser, libcurl's, for the check and for the request.  Used by hook-sub
 * when they are typed, and by hook-deliver again, since they may have come
 * into the table by SQL.
 *
 * Errors: -1 with *why, a static phrase that fits after "url: ".
 */
#ifndef URL_H
#define URL_H

#include "addr.h"
#include "buf.h"

#define URL_MAX		2048		/* bytes */
#define HEADERS_MAX	8192		/* bytes, names and values together */

/*
 * http or https, a host that may be dialled as far as its spelling tells, no
 * credentials, no fragment, port 1..65535, no control character, space or
 * backslash, at most URL_MAX bytes.
 */
int	 url_check(const char *url, const struct addr_allow *,
	    const char **why);

/* Append the URL without its query, "?..." in place of one: for people. */
int	 url_redact(const char *url, struct buf *out);

/*
 * One constant header of an operator's own: an RFC 9110 token that is none of
 * ours (webhook-*, x-webhook-id, x-webhook-signature, content-type,
 * content-length, host, user-agent, transfer-encoding, connection, expect,
 * te, trailer, upgrade, accept-encoding, proxy-*, keep-alive), and a value
 * without CR, LF, NUL or other control characters but tab, valid UTF-8.
 */
int	 header_check(const char *name, const char *value, const char **why);

#endif /* URL_H */
