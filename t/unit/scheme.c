/*
 * scheme: each one both ways; what is signed and changed by one bit is
 * refused, and so is every signature and time that is not written as it
 * should be.  The published cases are t/311-vectors.t's.
 */
#include <ctype.h>
#include <stdlib.h>

#include "buf.h"
#include "message.h"
#include "scheme.h"
#include "sign.h"
#include "tap.h"

#define NOW	INT64_C(1700000000)
#define NHEADER	8
#define URL	"https://example.com:8443/hook?a=1&b=2"

static const char	 p256[] =
"-----BEGIN PRIVATE KEY-----\n"
"MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg2DyBPhF8Wf3quJ7A\n"
"3lOulIsMFIiwTuCks+u7ISYBOvGhRANCAAQpZcKxhgv2NbbQeH/mL2W8k2K45fDm\n"
"ItM/8GDyFHubNrWG59GkaBwWrODw9r9Os/HLvZYH9hOH0QvvvfEv1B1x\n"
"-----END PRIVATE KEY-----\n";

/* A message that owns its texts, to be changed. */
struct sample {
	struct sign_header	 header[NHEADER];
	struct sign_message	 m;
	char			*lines, *body, *url, *method;
};

static const char *
secret_of(const struct sign_scheme *s)
{
	switch (s->secret) {
	case SCHEME_SECRET_WH:
		return "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
	case SCHEME_SECRET_HEX:
		return "DFB1EB5485895CFA84146406857104AB"
		    "B4CBCABDC8AAF103A624C8F6A3EAAB00";
	case SCHEME_SECRET_ED25519:
		return "9d61b19deffd5a60ba844af492ec2cc4"
		    "4449c5697b326919703bac031cae7f60"
		    "d75a980182b10ab7d54bfed3c964073a"
		    "0ee172f3daa62325af021a68f707511a";
	case SCHEME_SECRET_P256:
		return p256;
	default:
		return "s3cret";
	}
}

static const char *
body_of(const struct sign_scheme *s)
{
	if (strcmp(s->name, "twilio") == 0)
		return "A=1&B=2";
	if (strcmp(s->name, "adyen_notification_item") == 0)
		return "{\"live\":\"false\",\"notificationItems\":["
		    "{\"NotificationRequestItem\":{\"pspReference\":\"P\\u0031"
		    ":2\",\"amount\":{\"value\":10,\"currency\":\"EUR\"},"
		    "\"success\":\"true\"}}, {\"NotificationRequestItem\":"
		    "{\"additionalData\" : { \"a\":1},\"eventCode\":\"X\"}}]}";
	if (strcmp(s->name, "linear") == 0)
		return "{\"webhookTimestamp\":1700000000999}";
	return "{\"a\":1}";
}

static void
sample(struct sample *x, const struct sign_scheme *s, const char *made)
{
	char	*line, *rest;

	memset(x, 0, sizeof(*x));
	x->m.header = x->header;
	x->body = strdup(s->make != NULL ? made : body_of(s));
	x->lines = strdup(s->make != NULL ? "" : made);
	x->url = strdup(URL);
	x->method = strdup("PUT");
	x->m.body = x->body;
	x->m.body_len = strlen(x->body);
	x->m.url = x->url;
	x->m.method = x->method;
	for (rest = x->lines; (line = strsep(&rest, "\n")) != NULL;) {
		if (*line == '\0')
			continue;
		x->header[x->m.nheader].name = line;
		line = strstr(line, ": ");
		*line = '\0';
		x->header[x->m.nheader++].value = line + 2;
	}
}

static void
sample_free(struct sample *x)
{
	free(x->lines);
	free(x->body);
	free(x->url);
	free(x->method);
}

/*
 * Of all bits of the text, changed one at a time, the number that are not
 * refused.  One that makes hex of the other case, or an end, is not changed.
 */
