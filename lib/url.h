/*
 * url.h - is this a URL and are these headers that we would send to?
 *
 * One parser, libcurl's, for the check and for the request; what libcurl
 * takes too kindly is refused before it is asked.  Used by hook-sub when
 * they are typed, and by hook-deliver again, since they may have come into
 * the table by SQL.
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
 * http://host or https://host, a host that may be dialled as far as its
 * spelling tells, no credentials, no fragment, port 1..65535, at most URL_MAX
 * bytes of ASCII without control characters, space or backslash.  A host
 * outside ASCII must be given in its xn-- form: what libcurl makes of the
 * other depends on the locale, so that check and request could differ.
 */
int	 url_check(const char *url, const struct addr_allow *,
	    const char **why);

/*
 * Append the URL for people: no query, "?..." in place of one; no fragment;
 * "...@" in place of credentials.  Takes what url_check() refuses, too.
 */
int	 url_redact(const char *url, struct buf *out);

/*
 * One constant header of an operator's own: an RFC 9110 token that is none of
 * ours (webhook-*, x-webhook-id, x-webhook-signature, content-type,
 * content-length, host, user-agent, transfer-encoding, connection, expect,
 * te, trailer, upgrade, accept-encoding, proxy-*, keep-alive), and a value
 * of printable ASCII that is not blank: receivers disagree on the encoding of
 * anything else, and a tab may be folded (RFC 9110 5.5).
 */
int	 header_check(const char *name, const char *value, const char **why);

#endif /* URL_H */
