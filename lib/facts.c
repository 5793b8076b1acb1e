/*
 * facts.c - the table of schemes in words.
 */
#include <inttypes.h>
#include <string.h>

#include "facts.h"
#include "message.h"
#include "out.h"
#include "scheme.h"

#define CELL_MAX	256		/* bytes of one fact */

static const char	*const digest[] = {
	[SCHEME_HMAC_SHA256] = "HMAC-SHA256",
	[SCHEME_HMAC_SHA1] = "HMAC-SHA1",
	[SCHEME_HMAC_SHA512] = "HMAC-SHA512",
	[SCHEME_SHA256] = "SHA256",
	[SCHEME_TOKEN] = "none",
	[SCHEME_ED25519] = "Ed25519",
	[SCHEME_ECDSA_P256] = "ECDSA-P256-SHA256",
};
static const char	*const code[] = {
	[SCHEME_BASE64] = "<base64>",
	[SCHEME_HEX] = "<hex>",
	[SCHEME_AS_IS] = "<secret>",
};
static const char	*const secret[] = {
	[SCHEME_SECRET_WH] = "whsec_, whsk_, whpk_",
	[SCHEME_SECRET_TEXT] = "text",
	[SCHEME_SECRET_HEX] = "hex",
	[SCHEME_SECRET_ED25519] = "hex or PEM",
	[SCHEME_SECRET_P256] = "base64 or PEM",
};
static const char	*const clock_name[] = {
	[SCHEME_SECONDS] = "seconds",
	[SCHEME_MS] = "milliseconds",
	[SCHEME_RFC3339] = "RFC 3339",
	[SCHEME_HTTP_DATE] = "HTTP date",
};

static int	 add_form(const struct sign_scheme *, struct buf *);
static int	 add_signed(const struct sign_scheme *, struct buf *);
static int	 add_digests(const struct sign_scheme *, struct buf *);
static int	 add_json(const struct sign_scheme *, struct buf *);
static int	 add_fact(const char *, const char *, struct buf *);
static int	 add_made(const char *,
		    int (*)(const struct sign_scheme *, struct buf *),
		    const struct sign_scheme *, struct buf *);
static const char *time_at(const struct sign_scheme *);
static int	 widest(const char *(*)(const struct sign_scheme *));
static const char *name_of(const struct sign_scheme *);
static const char *where_of(const struct sign_scheme *);
static const char *secret_of(const struct sign_scheme *);

int
facts_table(struct buf *out)
{
	const struct sign_scheme	*s;
	struct buf			 form = BUF_INIT(CELL_MAX);
	int				 name_w = widest(name_of);
	int				 where_w = widest(where_of);
	int				 secret_w = widest(secret_of), rc;
	size_t				 i;

	rc = buf_addf(out, "%-*s  %-*s  %-*s  form\n", name_w, "scheme",
	    where_w, "signature", secret_w, "secret");
	for (i = 0; rc == 0 && (s = sign_scheme_at(i)) != NULL; i++) {
		buf_reset(&form);
		if ((rc = add_form(s, &form)) == 0)
			rc = buf_addf(out, "%-*s  %-*s  %-*s  %s\n", name_w,
			    s->name, where_w, where_of(s), secret_w,
			    secret_of(s), form.s);
	}
	buf_free(&form);
	return rc;
}

int
facts_json(struct buf *out)
{
	const struct sign_scheme	*s;
	size_t				 i;

	for (i = 0; (s = sign_scheme_at(i)) != NULL; i++)
		if (add_json(s, out) == -1)
			return -1;
	return 0;
}

/* What the signature looks like: t=<time>,v1=<hex> */
static int
add_form(const struct sign_scheme *s, struct buf *out)
{
	const struct scheme_kind	*k = s->kind;
	size_t				 i;

	if (s->time_tag != NULL && buf_addf(out, "%s%c<time>%c", s->time_tag,
	    s->sep, s->list[0]) == -1)
		return -1;
	for (i = 0; i < SCHEME_KINDS && k[i].tag != NULL; i++) {
		if (i > 0 && buf_add(out, s->list, 1) == -1)
			return -1;
		if (k[i].content != NULL && s->names_tag != NULL &&
		    buf_addf(out, "%s%c<names>%c", s->names_tag, s->sep,
		    s->list[0]) == -1)
			return -1;
		if (buf_adds(out, k[i].tag) == -1 || (s->list != NULL &&
		    buf_add(out, &s->sep, 1) == -1) ||
		    buf_adds(out, code[k[i].code]) == -1)
			return -1;
	}
	return 0;
}