static int
flip(const struct sign_scheme *s, struct sign_key *key,
    const struct sign_message *m, char *text)
{
	const char	*why = NULL;
	char		*p, was;
	int		 bit, taken = 0;

	for (p = text; *p != '\0'; p++)
		for (bit = 0; bit < 8; bit++) {
			was = *p;
			*p = (char)(was ^ 1 << bit);
			if (*p != '\0' && (s->kind[0].code != SCHEME_HEX ||
			    !isxdigit((unsigned char)was) ||
			    tolower((unsigned char)*p) != tolower(
			    (unsigned char)was) || text == m->body ||
			    text == m->url || text == m->method) &&
			    sign_check(s, &key, 1, m, NOW, 0, NULL, &why) ==
			    0) {
				printf("# %s: bit %d of byte %td\n", s->name,
				    bit, p - text);
				taken++;
			}
			*p = was;
		}
	return taken;
}

static void
changed(const struct sign_scheme *s, struct sign_key *key, struct sample *x)
{
	size_t	 i;
	int	 taken = 0;

	for (i = 0; i < x->m.nheader; i++)
		if (scheme_signs(s, 'i') ||
		    strcmp(x->header[i].value, "msg_1") != 0)
			taken += flip(s, key, &x->m,
			    (char *)x->m.header[i].value);
	if (scheme_signs(s, 'b') || scheme_signs(s, 'f'))
		taken += flip(s, key, &x->m, x->body);
	if (scheme_signs(s, 'u') && s->url == NULL)
		taken += flip(s, key, &x->m, x->url);
	if (scheme_signs(s, 'm'))
		taken += flip(s, key, &x->m, x->method);
	okf(taken == 0, "%s: no bit of what is signed can change", s->name);
}

/* Signed inside: some values, each made another. */
static void
changed_inside(const struct sign_scheme *s, struct sign_key *key,
    struct sample *x)
{
	static const char	*const value[] = {
		"1700000000", "msg_1", "P\\u0031", "10,", "EUR", "true\"",
		"X\"",
	};
	const char		*why;
	char			*p;
	size_t			 i;
	int			 tried = 0, taken = 0;

	for (i = 0; i < sizeof(value) / sizeof(value[0]); i++) {
		if ((p = strstr(x->body, value[i])) == NULL)
			continue;
		tried++;
		*p ^= 1;
		taken += sign_check(s, &key, 1, &x->m, NOW, 0, NULL, &why) ==
		    0;
		*p ^= 1;
	}
	okf(tried > 1 && taken == 0, "%s: no value that is signed can change",
	    s->name);
}

static void
round_trip(const struct sign_scheme *s)
{
	struct sign_message	 m = { .url = URL, .method = "PUT" };
	struct sample		 x;
	struct buf		 made = BUF_INIT(65536);
	struct sign_key		*signer, *key;
	const char		*why = "";
	size_t			 which = 9;
	int			 rc;

	m.body = body_of(s);
	m.body_len = strlen(m.body);
	signer = sign_key(s, secret_of(s), 1, &why);
	key = sign_key(s, secret_of(s), 0, &why);
	if (signer == NULL || key == NULL ||
	    sign_make(s, &signer, 1, "msg_1", NOW, &m, &made) == -1) {
		okf(0, "%s: %s", s->name, why);
		return;
	}
	sample(&x, s, made.s);
	rc = sign_check(s, &key, 1, &x.m, NOW, 0, &which, &why);
	okf(rc == 0 && which == 0, "%s: what is made is good%s%s", s->name,
	    rc == 0 ? "" : ": ", rc == 0 ? "" : why);
	if (s->tolerance != SIGN_NO_TOLERANCE) {
		okf(sign_check(s, &key, 1, &x.m, NOW + 7, 7, NULL, &why) ==
		    0 && sign_check(s, &key, 1, &x.m, NOW - 7, 7, NULL,
		    &why) == 0, "%s: both ends of the window", s->name);
		okf(sign_check(s, &key, 1, &x.m, NOW + 8, 7, NULL, &why) ==
		    1 && why == SIGN_TOO_OLD, "%s: too old", s->name);
		okf(sign_check(s, &key, 1, &x.m, NOW - 8, 7, NULL, &why) ==
		    1 && why == SIGN_TOO_NEW, "%s: too new", s->name);
	}
	if (s->make == NULL)
		changed(s, key, &x);
	else
		changed_inside(s, key, &x);
	sample_free(&x);
	buf_free(&made);
	sign_key_free(signer);
	sign_key_free(key);
}

