#include <openssl/crypto.h>
#include <string.h>
#include <strings.h>

#include "handshake.h"
#include "member.h"
#include "message.h"
#include "out.h"

#define TOKEN_MAX	256	/* bytes that we may be made to sign */

static int	 discord(const struct sign_message *, struct handshake *);
static int	 dropbox(const char *, char *const *, size_t,
		    struct handshake *);
static int	 is(const struct sign_message *, const char *, const char *);
static int	 meta(const char *, char *const *, size_t,
		    struct handshake *);
static int	 notion(const struct sign_message *);
static int	 param(const char *, const char *, struct buf *);
static int	 same(const char *, const struct buf *);
static int	 slack(const struct sign_message *, struct handshake *);
static int	 text_of(const struct sign_message *, const char *,
		    struct buf *);
static int	 twitch(const struct sign_message *, struct handshake *);
static int	 unescape(const char *, size_t, struct buf *);
static int	 zoom(const struct sign_message *, const struct sign_key *,
		    struct handshake *);

static int
named(const struct sign_scheme *s, const char *name)
{
	return strcmp(sign_scheme_name(s), name) == 0;
}

int
handshake_gets(const struct sign_scheme *s)
{
	return named(s, "meta_facebook_whatsapp") || named(s, "dropbox");
}

int
handshake_bare(const struct sign_scheme *s)
{
	return named(s, "xero");
}

int
handshake_get(const struct sign_scheme *s, const char *query,
    char *const *word, size_t nword, struct handshake *h)
{
	if (query == NULL)
		return 0;
	return named(s, "dropbox") ? dropbox(query, word, nword, h) :
	    named(s, "meta_facebook_whatsapp") ? meta(query, word, nword, h) :
	    0;
}

int
handshake_post(const struct sign_scheme *s, const struct sign_message *m,
    const struct sign_key *key, struct handshake *h)
{
	return named(s, "slack") ? slack(m, h) :
	    named(s, "zoom") ? zoom(m, key, h) :
	    named(s, "discord") ? discord(m, h) :
	    named(s, "twitch") ? twitch(m, h) :
	    named(s, "notion") ? notion(m) : 0;
}

static int
dropbox(const char *query, char *const *word, size_t nword,
    struct handshake *h)
{
	(void)word;
	(void)nword;
	return param(query, "challenge", &h->body) == 1;
}

/* hub.mode=subscribe&hub.verify_token=WORD&hub.challenge=TEXT */
static int
meta(const char *query, char *const *word, size_t nword, struct handshake *h)
{
	struct buf	 mode = BUF_INIT(64), token = BUF_INIT(4096);
	size_t		 i;
	int		 good = 0;

	if (param(query, "hub.mode", &mode) == 1 &&
	    strcmp(mode.s, "subscribe") == 0 &&
	    param(query, "hub.verify_token", &token) == 1)
		for (i = 0; i < nword; i++)
			good |= same(word[i], &token);
	if (good)
		good = param(query, "hub.challenge", &h->body) == 1;
	buf_free(&mode);
	buf_wipe(&token);
	return good;
}

/* {"type":"url_verification","challenge":"TEXT"} */
static int
slack(const struct sign_message *m, struct handshake *h)
{
	return is(m, ".type", "url_verification") &&
	    text_of(m, ".challenge", &h->body);
}

/*
 * {"event":"endpoint.url_validation","payload":{"plainToken":"TEXT"}}.  What
 * we sign for them must never be what a message is signed by, "v0:...".
 */
static int
zoom(const struct sign_message *m, const struct sign_key *key,
    struct handshake *h)
{
	struct buf	 token = BUF_INIT(TOKEN_MAX);
	int		 good;

	h->type = "application/json";
	good = is(m, ".event", "endpoint.url_validation") &&
	    text_of(m, ".payload.plainToken", &token) && token.s != NULL &&
	    memchr(token.s, ':', token.len) == NULL &&
	    buf_adds(&h->body, "{\"plainToken\":") == 0 &&
	    out_string(&h->body, token.s, token.len) == 0 &&
	    buf_adds(&h->body, ",\"encryptedToken\":\"") == 0 &&
	    message_hmac(key, token.s, token.len, &h->body) == 0 &&
	    buf_adds(&h->body, "\"}") == 0;
	buf_free(&token);
	return good;
}

