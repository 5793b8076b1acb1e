/*
 * sign_inside.c - schemes whose signature stands inside the body: Adyen's
 * items, of which each has its own, and the making of Mailgun's.
 */
#include <openssl/crypto.h>
#include <stdint.h>
#include <string.h>

#include "base64.h"
#include "member.h"
#include "sign_int.h"

static int	 adyen_item(const struct member *, struct member *,
		    struct buf *);
static int	 add_field(const struct member *, const char *, struct buf *);
static int	 adyen_signature(const struct member *, unsigned char *);
static int	 add_signed(const struct sign_key *, const struct member *,
		    const char **, struct buf *);
static int	 hmac_of(const struct sign_key *, const struct buf *,
		    unsigned char *);
static const char *first_in(const struct member *);

/* Every item has to be good, by any of the keys; *which is the last one's. */
int
scheme_adyen_check(const struct sign_scheme *s, struct sign_key *const *key,
    size_t nkey, const struct sign_message *m, size_t *which,
    const char **why)
{
	struct member	 all, one, item;
	struct buf	 text = BUF_INIT(SIZE_MAX - 1);
	unsigned char	 theirs[32], ours[SCHEME_SIG_MAX];
	const char	*at = NULL;
	size_t		 i = 0, n = 0;
	int		 rc = -1;

	(void)s;
	*why = "no notificationItems in the body";
	if (member_find(m->body, m->body_len, ".notificationItems", &all) != 1)
		return 1;
	while ((rc = member_next(&all, &at, &one)) == 1) {
		n++;
		buf_reset(&text);
		*why = "an item's fields can't be read";
		if (adyen_item(&one, &item, &text) == -1)
			break;
		*why = "an item has no hmacSignature, or a malformed one";
		if (adyen_signature(&item, theirs) == -1)
			break;
		*why = nkey == 0 ? "no secret to check with" : SIGN_DIFFERENT;
		for (i = 0; i < nkey; i++)
			if (hmac_of(key[i], &text, ours) == 0 &&
			    CRYPTO_memcmp(ours, theirs, 32) == 0)
				break;
		if (i == nkey)
			break;
	}
	OPENSSL_cleanse(ours, sizeof(ours));
	buf_free(&text);
	if (rc == -1 || n == 0)
		*why = "notificationItems is no list of items";
	if (rc != 0 || n == 0)
		return 1;
	if (which != NULL)
		*which = i;
	return 0;
}

/* The body with a signature put into each item. */
int
scheme_adyen_make(const struct sign_scheme *s, const struct sign_key *key,
    const char *id, int64_t now, const struct sign_message *m,
    struct buf *out)
{
	struct member	 all, one;
	const char	*at = NULL, *done = m->body;
	size_t		 n = 0;
	int		 rc;

	(void)s;
	(void)id;
	(void)now;
	if (member_find(m->body, m->body_len, ".notificationItems", &all) != 1)
		return -1;
	for (; (rc = member_next(&all, &at, &one)) == 1; n++)
		if (add_signed(key, &one, &done, out) == -1)
			return -1;
	if (rc == -1 || n == 0)
		return -1;
	return buf_add(out, done,
	    m->body_len - (size_t)(done - (const char *)m->body));
}

/* {"signature":{...}, before the other members. */
int
scheme_mailgun_make(const struct sign_scheme *s, const struct sign_key *key,
    const char *id, int64_t now, const struct sign_message *m,
    struct buf *out)
{
	struct member	 body = { m->body, m->body_len }, old;
	struct buf	 text = BUF_INIT(256);
	unsigned char	 sig[SCHEME_SIG_MAX];
	char		 at[SCHEME_TIME_MAX];
	const char	*first;
	int		 rc = -1;

	if (member_find(body.s, body.len, ".signature", &old) != 0 ||
	    (first = first_in(&body)) == NULL)
		return -1;
	scheme_time_write(s->clock, now, at);
	if (buf_adds(&text, at) == -1 || buf_adds(&text, id) == -1 ||
	    hmac_of(key, &text, sig) == -1)
		goto out;
	if (buf_addf(out, "{\"signature\":{\"timestamp\":\"%s\","
	    "\"token\":\"%s\",\"signature\":\"", at, id) == -1 ||
	    hex_add(out, sig, 32) == -1 ||
	    buf_adds(out, *first == '}' ? "\"}" : "\"},") == -1 ||
	    buf_add(out, first, (size_t)(body.s + body.len - first)) == -1)
		goto out;
	rc = 0;
out:
	buf_free(&text);
	return rc;
}

