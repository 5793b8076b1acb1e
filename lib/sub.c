#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "db.h"
#include "sub.h"
#include "url.h"

#define SECRET_MAX	4096	/* bytes, sealed or not */

static void	 broken(struct sub *, const char *, const char *, int);
static char	*copy(const struct db *, int, int);
static void	 load_headers(struct sub *, const char *);
static void	 load_keys(struct sub *, const char *, const struct seal *);
static void	 load_key(struct sub *, char *, int64_t, const struct seal *);
static void	 load_retries(struct sub *, const char *);

struct sub *
sub_load(const struct db *db, int row, const struct seal *seal,
    const struct addr_allow *allow)
{
	struct buf	 shown = BUF_INIT(URL_MAX + 16);
	struct sub	*s;
	const char	*why, *t;

	if ((s = calloc(1, sizeof(*s))) == NULL)
		return NULL;
	s->id = db_int(db, row, 0);
	s->revision = db_int(db, row, 1);
	s->active = strcmp(db_col(db, row, 2), "active") == 0;
	s->url = copy(db, row, 4);
	if (db_col(db, row, 5) != NULL)
		s->transform = copy(db, row, 5);
	s->cap = (int)db_int(db, row, 7);
	t = db_col(db, row, 8);
	s->rate = t == NULL ? 0 : strtod(t, NULL);
	s->ordered = *db_col(db, row, 9) == 't';
	s->timeout_ms = (int)db_int(db, row, 10);
	load_retries(s, db_col(db, row, 11));
	s->raw = *db_col(db, row, 12) == 't';
	s->legacy = *db_col(db, row, 13) == 't';
	s->retry_4xx = *db_col(db, row, 14) == 't';
	s->failing_since = db_int(db, row, 15);
	s->deadline_ms = db_int(db, row, 17);
	if (s->url == NULL ||
	    (db_col(db, row, 5) != NULL && s->transform == NULL) ||
	    (strlen(s->url) > URL_MAX ? buf_adds(&shown, "...") :
	    url_redact(s->url, &shown)) == -1) {
		buf_free(&shown);
		sub_free(s);
		return NULL;
	}
	s->shown = shown.s;

	if (url_check(s->url, allow, &why) == -1)
		broken(s, "url", why, 1);
	load_headers(s, db_col(db, row, 6));
	load_keys(s, db_col(db, row, 16), seal);
	return s;
}

void
sub_free(struct sub *s)
{
	size_t	 i;

	if (s == NULL)
		return;
	for (i = 0; i < s->nkey; i++)
		sign_key_free(s->key[i]);
	for (i = 0; i < s->nheader; i++)
		free(s->header[i]);
	free(s->url);
	free(s->shown);
	free(s->transform);
	free(s);
}

static char *
copy(const struct db *db, int row, int col)
{
	const char	*s = db_col(db, row, col);

	return strdup(s == NULL ? "" : s);
}

static void
broken(struct sub *s, const char *what, const char *why, int for_good)
{
	if (s->broken != NULL && s->for_good >= for_good)
		return;
	snprintf(s->why, sizeof(s->why), "%s: %s", what, why);
	s->broken = s->why;
	s->for_good = for_good;
}

static void
load_retries(struct sub *s, const char *list)
{
	char	*end;

	while (*list != '\0' && s->nretry < SUB_RETRIES) {
		s->retry_ms[s->nretry++] = strtoll(list, &end, 10);
		list = *end == ',' ? end + 1 : end;
	}
}

/* name U+001F value U+001F name ...; NULL if one holds a control character */
static void
load_headers(struct sub *s, const char *list)
{
	char		*text, *rest, *name, *value;
	const char	*why;

	if (list == NULL) {
		broken(s, "header", "control character", 1);
		return;
	}
	if ((text = rest = strdup(list)) == NULL) {
		broken(s, "send", "out of memory", 0);
		return;
	}
	while ((name = strsep(&rest, "\x1f")) != NULL && *list != '\0') {
		value = strsep(&rest, "\x1f");
		if (value == NULL || header_check(name, value, &why) == -1)
			broken(s, "header", value == NULL ? "no value" : why,
			    1);
		else if (s->nheader == SUB_HEADERS)
			broken(s, "header", "too many", 1);
		/* libcurl takes "Name;" for a header without a value. */
		else if (asprintf(&s->header[s->nheader], *value == '\0' ?
		    "%s;" : "%s: %s", name, value) == -1)
			broken(s, "send", "out of memory", 0);
		else
			s->nheader++;
	}
	free(text);
}

