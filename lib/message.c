/*
 * message.c - what a message says of itself, by its scheme's row.
 */
#include <string.h>
#include <strings.h>

#include "base64.h"
#include "member.h"
#include "message.h"
#include "sign_int.h"

static int	 add_first(const char *, const struct sign_message *,
		    struct buf *);
static int	 add_one(const char *, size_t, const struct sign_message *,
		    struct buf *);

int
message_id(const struct sign_scheme *s, const struct sign_message *m,
    struct buf *out)
{
	return add_first(s->id, m, out);
}

int
message_type(const struct sign_scheme *s, const struct sign_message *m,
    struct buf *out)
{
	return add_first(s->type, m, out);
}

/* A header is if it is in the template; a member with all of the body. */
int
message_id_signed(const struct sign_scheme *s)
{
	if (s->id == NULL)
		return 0;
	return scheme_signs(s, 'i') ||
	    (*s->id == '.' && scheme_signs(s, 'b'));
}

int
message_secret_header(const struct sign_scheme *s, const char *name)
{
	static const char	*const never[] = {
		"authorization", "cookie", "proxy-authorization",
		"x-gitlab-token",
	};
	size_t			 i;

	for (i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		if (strcasecmp(name, never[i]) == 0)
			return 1;
	return s->kind[0].alg == SCHEME_TOKEN &&
	    strcasecmp(name, s->names[0].signature) == 0;
}

int
message_signs_url(const struct sign_scheme *s)
{
	return scheme_signs(s, 'u');
}

int
message_anew(const struct sign_scheme *s)
{
	return s->anew;
}

int
message_signs_method(const struct sign_scheme *s)
{
	return scheme_signs(s, 'm');
}

int
message_needs_id(const struct sign_scheme *s)
{
	return s->names[0].id != NULL;
}

int
message_signed_inside(const struct sign_scheme *s)
{
	return s->make != NULL;
}

int
message_many_signatures(const struct sign_scheme *s)
{
	return s->list != NULL;
}

int
message_hmac(const struct sign_key *key, const void *p, size_t len,
    struct buf *out)
{
	struct scheme_part	 part = { len == 0 ? "" : p, len };
	unsigned char		 sig[SCHEME_SIG_MAX];

	if (scheme_hmac(key->mac, &part, 1, sig) == -1)
		return -1;
	return hex_add(out, sig, (size_t)scheme_sig_len(key->alg));
}

/* Of the places, ' ' between them, the first that says something. */
static int
add_first(const char *where, const struct sign_message *m, struct buf *out)
{
	size_t	 n;
	int	 rc;

	for (; where != NULL && *where != '\0'; where += n) {
		where += strspn(where, " ");
		n = strcspn(where, " ");
		if ((rc = add_one(where, n, m, out)) != 0)
			return rc;
	}
	return 0;
}

static int
add_one(const char *where, size_t n, const struct sign_message *m,
    struct buf *out)
{
	char		 path[64];
	const char	*value;
	struct member	 found;
	size_t		 before = out->len;
	int		 rc;

	if (*where != '.') {
		if (scheme_header(m, where, n, &value) != 1 || *value == '\0')
			return 0;
		return buf_adds(out, value) == -1 ? -1 : 1;
	}
	if (n >= sizeof(path))
		return 0;
	memcpy(path, where, n);
	path[n] = '\0';
	if (m->body_len == 0 ||
	    member_find(m->body, m->body_len, path, &found) != 1)
		return 0;
	if ((rc = member_text(&found, out)) == 1 && out->len == before)
		rc = 0;
	return rc;
}