static int
add_signed(const struct sign_scheme *s, struct buf *out)
{
	size_t	 i;

	if (buf_adds(out, s->content) == -1)
		return -1;
	for (i = 0; i < SCHEME_KINDS && s->kind[i].tag != NULL; i++)
		if (s->kind[i].content != NULL &&
		    buf_addf(out, " or %s", s->kind[i].content) == -1)
			return -1;
	return 0;
}

static int
add_digests(const struct sign_scheme *s, struct buf *out)
{
	size_t	 i;

	for (i = 0; i < SCHEME_KINDS && s->kind[i].tag != NULL; i++)
		if ((i == 0 || s->kind[i].alg != s->kind[0].alg) &&
		    buf_addf(out, "%s%s", i == 0 ? "" : " or ",
		    digest[s->kind[i].alg]) == -1)
			return -1;
	return 0;
}

static int
add_json(const struct sign_scheme *s, struct buf *out)
{
	const char	*at = time_at(s);

	if (buf_adds(out, "{") == -1 ||
	    add_fact("scheme", s->name, out) == -1 ||
	    add_fact("also", s->also, out) == -1 ||
	    add_fact("signature", s->names[0].signature, out) == -1 ||
	    add_fact("or", s->names[1].signature, out) == -1 ||
	    add_made("form", add_form, s, out) == -1 ||
	    add_made("signed", add_signed, s, out) == -1 ||
	    add_made("digest", add_digests, s, out) == -1 ||
	    add_fact("secret", secret[s->secret], out) == -1 ||
	    add_fact("timestamp", at, out) == -1 ||
	    add_fact("clock", at == NULL ? NULL : clock_name[s->clock], out) ==
	    -1 || add_fact("id", s->id, out) == -1 ||
	    add_fact("type", s->type, out) == -1)
		return -1;
	if ((s->tolerance == SIGN_NO_TOLERANCE ?
	    buf_adds(out, "\"tolerance_s\":null") :
	    buf_addf(out, "\"tolerance_s\":%" PRId64, s->tolerance)) == -1)
		return -1;
	return buf_addf(out, ",\"id_signed\":%s,\"signs_url\":%s,"
	    "\"signs_method\":%s,\"inside\":%s}\n",
	    message_id_signed(s) ? "true" : "false",
	    message_signs_url(s) ? "true" : "false",
	    message_signs_method(s) ? "true" : "false",
	    message_signed_inside(s) ? "true" : "false");
}

static int
add_fact(const char *key, const char *value, struct buf *out)
{
	if (buf_addf(out, "\"%s\":", key) == -1 ||
	    (value == NULL ? buf_adds(out, "null") :
	    out_string(out, value, strlen(value))) == -1)
		return -1;
	return buf_adds(out, ",");
}

static int
add_made(const char *key,
    int (*make)(const struct sign_scheme *, struct buf *),
    const struct sign_scheme *s, struct buf *out)
{
	struct buf	 text = BUF_INIT(CELL_MAX);
	int		 rc = -1;

	if (make(s, &text) == 0)
		rc = add_fact(key, text.s == NULL ? "" : text.s, out);
	buf_free(&text);
	return rc;
}

static const char *
time_at(const struct sign_scheme *s)
{
	return s->time_tag != NULL ? s->names[0].signature :
	    s->names[0].timestamp;
}

static int
widest(const char *(*fact)(const struct sign_scheme *))
{
	const struct sign_scheme	*s;
	size_t				 i, n, most = 0;

	for (i = 0; (s = sign_scheme_at(i)) != NULL; i++)
		if ((n = strlen(fact(s))) > most)
			most = n;
	return (int)most;
}

static const char *
name_of(const struct sign_scheme *s)
{
	return s->name;
}

static const char *
where_of(const struct sign_scheme *s)
{
	return s->names[0].signature;
}

static const char *
secret_of(const struct sign_scheme *s)
{
	return secret[s->secret];
}
