#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "outside.h"

#define PROXIES_MAX	16	/* hops looked at */

static int	 address(const char *, size_t, struct sockaddr_storage *);
static const char *last(const struct http_request *, const char *, size_t *);

int
outside_url(const struct http_request *r, const char *public_url,
    const struct sockaddr_storage *peer, const struct addr_allow *proxies,
    struct buf *out)
{
	const char	*query = strchr(r->target, '?');
	const char	*scheme = "http", *host = r->host, *s;
	size_t		 scheme_len = 4, host_len, n;

	if (public_url != NULL) {
		n = strcspn(public_url, "?");
		return buf_add(out, public_url, n) == -1 ||
		    (query != NULL && buf_adds(out, query) == -1) ? -1 : 0;
	}
	if (host == NULL)
		host = "";
	host_len = strlen(host);
	if (addr_listed(proxies, (const struct sockaddr *)peer)) {
		s = last(r, "x-forwarded-proto", &n);
		if (s != NULL && ((n == 5 && strncasecmp(s, "https", n) ==
		    0) || (n == 4 && strncasecmp(s, "http", n) == 0))) {
			scheme = n == 5 ? "https" : "http";
			scheme_len = n;
		}
		s = last(r, "x-forwarded-host", &n);
		if (s != NULL && n > 0) {
			host = s;
			host_len = n;
		}
	}
	return buf_add(out, scheme, scheme_len) == -1 ||
	    buf_adds(out, "://") == -1 || buf_add(out, host, host_len) == -1 ||
	    buf_adds(out, r->target) == -1 ? -1 : 0;
}

/* The element that the nearest proxy wrote: the last of the last line. */
static const char *
last(const struct http_request *r, const char *name, size_t *len)
{
	const char	*s;
	size_t		 i;

	for (i = r->nheader; i > 0; i--) {
		if (strcasecmp(r->header[i - 1].name, name) != 0)
			continue;
		s = r->header[i - 1].value;
		if (strrchr(s, ',') != NULL)
			s = strrchr(s, ',') + 1;
		s += strspn(s, " \t");
		*len = strcspn(s, " \t");
		return s;
	}
	return NULL;
}

void
outside_address(const struct http_request *r,
    const struct sockaddr_storage *peer, const struct addr_allow *proxies,
    char text[64])
{
	struct sockaddr_storage	 at = *peer, next;
	const char		*s = NULL, *end, *p;
	size_t			 i;
	int			 hop;

	for (i = 0; r != NULL && i < r->nheader; i++)
		if (strcasecmp(r->header[i].name, "x-forwarded-for") == 0)
			s = r->header[i].value;
	/* From the right, as long as who wrote it is one of ours. */
	end = s == NULL ? NULL : s + strlen(s);
	for (hop = 0; s != NULL && end > s && hop < PROXIES_MAX &&
	    addr_listed(proxies, (const struct sockaddr *)&at); hop++) {
		for (p = end; p > s && p[-1] != ','; p--)
			continue;
		if (address(p, (size_t)(end - p), &next) == -1)
			break;
		at = next;
		end = p > s ? p - 1 : s;
	}
	if (at.ss_family == AF_INET)
		inet_ntop(AF_INET, &((struct sockaddr_in *)&at)->sin_addr,
		    text, 64);
	else if (at.ss_family == AF_INET6)
		inet_ntop(AF_INET6, &((struct sockaddr_in6 *)&at)->sin6_addr,
		    text, 64);
	else
		snprintf(text, 64, "local");
}

static int
address(const char *s, size_t len, struct sockaddr_storage *ss)
{
	char	 text[64];

	while (len > 0 && (*s == ' ' || *s == '\t'))
		s++, len--;
	while (len > 0 && (s[len - 1] == ' ' || s[len - 1] == '\t'))
		len--;
	if (len == 0 || len >= sizeof(text))
		return -1;
	memcpy(text, s, len);
	text[len] = '\0';
	memset(ss, 0, sizeof(*ss));
	ss->ss_family = AF_INET;
	if (inet_pton(AF_INET, text,
	    &((struct sockaddr_in *)ss)->sin_addr) == 1)
		return 0;
	ss->ss_family = AF_INET6;
	return inet_pton(AF_INET6, text,
	    &((struct sockaddr_in6 *)ss)->sin6_addr) == 1 ? 0 : -1;
}
