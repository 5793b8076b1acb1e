/*
 * secret.c - secrets that people hand over: in a file, or in HOOK_SECRET.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "secret.h"

int
secret_read(const char *path, struct buf *out, const char **why)
{
	struct buf	 text = BUF_INIT(SECRET_MAX);
	const char	*s;
	int		 rc = -1;

	*why = "not set";
	if (path == NULL && (s = getenv("HOOK_SECRET")) == NULL)
		return -1;
	if ((path == NULL ? buf_adds(&text, s) :
	    buf_readfile(&text, path)) == -1) {
		*why = errno == EFBIG ? "too long" : strerror(errno);
		goto out;
	}
	while (text.len > 0 && (text.s[text.len - 1] == '\n' ||
	    text.s[text.len - 1] == '\r'))
		text.len--;
	if (text.len == 0)
		*why = "empty";
	else if (memchr(text.s, '\0', text.len) != NULL)
		*why = "holds a NUL byte";
	else if (buf_add(out, text.s, text.len) == -1)
		*why = strerror(errno);
	else
		rc = 0;
out:
	buf_wipe(&text);
	return rc;
}

struct sign_key *
secret_key(const char *path, const struct sign_scheme *scheme,
    int for_signing, const char **why)
{
	struct buf	 text = BUF_INIT(SECRET_MAX);
	struct sign_key	*key = NULL;

	if (secret_read(path, &text, why) == 0)
		key = sign_key(scheme, text.s, for_signing, why);
	buf_wipe(&text);
	return key;
}