/* secret U+001E expiry U+001F secret ... */
static void
load_keys(struct sub *s, const char *list, const struct seal *seal)
{
	char	*text, *rest, *secret, *expiry;

	if (list == NULL) {
		broken(s, "secret", "none is live", 0);
		return;
	}
	if ((text = rest = strdup(list)) == NULL) {
		broken(s, "send", "out of memory", 0);
		return;
	}
	while ((expiry = strsep(&rest, "\x1f")) != NULL) {
		secret = strsep(&expiry, "\x1e");
		load_key(s, secret, expiry == NULL ? 0 :
		    strtoll(expiry, NULL, 10), seal);
	}
	explicit_bzero(text, strlen(list));
	free(text);
}

/* One that can't be used must not be left out in silence. */
static void
load_key(struct sub *s, char *stored, int64_t expires,
    const struct seal *seal)
{
	struct buf		 plain = BUF_INIT(SECRET_MAX);
	const char		*why;
	char			 context[24];

	if (s->nkey == SUB_KEYS) {
		broken(s, "secret", "too many are live", 0);
		return;
	}
	snprintf(context, sizeof(context), "%" PRId64, s->id);
	if (seal_open(seal, context, stored, &plain, &why) == -1)
		broken(s, "secret", why, 0);
	else if ((s->key[s->nkey] = sign_key(sign_scheme("standard_webhooks"),
	    plain.s == NULL ? "" : plain.s, 1, &why)) == NULL)
		broken(s, "secret", why, 0);
	else
		s->expires[s->nkey++] = expires;
	buf_wipe(&plain);
}

static int
add_line(struct buf *text, size_t *at, size_t *n, const char *line)
{
	at[(*n)++] = text->len;
	return buf_add(text, line, strlen(line) + 1);
}

/* "webhook-signature: v1,... v1,...", newest key first. */
static int
add_signatures(const struct sub *s, const char *event_id, int64_t now_s,
    const void *body, size_t len, struct buf *text)
{
	size_t	 i, some = 0;

	if (buf_adds(text, "webhook-signature: ") == -1)
		return -1;
	for (i = 0; i < s->nkey; i++) {
		if (s->expires[i] != 0 && s->expires[i] <= now_s)
			continue;
		if (some++ > 0 && buf_adds(text, " ") == -1)
			return -1;
		if (sign_standard(s->key[i], event_id, now_s, body, len,
		    text) == -1)
			return -1;
	}
	return some == 0 ? -1 : buf_add(text, "", 1);
}

/* With each key that can: an ed25519 key makes no such signature. */
static int
add_legacy(const struct sub *s, int64_t now_s, const void *body, size_t len,
    struct buf *text)
{
	size_t	 i;
	int	 some = 0;

	if (buf_adds(text, "X-Webhook-Signature: ") == -1)
		return -1;
	for (i = 0; i < s->nkey; i++)
		if ((s->expires[i] == 0 || s->expires[i] > now_s) &&
		    sign_legacy(s->key[i], now_s, body, len, some,
		    text) == 0)
			some = 1;
	return buf_add(text, "", 1);
}

int
sub_request(const struct sub *s, const char *event_id, int64_t now_s,
    const void *body, size_t len, struct buf *text, struct send_request *req)
{
	size_t	 at[SEND_HEADERS], n = 0, i;
	char	 line[128];

	buf_reset(text);
	memset(req, 0, sizeof(*req));
	/* An empty value keeps libcurl's own header of that name out. */
	if (add_line(text, at, &n, "Accept:") == -1 ||
	    add_line(text, at, &n, "Expect:") == -1 ||
	    add_line(text, at, &n, "Content-Type: application/json") == -1 ||
	    add_line(text, at, &n, "User-Agent: hookutils/" VERSION) == -1)
		goto fail;
	snprintf(line, sizeof(line), "webhook-id: %s", event_id);
	if (add_line(text, at, &n, line) == -1)
		goto fail;
	snprintf(line, sizeof(line), "webhook-timestamp: %" PRId64, now_s);
	if (add_line(text, at, &n, line) == -1)
		goto fail;
	at[n++] = text->len;
	if (add_signatures(s, event_id, now_s, body, len, text) == -1)
		goto fail;
	if (s->legacy) {
		snprintf(line, sizeof(line), "X-Webhook-ID: %s", event_id);
		if (add_line(text, at, &n, line) == -1)
			goto fail;
		at[n++] = text->len;
		if (add_legacy(s, now_s, body, len, text) == -1)
			goto fail;
	}
	/* Copied, since a reload may free s while the request runs. */
	for (i = 0; i < s->nheader; i++)
		if (add_line(text, at, &n, s->header[i]) == -1)
			goto fail;
	for (i = 0; i < n; i++)
		req->header[req->nheader++] = text->s + at[i];
	req->url = s->url;
	req->body = body;
	req->body_len = len;
	req->timeout_ms = s->timeout_ms;
	req->now_s = now_s;
	return 0;
fail:
	buf_reset(text);
	return -1;
}
