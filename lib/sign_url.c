/*
 * sign_url.c - URLs and forms, as the schemes that sign them write them.
 */
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base64.h"
#include "sign_int.h"

#define FIELDS_MAX	4096		/* in a form */

struct field {
	const char	*name, *value;
	size_t		 name_len, value_len;
};

static int	 add_plain(const char *, struct buf *);
static const char *port_of(const char *, const char **);
static int	 hash_in_url(const struct sign_message *);
static int	 by_name_then_value(const void *, const void *);
static int	 compare(const char *, size_t, const char *, size_t);
static int	 read_fields(const struct sign_message *, struct field *,
		    size_t *, struct buf *, const char **);
static int	 decode(const char *, size_t, struct buf *);

/*
 * Twilio: without the port, and with it or the scheme's own; and of what it
 * encodes in the query when it sends, some it does not when it signs.
 */
int
scheme_url_port(const char *url, int form, struct buf *out)
{
	const char	*end, *port, *query;
	size_t		 before;

	if (form > 3)
		return 0;
	port = port_of(url, &end);
	query = end + strcspn(end, "?");
	if (buf_add(out, url, (size_t)(port - url)) == -1)
		return -1;
	if (form % 2 == 1 && (port < end ?
	    buf_add(out, port, (size_t)(end - port)) :
	    buf_adds(out, strncasecmp(url, "https:", 6) == 0 ? ":443" :
	    ":80")) == -1)
		return -1;
	if (form < 2)
		return buf_adds(out, end) == -1 ? -1 : 1;
	before = out->len + (size_t)(query - end);
	if (buf_add(out, end, (size_t)(query - end)) == -1 ||
	    add_plain(query, out) == -1)
		return -1;
	return out->len - before < strlen(query);
}

/* HubSpot: as it is, and with these characters not encoded. */
int
scheme_url_hubspot(const char *url, int form, struct buf *out)
{
	size_t	 before = out->len;

	if (form == 0)
		return buf_adds(out, url) == -1 ? -1 : 1;
	if (form > 1)
		return 0;
	return add_plain(url, out) == -1 ? -1 : out->len > before;
}

static int
add_plain(const char *url, struct buf *out)
{
	static const char	 plain[] = ":/?@!$'()*,;";
	unsigned char		 c;

	for (; *url != '\0'; url++) {
		c = (unsigned char)*url;
		if (c == '%' && url[1] != '\0' && url[2] != '\0' &&
		    hex_decode(url + 1, 2, &c, 1) == 1 && c != '\0' &&
		    strchr(plain, c) != NULL)
			url += 2;
		else
			c = (unsigned char)*url;
		if (buf_add(out, &c, 1) == -1)
			return -1;
	}
	return 0;
}

/*
 * The fields of the body by name, then value, each once, with nothing between
 * them; nothing if the URL has the body's hash, so that it is signed there.
 */
int
scheme_form(const struct sign_message *m, struct buf *out, const char **why)
{
	struct field	*f, *last = NULL;
	struct buf	 text = BUF_INIT(SIZE_MAX - 1);
	size_t		 i, n = 0;
	int		 rc = -1, hash = hash_in_url(m);

	*why = "out of memory";
	if (hash == 1 || (m->body_len == 0 && hash == 0))
		return 0;
	/* Room for all, so that nothing moves: decoded, it is no longer. */
	if ((f = calloc(FIELDS_MAX, sizeof(*f))) == NULL ||
	    buf_room(&text, m->body_len) == -1 ||
	    read_fields(m, f, &n, &text, why) == -1)
		goto out;
	if (n == 0 && hash == -1) {
		*why = "body is not the one of bodySHA256 in the URL";
		goto out;
	}
	qsort(f, n, sizeof(*f), by_name_then_value);
	for (i = 0; i < n; i++) {
		if (last != NULL && by_name_then_value(last, &f[i]) == 0)
			continue;
		last = &f[i];
		if (buf_add(out, last->name, last->name_len) == -1 ||
		    buf_add(out, last->value, last->value_len) == -1)
			goto out;
	}
	rc = 0;
out:
	free(f);
	buf_free(&text);
	return rc;
}