/*
 * Of an interactions URL {"type":1}; of a URL for events, where type 1 is an
 * event, {"version":1,"type":0}.
 */
static int
discord(const struct sign_message *m, struct handshake *h)
{
	struct member	 event;

	if (is(m, ".type", "1") && member_find(m->body, m->body_len,
	    ".event", &event) == 0) {
		h->type = "application/json";
		return buf_adds(&h->body, "{\"type\":1}") == 0;
	}
	if (is(m, ".type", "0") && is(m, ".version", "1")) {
		h->status = 204;
		return 1;
	}
	return 0;
}

static int
twitch(const struct sign_message *m, struct handshake *h)
{
	size_t	 i;

	for (i = 0; i < m->nheader; i++)
		if (strcasecmp(m->header[i].name,
		    "twitch-eventsub-message-type") == 0)
			return strcmp(m->header[i].value,
			    "webhook_callback_verification") == 0 &&
			    text_of(m, ".challenge", &h->body);
	return 0;
}

/* {"verification_token":"TEXT"}: offer.h has those without a signature. */
static int
notion(const struct sign_message *m)
{
	struct member	 v;

	return m->body_len > 0 &&
	    member_find(m->body, m->body_len, ".verification_token", &v) == 1
	    && member_find(m->body, m->body_len, ".type", &v) == 0;
}

/* Append a member's text: 1, or 0 if it has none. */
static int
text_of(const struct sign_message *m, const char *path, struct buf *out)
{
	struct member	 v;

	return m->body_len > 0 &&
	    member_find(m->body, m->body_len, path, &v) == 1 &&
	    member_text(&v, out) == 1;
}

static int
is(const struct sign_message *m, const char *path, const char *want)
{
	struct buf	 b = BUF_INIT(64);
	int		 yes;

	yes = text_of(m, path, &b) && b.len == strlen(want) &&
	    memcmp(b.s, want, b.len) == 0;
	buf_free(&b);
	return yes;
}

/* A parameter of a query: 1; 0 it is not there; -1 malformed, or twice. */
static int
param(const char *query, const char *name, struct buf *out)
{
	struct buf	 key = BUF_INIT(256);
	const char	*p, *value;
	size_t		 len, klen;
	int		 n = 0;

	for (p = query; n != -1; p += len + 1) {
		len = strcspn(p, "&");
		klen = strcspn(p, "=&");
		value = p[klen] == '=' ? p + klen + 1 : p + klen;
		buf_reset(&key);
		if (unescape(p, klen, &key) == 0 && key.s != NULL &&
		    key.len == strlen(name) &&
		    memcmp(key.s, name, key.len) == 0 && (++n > 1 ||
		    unescape(value, len - (size_t)(value - p), out) == -1))
			n = -1;
		if (p[len] == '\0')
			break;
	}
	buf_free(&key);
	return n == 1 && out->s == NULL ? 0 : n;
}

/* %41 and + of a form; -1 if it is none, or too long. */
static int
unescape(const char *s, size_t len, struct buf *out)
{
	static const char	 hex[] = "0123456789abcdef0123456789ABCDEF";
	const char		*hi, *lo;
	size_t			 i;
	char			 c;

	for (i = 0; i < len; i++) {
		c = s[i] == '+' ? ' ' : s[i];
		if (c == '%') {
			if (len - i < 3 || (hi = strchr(hex, s[i + 1])) ==
			    NULL || (lo = strchr(hex, s[i + 2])) == NULL)
				return -1;
			c = (char)((hi - hex) % 16 * 16 + (lo - hex) % 16);
			i += 2;
		}
		if (buf_add(out, &c, 1) == -1)
			return -1;
	}
	return 0;
}

/* In a time that does not tell how much of it is right. */
static int
same(const char *word, const struct buf *given)
{
	return word[0] != '\0' && strlen(word) == given->len &&
	    CRYPTO_memcmp(word, given->s, given->len) == 0;
}
