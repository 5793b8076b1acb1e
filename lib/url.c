/*
 * url.c - is this a URL and are these headers that we would send to?
 *
 * libcurl 7.88 dials 127.0.0.1 for http:/127.0.0.1/ and http:///127.0.0.1/,
 * reads a backslash as part of a name, decodes %31 in a host, and takes port
 * 0.  So the raw text must first be of the one plain form that everybody
 * reads alike; then libcurl's reading of it is judged.
 */
#include <curl/curl.h>
#include <string.h>
#include <strings.h>

#include "opt.h"
#include "url.h"

#define HOST_MAX	253		/* bytes of a name, RFC 1035 */
#define LABEL_MAX	63		/* bytes of a part of it */

static int	 plain(const char *, const char **);
static int	 parsed(CURLU *, const char *, const struct addr_allow *,
		    const char **);
static int	 is_name(const char *);
static int	 refuse(const char **, const char *);
static int	 reserved(const char *);

int
url_check(const char *url, const struct addr_allow *allow, const char **why)
{
	CURLU	*u;
	int	 rc;

	if (plain(url, why) == -1)
		return -1;
	if ((u = curl_url()) == NULL)
		return refuse(why, "out of memory");
	rc = parsed(u, url, allow, why);
	curl_url_cleanup(u);
	return rc;
}

int
url_redact(const char *url, struct buf *out)
{
	const char	*host, *at, *end, *p;

	end = url + strcspn(url, "?#");
	host = strstr(url, "://");
	host = host == NULL || host > end ? url : host + 3;
	host += strspn(host, "/");
	if (host > end)
		host = end;

	for (at = NULL, p = host; p < end && *p != '/'; p++)
		if (*p == '@')
			at = p;
	if (buf_add(out, url, (size_t)(host - url)) == -1)
		return -1;
	if (at != NULL && buf_adds(out, "...") == -1)
		return -1;
	if (at == NULL)
		at = host;
	if (buf_add(out, at, (size_t)(end - at)) == -1)
		return -1;
	return strchr(end, '?') == NULL ? 0 : buf_adds(out, "?...");
}

int
header_check(const char *name, const char *value, const char **why)
{
	static const char	 token[] = "!#$%&'*+-.^_`|~0123456789"
				    "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t			 nlen = strlen(name), vlen = strlen(value);
	const char		*p;

	if (nlen == 0 || name[strspn(name, token)] != '\0')
		return refuse(why, "not a header name");
	if (nlen + vlen > HEADERS_MAX)
		return refuse(why, "header too long");
	if (reserved(name))
		return refuse(why, "header name is reserved");
	if (value[strspn(value, " \t")] == '\0')
		return refuse(why, "header value is empty");
	for (p = value; *p != '\0'; p++)
		if (opt_control(p, 1))
			return refuse(why,
			    "control character in header value");
		else if ((unsigned char)*p >= 0x80)
			return refuse(why, "header value is not ASCII");
	return 0;
}

/* The rules that need no parser. */
static int
plain(const char *url, const char **why)
{
	const char	*host, *end, *p;
	size_t		 len = strlen(url);

	if (len == 0)
		return refuse(why, "empty");
	if (len > URL_MAX)
		return refuse(why, "longer than 2048 bytes");
	for (p = url; *p != '\0'; p++) {
		if ((unsigned char)*p >= 0x80)
			return refuse(why, "not ASCII: write the host in its "
			    "xn-- form, %XX in the path");
		if (*p == ' ' || opt_control(p, 1))
			return refuse(why, "space or control character");
		if (*p == '\\')
			return refuse(why, "backslash");
	}
	if (strncasecmp(url, "http://", 7) == 0)
		host = url + 7;
	else if (strncasecmp(url, "https://", 8) == 0)
		host = url + 8;
	else
		return refuse(why, "does not begin with http:// or https://");
	if (strchr(url, '#') != NULL)
		return refuse(why, "has a fragment (#)");

	end = host + strcspn(host, "/?");
	if (memchr(host, '@', (size_t)(end - host)) != NULL)
		return refuse(why, "has credentials (@ before the path)");
	if (end == host || *host == ':')
		return refuse(why, "has no host");
	if (*host != '[' && memchr(host, '%', (size_t)(end - host)) != NULL)
		return refuse(why, "% in the host");
	if (end[-1] == ':')
		return refuse(why, "port is not 1 to 65535");
	return 0;
}

/* What libcurl makes of it. */
static int
parsed(CURLU *u, const char *url, const struct addr_allow *allow,
    const char **why)
{
	char	*host = NULL, *port = NULL;
	int	 rc = -1;

	switch (curl_url_set(u, CURLUPART_URL, url, CURLU_DISALLOW_USER)) {
	case CURLUE_OK:
		break;
	case CURLUE_BAD_PORT_NUMBER:
		refuse(why, "port is not 1 to 65535");
		goto out;
	case CURLUE_OUT_OF_MEMORY:
		refuse(why, "out of memory");
		goto out;
	default:
		refuse(why, "not a URL");
		goto out;
	}
	if (curl_url_get(u, CURLUPART_HOST, &host, 0) != CURLUE_OK) {
		refuse(why, "has no host");
		goto out;
	}
	if (curl_url_get(u, CURLUPART_PORT, &port, 0) == CURLUE_OK &&
	    strcmp(port, "0") == 0) {
		refuse(why, "port is not 1 to 65535");
		goto out;
	}
	if (*host != '[' && !is_name(host)) {
		refuse(why, "host is not a name");
		goto out;
	}
	if (!addr_host_may(allow, host)) {
		refuse(why, "blocked destination, not a public address");
		goto out;
	}
	rc = 0;
out:
	curl_free(host);
	curl_free(port);
	return rc;
}

/* Labels of a resolvable length, one dot at the end or none? */
static int
is_name(const char *s)
{
	const char	*label = s;
	size_t		 len;

	for (;;) {
		len = strcspn(label, ".");
		if (len == 0 || len > LABEL_MAX)
			return 0;
		label += len;
		if (*label == '.')
			label++;
		if (*label == '\0')
			return (size_t)(label - s) <= HOST_MAX + 1;
	}
}

static int
refuse(const char **why, const char *what)
{
	*why = what;
	return -1;
}

static int
reserved(const char *name)
{
	static const char	*const whole[] = {
		"accept-encoding", "connection", "content-length",
		"content-type", "expect", "host", "keep-alive", "te",
		"trailer", "transfer-encoding", "upgrade", "user-agent",
		"x-webhook-id", "x-webhook-signature",
	};
	size_t			 i;

	if (strncasecmp(name, "webhook-", 8) == 0 ||
	    strncasecmp(name, "proxy-", 6) == 0)
		return 1;
	for (i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
		if (strcasecmp(name, whole[i]) == 0)
			return 1;
	return 0;
}