/* Where ":port" is or would be; *end is behind it. */
static const char *
port_of(const char *url, const char **end)
{
	const char	*host, *p, *at;

	host = (p = strstr(url, "://")) == NULL ? url : p + 3;
	*end = host + strcspn(host, "/?#");
	for (at = host; at < *end; at++)
		if (*at == '@')
			host = at + 1;
	p = host;
	if (*p == '[')
		while (p < *end && *p != ']')
			p++;
	while (p < *end && *p != ':')
		p++;
	return p;
}

/* "bodySHA256=" in the query: 1 this body's, -1 another's, 0 none. */
static int
hash_in_url(const struct sign_message *m)
{
	static const char	 name[] = "bodySHA256=";
	unsigned char		 ours[EVP_MAX_MD_SIZE], theirs[32];
	const char		*p = strchr(m->url, '?');
	size_t			 n;

	for (; p != NULL && *p != '\0' && *p != '#'; p += n) {
		n = strcspn(++p, "&#");
		if (strncmp(p, name, sizeof(name) - 1) != 0)
			continue;
		p += sizeof(name) - 1;
		n -= sizeof(name) - 1;
		return hex_decode(p, n, theirs, sizeof(theirs)) == 32 &&
		    EVP_Digest(m->body_len == 0 ? "" : m->body, m->body_len,
		    ours, NULL, EVP_sha256(), NULL) == 1 &&
		    CRYPTO_memcmp(ours, theirs, 32) == 0 ? 1 : -1;
	}
	return 0;
}

static int
by_name_then_value(const void *a, const void *b)
{
	const struct field	*x = a, *y = b;
	int			 c;

	c = compare(x->name, x->name_len, y->name, y->name_len);
	return c != 0 ? c :
	    compare(x->value, x->value_len, y->value, y->value_len);
}

/* By bytes, so by code points of UTF-8; a shorter one comes first. */
static int
compare(const char *a, size_t a_len, const char *b, size_t b_len)
{
	int	 c = memcmp(a, b, a_len < b_len ? a_len : b_len);

	return c != 0 ? c : (a_len > b_len) - (a_len < b_len);
}

static int
read_fields(const struct sign_message *m, struct field *f, size_t *n,
    struct buf *text, const char **why)
{
	const char	*p = m->body, *end = p + m->body_len, *amp, *eq;

	for (; p < end; p = amp + 1) {
		if ((amp = memchr(p, '&', (size_t)(end - p))) == NULL)
			amp = end;
		if (amp == p)
			continue;
		if (*n == FIELDS_MAX) {
			*why = "more than 4096 form fields";
			return -1;
		}
		if ((eq = memchr(p, '=', (size_t)(amp - p))) == NULL)
			eq = amp;
		f[*n].name = text->s + text->len;
		if (decode(p, (size_t)(eq - p), text) == -1)
			return -1;
		f[*n].name_len = (size_t)(text->s + text->len - f[*n].name);
		f[*n].value = text->s + text->len;
		if (eq < amp && decode(eq + 1, (size_t)(amp - eq - 1), text) ==
		    -1)
			return -1;
		f[*n].value_len = (size_t)(text->s + text->len - f[*n].value);
		(*n)++;
		if (amp == end)
			break;
	}
	return 0;
}

/* '+' is a space, %XX a byte; any other '%' stays. */
static int
decode(const char *s, size_t len, struct buf *out)
{
	unsigned char	 byte;
	size_t		 i;

	for (i = 0; i < len; i++) {
		if (s[i] == '%' && len - i > 2 &&
		    hex_decode(s + i + 1, 2, &byte, 1) == 1)
			i += 2;
		else
			byte = s[i] == '+' ? ' ' : (unsigned char)s[i];
		if (buf_add(out, &byte, 1) == -1)
			return -1;
	}
	return 0;
}
