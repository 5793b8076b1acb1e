/*
 * Signed messages: the input is a body, up to a NUL, and header lines.  Any
 * bytes are refused with a reason, but for what a key made; and what it made
 * for these bytes is accepted.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base64.h"
#include "hint.h"
#include "sign.h"

#define NOW	INT64_C(1614265330)
#define NHEADER	8

int	 LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static const struct sign_scheme	*scheme[2];
static struct sign_key		*key[2][3];

static void
start(void)
{
	static const char	*const secret[] = {
		"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
		"whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKki"
		    "oLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==",
		"whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=",
	};
	const char		*why;
	int			 i, k;

	for (i = 0; i < 2; i++) {
		scheme[i] = sign_scheme_at((size_t)i);
		for (k = 0; k < 3; k++)
			key[i][k] = sign_key(scheme[i], secret[k], 0, &why);
	}
}

/* Split in place; the number of headers. */
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
check(struct sign_message *m, int i)
{
	struct hint	 h = { scheme[i], key[i], 3, *m, NOW, 300 };
	struct buf	 b = BUF_INIT(4096);
	const char	*why = NULL, *id;
	int64_t		 at;
	size_t		 which = 9;

	if (sign_check(scheme[i], key[i], 3, m, NOW, 300, &which, &why) == 0) {
		if (which > 2)
			abort();
	} else if (why == NULL || *why == '\0')
		abort();
	if (why != NULL && hint_add(&h, why, &b) == -1)
		abort();
	if (sign_read(scheme[i], m, &id, &at, &why) == 0 &&
	    (at < -1 || at > SIGN_TIME_MAX))
		abort();
	buf_free(&b);
}

/* What is made for this body must be good, and must not be for another. */
static void
make(struct sign_message *m, int i)
{
	struct sign_header	 header[NHEADER];
	struct sign_message	 ours = *m;
	struct sign_key		*signer;
	struct buf		 lines = BUF_INIT(4096);
	const char		*why;

	signer = sign_key(scheme[i], "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
	    1, &why);
	if (signer == NULL || sign_make(scheme[i], &signer, 1, "evt_1", NOW,
	    m, &lines) == -1)
		abort();
	ours.header = header;
	ours.nheader = split(lines.s, header);
	for (size_t n = 0; n < ours.nheader; n++)
		header[n].value += strspn(header[n].value, " ");
	if (sign_check(scheme[i], key[i], 3, &ours, NOW, 0, NULL, &why) != 0)
		abort();
	if (ours.body_len > 0) {
		ours.body_len--;
		if (sign_check(scheme[i], key[i], 3, &ours, NOW, 0, NULL,
		    &why) != 1)
			abort();
	}
	sign_key_free(signer);
	buf_free(&lines);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sign_header	 header[NHEADER];
	struct sign_message	 m = { 0 };
	struct sign_key		*k;
	const uint8_t		*nul = memchr(data, '\0', size);
	const char		*why;
	char			*text, *body;
	int			 i;

	if (scheme[0] == NULL)
		start();
	if (nul == NULL)
		return 0;
	m.body_len = (size_t)(nul - data);
	if ((body = malloc(m.body_len + 1)) == NULL ||
	    (text = strndup((const char *)nul + 1, size - m.body_len - 1)) ==
	    NULL)
		abort();
	memcpy(body, data, m.body_len);
	m.body = body;

	/* Any text may be offered as a secret. */
	for (i = 0; i < 4; i++) {
		why = NULL;
		k = sign_key(scheme[i % 2], text, i / 2, &why);
		if (k == NULL && why == NULL)
			abort();
		sign_key_free(k);
	}
	m.header = header;
	m.nheader = split(text, header);
	for (i = 0; i < 2; i++) {
		check(&m, i);
		make(&m, i);
	}
	free(text);
	free(body);
	return 0;
}
