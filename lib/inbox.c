#include <openssl/evp.h>
#include <string.h>
#include <strings.h>

#include "base64.h"
#include "inbox.h"
#include "message.h"
#include "opt.h"

#define PREFIX	"sha256:"

static int	 add_latin1(struct buf *, const char *);
static int	 digest(const void *, size_t, struct buf *);
static int	 plain(const struct buf *);

int
inbox_id(const struct sign_scheme *s, const struct sign_message *m,
    struct buf *out)
{
	struct buf	 id = BUF_INIT(4 * 1024 * 1024);
	int		 rc = message_id(s, m, &id);

	if (rc == 0)
		rc = digest(m->body, m->body_len, out);
	else if (rc == 1)
		rc = plain(&id) ? buf_add(out, id.s, id.len) :
		    digest(id.s, id.len, out);
	buf_free(&id);
	return rc;
}

int
inbox_type(const struct sign_scheme *s, const struct sign_message *m,
    struct buf *out)
{
	size_t	 before = out->len;
	int	 rc = message_type(s, m, out);

	if (rc == 1 && out->len - before <= INBOX_ID_MAX &&
	    opt_utf8(out->s + before, out->len - before) &&
	    !opt_control(out->s + before, out->len - before))
		return 1;
	out->len = before;
	if (out->s != NULL)
		out->s[before] = '\0';
	return 0;
}

int
inbox_headers(const struct sign_scheme *s, const struct sign_message *m,
    int unpacked, struct buf *out)
{
	const struct sign_header	*h;
	size_t				 before = out->len;

	for (h = m->header; h < m->header + m->nheader; h++) {
		if (message_secret_header(s, h->name) || (unpacked &&
		    strcasecmp(h->name, "content-encoding") == 0))
			continue;
		if ((out->len > before && buf_adds(out, "\n") == -1) ||
		    buf_adds(out, h->name) == -1 ||
		    buf_adds(out, "\n") == -1 ||
		    add_latin1(out, h->value) == -1)
			return -1;
	}
	return 0;
}

static int
add_latin1(struct buf *out, const char *s)
{
	const char	*p;
	char		 two[2];

	for (;; s = p + 1) {
		for (p = s; *p != '\0' && (*p & 0x80) == 0; p++)
			continue;
		if (buf_add(out, s, (size_t)(p - s)) == -1)
			return -1;
		if (*p == '\0')
			return 0;
		two[0] = (char)(0xc0 | (*p & 0xff) >> 6);
		two[1] = (char)(0x80 | (*p & 0x3f));
		if (buf_add(out, two, 2) == -1)
			return -1;
	}
}

/* Kept as it is?  One that looks like a digest of ours is not. */
static int
plain(const struct buf *id)
{
	size_t	 i;

	if (id->len == 0 || id->len > INBOX_ID_MAX ||
	    strncmp(id->s, PREFIX, strlen(PREFIX)) == 0)
		return 0;
	for (i = 0; i < id->len; i++)
		if (id->s[i] < ' ' || id->s[i] > '~')
			return 0;
	return 1;
}

static int
digest(const void *p, size_t len, struct buf *out)
{
	unsigned char	 sum[32];

	return EVP_Digest(len == 0 ? "" : p, len, sum, NULL, EVP_sha256(),
	    NULL) != 1 || buf_adds(out, PREFIX) == -1 ||
	    hex_add(out, sum, sizeof(sum)) == -1 ? -1 : 0;
}