/* Every kind of thing that is no signature. */
static void
hostile(const struct sign_scheme *s)
{
	static const char	*const text[] = {
		"", "x", " ", "=", ",", ";", "t=", "v1,", "v1=", "v1a,",
		"sha256=", "sha1=", "v0=", "t=1700000000", "t=,v1=",
		"t=1700000000,v1=", "t=1700000000,v1", "v1,t=1700000000",
		"t=1700000000,t=1700000000,v1=00", "AA==", "A", "AAA", "====",
		"\xc3\xa9\xc3\xa9", "\x80\x90\xa0\xb0\xc0\xd0\xe0\xf0\xff",
		"sha256=zz", "sha256=\xff", "%00", "null", "undefined",
		"t=1700000000,h=,v1=00", "t=1700000000,h=a b c,v1=00",
	};
	static char		 many[61000];
	struct sign_header	 h[4];
	struct sign_message	 m = { h, 3, "{}", 2, URL, "POST" };
	struct sign_key		*key;
	const char		*why = NULL;
	size_t			 i, n;
	int			 taken = 0, rc;

	if ((key = sign_key(s, secret_of(s), 0, &why)) == NULL)
		abort();
	h[0].name = s->names[0].signature;
	h[1].name = s->names[0].timestamp == NULL ? "x-none" :
	    s->names[0].timestamp;
	h[1].value = "1700000000";
	h[2].name = s->names[0].id == NULL ? "x-none" : s->names[0].id;
	h[2].value = "msg_1";
	for (i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
		why = NULL;
		h[0].value = text[i];
		rc = sign_check(s, &key, 1, &m, NOW, 0, NULL, &why);
		taken += rc != 1 || why == NULL;
		h[3] = h[0];		/* and twice */
		m.nheader = 4;
		rc = sign_check(s, &key, 1, &m, NOW, 0, NULL, &why);
		taken += rc != 1;
		m.nheader = 3;
	}
	for (n = 1; n < sizeof(many); n = n < 200 ? n + 1 : n * 3) {
		for (i = 0; i < 5; i++) {
			memset(many, "aA0z\xe9"[i], n);
			many[n] = '\0';
			h[0].value = many;
			taken += sign_check(s, &key, 1, &m, NOW, 0, NULL,
			    &why) != 1;
		}
	}
	m.nheader = 0;
	taken += sign_check(s, &key, 1, &m, NOW, 0, NULL, &why) != 1;
	m.body = NULL;
	m.body_len = 0;
	taken += sign_check(s, &key, 1, &m, NOW, 0, NULL, &why) != 1;
	taken += sign_check(s, NULL, 0, &m, NOW, 0, NULL, &why) != 1;
	okf(taken == 0, "%s: nothing but a signature is taken for one",
	    s->name);
	sign_key_free(key);
}

