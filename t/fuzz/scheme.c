/*
 * All schemes: the input is a body, up to a NUL, and header lines.  Whatever
 * they are, nothing is taken for signed but with a reason; and what a scheme
 * says of a message, and the hints, survive them.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hint.h"
#include "member.h"
#include "message.h"
#include "sign.h"

#define NOW	INT64_C(1700000000)
#define NHEADER	8
#define NSCHEME	64

int	 LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static struct sign_key	*key[NSCHEME];

/* Any that the scheme takes. */
static void
start(void)
{
	static const char	*const secret[] = {
		"DFB1EB5485895CFA84146406857104ABB4CBCABDC8AAF103A624C8F6A3EA"
		    "AB00",
		"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
		"MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7"
		    "dAfSmpqIM8kF9mN1flpVKS3GRqe62gw+2fNNRaINXvVpiglSI8eNEc6w"
		    "EA3F+g==",
	};
	const char		*why;
	size_t			 i, k;

	for (i = 0; sign_scheme_at(i) != NULL; i++) {
		for (k = 0; k < 3 && key[i] == NULL; k++)
			key[i] = sign_key(sign_scheme_at(i), secret[k], 0,
			    &why);
		if (key[i] == NULL)
			abort();
	}
}

static size_t
split(char *text, struct sign_header *header)
{
	char	*line, *value;
	size_t	 n = 0;

	while (n < NHEADER && (line = strsep(&text, "\n")) != NULL) {
		value = line;
		header[n].name = strsep(&value, ":");
		header[n++].value = value == NULL ? "" : value;
	}
	return n;
}

static void
check(struct sign_message *m, size_t i)
{
	static const char	*const texts[] = { "s3cret" };
	const struct sign_scheme *s = sign_scheme_at(i);
	struct hint		 h = { s, &key[i], 1, *m, NOW, 300, texts, 1,
				    NULL, 0 };
	struct buf		 b = BUF_INIT(1024 * 1024);
	const char		*why = NULL;
	size_t			 which = 9;
	int			 rc;

	rc = sign_check(s, &key[i], 1, m, NOW, 300, &which, &why);
	if (rc == 0 ? which != 0 : why == NULL || *why == '\0')
		abort();
	if (rc == 1 && hint_add(&h, why, &b) == -1)
		abort();
	buf_reset(&b);
	rc = message_id(s, m, &b);
	if (rc < 0 || rc > 1 || (rc == 1) != (b.len > 0))
		abort();
	buf_reset(&b);
	rc = message_type(s, m, &b);
	if (rc < 0 || rc > 1 || (rc == 1) != (b.len > 0))
		abort();
	buf_free(&b);
}

/* Any text may be offered as a secret. */
static void
offer(const char *text)
{
	struct sign_key	*k;
	const char	*why;
	size_t		 i;

	for (i = 0; sign_scheme_at(i) != NULL; i++) {
		why = NULL;
		k = sign_key(sign_scheme_at(i), text, (int)(i & 1), &why);
		if (k == NULL && why == NULL)
			abort();
		sign_key_free(k);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sign_header	 header[NHEADER];
	struct sign_message	 m = { 0 };
	const uint8_t		*nul = memchr(data, '\0', size);
	char			*text, *body;
	size_t			 i;

	if (key[0] == NULL)
		start();
	if (nul == NULL)
		return 0;
	m.body_len = (size_t)(nul - data);
	m.url = "https://example.com:1/hook?a=1&bodySHA256=00";
	if ((body = malloc(m.body_len + 1)) == NULL ||
	    (text = strndup((const char *)nul + 1, size - m.body_len - 1)) ==
	    NULL)
		abort();
	memcpy(body, data, m.body_len);
	m.body = body;
	offer(text);
	m.header = header;
	m.nheader = split(text, header);
	for (i = 0; sign_scheme_at(i) != NULL; i++)
		check(&m, i);
	free(text);
	free(body);
	return 0;
}
