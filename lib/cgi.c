/*
 * cgi.c - a request from the variables of CGI.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cgi.h"

static const char *header_of(const char *, size_t *);
static const char *get(const char *);
static int	 is_https(void);
static int	 add_host(int, struct buf *);
static int	 add_path(struct buf *);

int
cgi_headers(struct sign_header *header, size_t max)
{
	char		**env, *name, *p;
	const char	*from, *eq;
	size_t		 n = 0, len;

	for (env = environ; *env != NULL; env++) {
		if ((eq = strchr(*env, '=')) == NULL)
			continue;
		len = (size_t)(eq - *env);
		if ((from = header_of(*env, &len)) == NULL)
			continue;
		if (n == max) {
			errno = E2BIG;
			return -1;
		}
		if ((name = strndup(from, len)) == NULL)
			return -1;
		for (p = name; *p != '\0'; p++)
			if (*p == '_')
				*p = '-';
		header[n].name = name;
		header[n++].value = eq + 1;
	}
	return (int)n;
}

int
cgi_url(struct buf *out)
{
	size_t		 before = out->len;
	const char	*uri = get("REQUEST_URI");
	int		 https = is_https(), rc;

	/* What came as "GET http://host/path" is whole. */
	if (uri != NULL && (strncasecmp(uri, "http://", 7) == 0 ||
	    strncasecmp(uri, "https://", 8) == 0))
		return buf_adds(out, uri) == -1 ? -1 : 1;
	if (buf_adds(out, https ? "https://" : "http://") == -1)
		return -1;
	if ((rc = add_host(https, out)) == 1)
		rc = add_path(out);
	if (rc != 1) {
		out->len = before;
		out->s[before] = '\0';
	}
	return rc;
}

/* The name of the header that a variable of so many bytes holds. */
static const char *
header_of(const char *var, size_t *len)
{
	if (*len > 5 && strncmp(var, "HTTP_", 5) == 0) {
		*len -= 5;
		return var + 5;
	}
	return *len == 12 && strncmp(var, "CONTENT_TYPE", 12) == 0 ? var :
	    NULL;
}

/* NULL where it is empty too. */
static const char *
get(const char *name)
{
	const char	*s = getenv(name);

	return s == NULL || *s == '\0' ? NULL : s;
}

static int
is_https(void)
{
	const char	*s = get("HTTPS");

	if (s != NULL)
		return strcasecmp(s, "off") != 0 && strcmp(s, "0") != 0;
	s = get("REQUEST_SCHEME");
	return s != NULL && strcasecmp(s, "https") == 0;
}

static int
add_host(int https, struct buf *out)
{
	const char	*s = get("HTTP_HOST"), *port;

	if (s != NULL)
		return buf_adds(out, s) == -1 ? -1 : 1;
	if ((s = get("SERVER_NAME")) == NULL)
		return 0;
	if (buf_adds(out, s) == -1)
		return -1;
	port = get("SERVER_PORT");
	if (port == NULL || strcmp(port, https ? "443" : "80") == 0)
		return 1;
	return buf_addf(out, ":%s", port) == -1 ? -1 : 1;
}

static int
add_path(struct buf *out)
{
	const char	*s = get("REQUEST_URI"), *info = get("PATH_INFO");
	const char	*query = get("QUERY_STRING");

	if (s != NULL)
		return buf_adds(out, s) == -1 ? -1 : 1;
	if ((s = get("SCRIPT_NAME")) == NULL && info == NULL)
		return 0;
	if ((s != NULL && buf_adds(out, s) == -1) ||
	    (info != NULL && buf_adds(out, info) == -1) ||
	    (query != NULL && buf_addf(out, "?%s", query) == -1))
		return -1;
	return 1;
}