/* What is signed of an item, in Adyen's order, with ':' between. */
static int
adyen_item(const struct member *one, struct member *item, struct buf *text)
{
	static const char	*const path[] = {
		".pspReference", ".originalReference",
		".merchantAccountCode", ".merchantReference",
		".amount.value", ".amount.currency", ".eventCode", ".success",
	};
	size_t			 i;

	if (member_find(one->s, one->len, ".NotificationRequestItem",
	    item) != 1)
		return -1;
	for (i = 0; i < sizeof(path) / sizeof(path[0]); i++)
		if ((i > 0 && buf_adds(text, ":") == -1) ||
		    add_field(item, path[i], text) == -1)
			return -1;
	return 0;
}

/* One that is not there is empty; '\' and ':' get a '\' before them. */
static int
add_field(const struct member *item, const char *path, struct buf *text)
{
	struct member	 m;
	struct buf	 value = BUF_INIT(SIZE_MAX - 1);
	size_t		 i;
	int		 rc;

	if ((rc = member_find(item->s, item->len, path, &m)) != 1)
		return rc;
	if (m.len == 4 && memcmp(m.s, "null", 4) == 0)
		return 0;
	rc = member_text(&m, &value) == 1 ? 0 : -1;
	for (i = 0; rc == 0 && i < value.len; i++)
		if (((value.s[i] == '\\' || value.s[i] == ':') &&
		    buf_adds(text, "\\") == -1) ||
		    buf_add(text, value.s + i, 1) == -1)
			rc = -1;
	buf_free(&value);
	return rc;
}

static int
adyen_signature(const struct member *item, unsigned char *sig)
{
	struct member	 m;

	if (member_find(item->s, item->len, ".additionalData.hmacSignature",
	    &m) != 1 || m.len < 2 || *m.s != '"')
		return -1;
	return base64_decode(m.s + 1, m.len - 2, sig, 32) == 32 ? 0 : -1;
}

/* Copy up to the end of an item's signature, which is new. */
static int
add_signed(const struct sign_key *key, const struct member *one,
    const char **done, struct buf *out)
{
	struct member	 item, more, old;
	struct buf	 text = BUF_INIT(SIZE_MAX - 1);
	unsigned char	 sig[SCHEME_SIG_MAX];
	const char	*at;
	int		 rc = -1, has;

	if (adyen_item(one, &item, &text) == -1 ||
	    hmac_of(key, &text, sig) == -1)
		goto out;
	has = member_find(item.s, item.len, ".additionalData", &more);
	if (has == -1 || (has == 1 && member_find(more.s, more.len,
	    ".hmacSignature", &old) != 0) ||
	    (at = first_in(has == 1 ? &more : &item)) == NULL)
		goto out;
	if (buf_add(out, *done, (size_t)(at - *done)) == -1 ||
	    buf_adds(out, has == 1 ? "\"hmacSignature\":\"" :
	    "\"additionalData\":{\"hmacSignature\":\"") == -1 ||
	    base64_add(out, sig, 32) == -1 ||
	    buf_adds(out, has == 1 ? "\"" : "\"}") == -1 ||
	    (*at != '}' && buf_adds(out, ",") == -1))
		goto out;
	*done = at;
	rc = 0;
out:
	buf_free(&text);
	return rc;
}

static int
hmac_of(const struct sign_key *key, const struct buf *text,
    unsigned char *sig)
{
	struct scheme_part	 part = { text->s, text->len };

	return scheme_hmac(key->mac, &part, 1, sig);
}

/* The first thing within an object, or its end. */
static const char *
first_in(const struct member *object)
{
	const char	*p = object->s, *end = p + object->len;

	while (p < end && strchr(" \t\r\n", *p) != NULL && *p != '\0')
		p++;
	if (p == end || *p++ != '{')
		return NULL;
	while (p < end && strchr(" \t\r\n", *p) != NULL && *p != '\0')
		p++;
	return p == end ? NULL : p;
}