/* A time that is rightly signed, but not as times are written. */
static void
times(void)
{
	static const struct {
		const char	*scheme, *time;
	} t[] = {
		{ "stripe", "+1700000000" }, { "stripe", " 1700000000" },
		{ "stripe", "1700000000 " }, { "stripe", "01700000000" },
		{ "stripe", "1700000000.0" }, { "stripe", "1.7e9" },
		{ "stripe", "0x6553f100" }, { "stripe", "1700000000000" },
		{ "stripe", "-1" }, { "stripe", "0" }, { "stripe", "" },
		{ "stripe", "4611686018427387904" },
		{ "stripe", "9223372036854775808" },
		{ "stripe", "18446744075409551616" },
		{ "stripe", "18446744073709551616" },
		{ "stripe", "999999999999999999999999999999" },
		{ "stripe", "253402300800" },
		{ "workos", "+1700000000000" }, { "workos", "1700000000.5" },
		{ "workos", "18446744075409551616000" },
		{ "zendesk", "1700000000" }, { "zendesk", "" },
		{ "zendesk", "2023-11-14T22:13:20" },
		{ "zendesk", "2023-11-14 22:13:20Z" },
		{ "zendesk", "2023-11-14t22:13:20z" },
		{ "zendesk", "2023-11-14T22:13:20.Z" },
		{ "zendesk", "2023-11-14T22:13:20+0000" },
		{ "zendesk", "2023-11-14T22:13:20+00:00x" },
		{ "zendesk", "2023-11-14T22:13:20.1234567890Z" },
		{ "zendesk", "2023-11-31T22:13:20Z" },
		{ "zendesk", "2023-02-29T22:13:20Z" },
		{ "zendesk", "2023-13-01T22:13:20Z" },
		{ "zendesk", "2023-11-14T24:00:00Z" },
		{ "zendesk", "2023-11-14T22:13:60Z" },
		{ "zendesk", "0000-11-14T22:13:20Z" },
		{ "zendesk", "1969-12-31T23:59:59Z" },
		{ "zendesk", "12023-11-14T22:13:20Z" },
		{ "klaviyo", "Wed, 14 Nov 2023 22:13:20 GMT" },
		{ "klaviyo", "Tue, 14 Nov 2023 22:13:20 UTC" },
		{ "klaviyo", "tue, 14 nov 2023 22:13:20 gmt" },
		{ "klaviyo", "Tue, 14 Nov 2023 22:13:20" },
		{ "klaviyo", "Tuesday, 14-Nov-23 22:13:20 GMT" },
		{ "klaviyo", "Tue Nov 14 22:13:20 2023" },
		{ "klaviyo", "Tue,  4 Nov 2023 22:13:20 GMT" },
		{ "klaviyo", "Tue, 14 Nov 2023 22:13:20 GMT " },
		{ "klaviyo", "2023-11-14T22:13:20Z" },
	};
	const struct sign_scheme *s;
	struct sign_message	 m = { .body = "{}", .body_len = 2 };
	struct sign_header	 h[2];
	const char		*id, *why;
	char			 list[128];
	int64_t			 at;
	size_t			 i;

	m.header = h;
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		s = sign_scheme(t[i].scheme);
		h[0].name = s->names[0].signature;
		h[0].value = "00";
		m.nheader = 1;
		if (s->time_tag != NULL) {
			snprintf(list, sizeof(list), "t=%s,v1=00", t[i].time);
			h[0].value = list;
		} else {
			h[1].name = s->names[0].timestamp;
			h[1].value = t[i].time;
			m.nheader = 2;
		}
		okf(sign_read(s, &m, &id, &at, &why) == 1, "no time: '%s'",
		    t[i].time);
	}
}

/* How a good one is read, to the second. */
static void
good_times(void)
{
	static const struct {
		const char	*scheme, *time;
		int64_t		 want;
	} t[] = {
		{ "zendesk", "2023-11-14T22:13:20Z", 1700000000 },
		{ "zendesk", "2023-11-14T22:13:20.999999999Z", 1700000000 },
		{ "zendesk", "2023-11-15T00:13:20+02:00", 1700000000 },
		{ "zendesk", "2023-11-14T16:43:20-05:30", 1700000000 },
		{ "zendesk", "2000-02-29T00:00:00Z", 951782400 },
		{ "zendesk", "1970-01-01T00:00:01Z", 1 },
		{ "zendesk", "9999-12-31T23:59:59Z", SIGN_TIME_MAX },
		{ "klaviyo", "Tue, 14 Nov 2023 22:13:20 GMT", 1700000000 },
		{ "klaviyo", "Thu, 29 Feb 2024 00:00:00 GMT", 1709164800 },
		{ "discord", "1", 1 },
		{ "discord", "253402300799", SIGN_TIME_MAX },
		{ "hubspot", "1700000000999", 1700000000 },
		{ "hubspot", "1", 0 },
	};
	const struct sign_scheme *s;
	struct sign_header	 h[2];
	struct sign_message	 m = { h, 2, "{}", 2, NULL, NULL };
	const char		*id, *why = "";
	int64_t			 at;
	size_t			 i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		s = sign_scheme(t[i].scheme);
		h[0].name = s->names[0].signature;
		h[0].value = "00";
		h[1].name = s->names[0].timestamp;
		h[1].value = t[i].time;
		at = -2;
		okf(sign_read(s, &m, &id, &at, &why) == 0 && at == t[i].want,
		    "a time: %s", t[i].time);
	}
}

int
main(void)
{
	const struct sign_scheme	*s;
	size_t				 i;

	for (i = 0; (s = sign_scheme_at(i)) != NULL; i++) {
		round_trip(s);
		hostile(s);
	}
	okf(i == 45, "all %zu schemes", i);
	times();
	good_times();
	return done_testing();
}
