/*
 * URLs and headers: what is taken has one plain form, and a host that our
 * rules let pass; what is refused has a reason.  Ranges of HOOK_ALLOW_NET too.
 */
#include <curl/curl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "url.h"

int	 LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static void
taken(const char *url, const struct addr_allow *none)
{
	const char	*p;
	CURLU		*u = curl_url();
	char		*host = NULL, *user = NULL;

	for (p = url; *p != '\0'; p++)
		if (*p <= ' ' || *p == 0x7f || *p == '\\' || *p == '#')
			abort();
	if (u == NULL || curl_url_set(u, CURLUPART_URL, url, 0) != CURLUE_OK ||
	    curl_url_get(u, CURLUPART_HOST, &host, 0) != CURLUE_OK ||
	    curl_url_get(u, CURLUPART_USER, &user, 0) != CURLUE_NO_USER)
		abort();
	if (!addr_host_may(none, host))
		abort();
	curl_free(host);
	curl_url_cleanup(u);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct addr_allow	 none;
	struct addr_allow		 allow;
	struct buf			 shown = BUF_INIT(1 << 20);
	char				*text, *value;
	const char			*why = NULL, *bad = NULL;

	if ((text = strndup((const char *)data, size)) == NULL)
		return 0;
	if (url_check(text, &none, &why) == 0)
		taken(text, &none);
	else if (why == NULL)
		abort();
	if (url_redact(text, &shown) == -1)
		abort();
	if (shown.len > strlen(text) + 6)
		abort();
	buf_free(&shown);

	addr_host_may(&none, text);
	if (addr_allow_parse(&allow, text, &bad) == -1) {
		if (bad < text || bad >= text + strlen(text) || allow.n != 0)
			abort();
	} else if (addr_host_may(&none, text) && !addr_host_may(&allow, text))
		abort();

	value = text;
	strsep(&value, ":");
	why = NULL;
	if (header_check(text, value == NULL ? "x" : value, &why) == -1) {
		if (why == NULL)
			abort();
	} else if (strpbrk(text, " \r\n\t:") != NULL ||
	    (value != NULL && strpbrk(value, "\r\n") != NULL))
		abort();
	free(text);
	return 0;
}
