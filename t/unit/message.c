/* message: ids and types by scheme, and members of hostile JSON. */
#include <stdlib.h>

#include "buf.h"
#include "member.h"
#include "message.h"
#include "sign.h"
#include "tap.h"

/* A copy just so large, so that a sanitizer sees a step too far. */
static char *
copy(const char *s, size_t len)
{
	char	*p;

	if ((p = malloc(len == 0 ? 1 : len)) == NULL)
		abort();
	memcpy(p, s, len);
	return p;
}

/* The text of a member; "-" none, "!" refused, "?" no text. */
static const char *
member(const char *text, const char *path)
{
	static char	 got[256];
	struct buf	 b = BUF_INIT(200);
	struct member	 m;
	size_t		 len = strlen(text);
	char		*p = copy(text, len);
	int		 rc = member_find(p, len, path, &m);

	strcpy(got, rc == 0 ? "-" : "!");
	if (rc == 1) {
		rc = member_text(&m, &b);
		strcpy(got, rc == 1 ? b.s : rc == 0 ? "?" : "full");
	}
	buf_free(&b);
	free(p);
	return got;
}

static void
members(void)
{
	static const struct {
		const char	*text, *path, *want;
	} t[] = {
		{ "{\"id\":\"a\"}", ".id", "a" },
		{ " { \"x\" : 1 , \"id\" : \"a\" } \n", ".id", "a" },
		{ "{\"a\":{\"b\":{\"c\":\"x\"}}}", ".a.b.c", "x" },
		{ "{\"a\":{\"b\":1},\"b\":2}", ".b", "2" },
		{ "{\"a\":{\"id\":1}}", ".id", "-" },
		{ "{\"a\":[{\"id\":1}]}", ".a.id", "!" },
		{ "{\"id\":1,\"id\":2}", ".id", "!" },
		{ "{\"id\":1,\"\\u0069d\":2}", ".id", "!" },
		{ "{\"\\u0069\\u0064\":\"esc\"}", ".id", "esc" },
		{ "{\"id\\u0000\":1}", ".id", "-" },
		{ "{\"ID\":1}", ".id", "-" },
		{ "{\"id\":12345678901234567890}", ".id",
		    "12345678901234567890" },
		{ "{\"id\":-1.5e+3}", ".id", "-1.5e+3" },
		{ "{\"id\":true}", ".id", "true" },
		{ "{\"id\":false}", ".id", "false" },
		{ "{\"id\":null}", ".id", "?" },
		{ "{\"id\":{}}", ".id", "?" },
		{ "{\"id\":[1]}", ".id", "?" },
		{ "{\"id\":nonsense}", ".id", "?" },
		{ "{\"id\":}", ".id", "!" },
		{ "{\"id\":\"a\"", ".id", "!" },
		{ "{\"id\":\"a\"}x", ".id", "!" },
		{ "[\"id\"]", ".id", "!" },
		{ "\"id\"", ".id", "!" },
		{ "", ".id", "!" },
		{ "{}", ".id", "-" },
		{ "{\"id\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}", ".id",
		    "\"\\/\b\f\n\r\t" },
		{ "{\"id\":\"\\u00e9\\u20ac\\ud83d\\ude00\"}", ".id",
		    "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80" },
		{ "{\"id\":\"\\ud83dx\"}", ".id", "\xef\xbf\xbdx" },
		{ "{\"id\":\"\\ude00\\ud83d\"}", ".id",
		    "\xef\xbf\xbd\xef\xbf\xbd" },
		{ "{\"id\":\"\\ud83d\\u0041\"}", ".id", "\xef\xbf\xbd" "A" },
		{ "{\"id\":\"\\x\"}", ".id", "?" },
		{ "{\"id\":\"\\u12\"}", ".id", "?" },
		{ "{\"id\":\"\\u123g\"}", ".id", "?" },
		{ "{\"id\":\"a\nb\"}", ".id", "?" },
		{ "{\"id\":\"\xff\xfe\"}", ".id", "\xff\xfe" },
	};
	struct buf	 deep = BUF_INIT(8000000);
	struct member	 m, v;
	const char	*at = NULL;
	size_t		 i;
	int		 n = 0, rc = 0;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		is(member(t[i].text, t[i].path), t[i].want,
		    strchr(t[i].text, 10) == NULL ? t[i].text : "a line end");

	rc = buf_adds(&deep, "{\"x\":");
	for (i = 0; i < 1000000; i++)
		rc |= buf_adds(&deep, i % 2 ? "[" : "{\"a\":");
	for (i = 1000000; i-- > 0;)
		rc |= buf_adds(&deep, i % 2 ? "]" : "}");
	rc |= buf_adds(&deep, ",\"id\":7}");
	ok(rc == 0 && member_find(deep.s, deep.len, ".id", &m) == 1 &&
	    m.len == 1 && *m.s == '7', "a million brackets deep");
	buf_free(&deep);

	m.s = "[ 1, \"a,]\" ,{\"b\":[2]}]";
	m.len = strlen(m.s);
	while ((rc = member_next(&m, &at, &v)) == 1)
		n++;
	ok(n == 3 && rc == 0, "an array of three");
	m.s = "[]";
	m.len = 2;
	at = NULL;
	ok(member_next(&m, &at, &v) == 0, "an empty array");
	m.s = "[1,]";
	m.len = 4;
	at = NULL;
	n = 0;
	while ((rc = member_next(&m, &at, &v)) == 1)
		n++;
	ok(n == 1 && rc == -1, "a comma too much");
	m.s = "[1 2]";
	m.len = 5;
	at = NULL;
	while ((rc = member_next(&m, &at, &v)) == 1)
		continue;
	ok(rc == -1, "a comma too few");
	m.s = "{}";
	m.len = 2;
	at = NULL;
	ok(member_next(&m, &at, &v) == -1, "no array");
}

/* "id type" of a message with this header and body. */
static const char *
said(const char *scheme, const char *name, const char *value,
    const char *body)
{
	static char		 got[256];
	struct sign_header	 h = { name, value };
	struct sign_message	 m = { &h, name != NULL, body, strlen(body),
				    NULL, NULL };
	struct buf		 b = BUF_INIT(200);
	const struct sign_scheme *s = sign_scheme(scheme);
	int			 id, type;

	if ((id = message_id(s, &m, &b)) == 0 && buf_adds(&b, "-") == -1)
		abort();
	if (buf_adds(&b, " ") == -1)
		abort();
	if ((type = message_type(s, &m, &b)) == 0 && buf_adds(&b, "-") == -1)
		abort();
	snprintf(got, sizeof(got), "%s", id == -1 || type == -1 ? "full" :
	    b.s);
	buf_free(&b);
	return got;
}

static void
says(void)
{
	static const struct {
		const char	*scheme, *name, *value, *body, *want;
	} t[] = {
		{ "standard", "Webhook-Id", "msg_1", "{\"type\":\"a.b\"}",
		    "msg_1 a.b" },
		{ "standard", "svix-id", "msg_2", "[]", "msg_2 -" },
		{ "standard", NULL, NULL, "", "- -" },
		{ "stripe", NULL, NULL, "{\"id\":\"evt_1\",\"type\":\"x\"}",
		    "evt_1 x" },
		{ "stripe", NULL, NULL, "{\"id\":\"\",\"type\":null}", "- -" },
		{ "stripe", NULL, NULL, "{\"id\":1,\"id\":2}", "- -" },
		{ "github", "X-GitHub-Delivery", "72d3", "{}", "72d3 -" },
		{ "github", "x-github-event", "push", "{}", "- push" },
		{ "slack", NULL, NULL, "{\"type\":\"event_callback\","
		    "\"event_id\":\"Ev1\",\"event\":{\"type\":\"msg\"}}",
		    "Ev1 msg" },
		{ "slack", NULL, NULL, "{\"type\":\"url_verification\"}",
		    "- url_verification" },
		{ "slack", NULL, NULL, "token=a&b=c", "- -" },
		{ "pagerduty", NULL, NULL,
		    "{\"event\":{\"id\":\"1\",\"event_type\":\"t\"}}", "1 t" },
		{ "mailgun", NULL, NULL, "{\"signature\":{\"token\":\"t\"},"
		    "\"event-data\":{\"event\":\"opened\"}}", "t opened" },
		{ "launchdarkly", NULL, NULL, "{\"_id\":7,\"kind\":\"flag\"}",
		    "7 flag" },
		{ "dropbox", NULL, NULL, "{\"id\":1}", "- -" },
		{ "gitea", "X-Forgejo-Delivery", "f", "{}", "f -" },
	};
	struct sign_header	 twice[2] = {
		{ "webhook-id", "a" }, { "webhook-id", "a" }
	};
	struct sign_message	 m = { twice, 2, "{}", 2, NULL, NULL };
	struct buf		 b = BUF_INIT(3);
	size_t			 i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		okf(strcmp(said(t[i].scheme, t[i].name, t[i].value,
		    t[i].body), t[i].want) == 0, "%s: %s", t[i].scheme,
		    t[i].want);
	ok(message_id(sign_scheme("standard"), &m, &b) == 0,
	    "an id that comes twice is none");
	twice[1].name = "x";
	twice[0].value = "abcd";
	ok(message_id(sign_scheme("standard"), &m, &b) == -1 && b.len == 0,
	    "an id without room is an error");
	buf_free(&b);
}

static void
facts(void)
{
	const struct sign_scheme	*git = sign_scheme("gitlab");
	struct buf			 b = BUF_INIT(200);
	struct sign_key			*key;
	const char			*why;

	ok(message_secret_header(git, "X-Gitlab-Token") &&
	    message_secret_header(sign_scheme("github"), "x-gitlab-token") &&
	    message_secret_header(git, "AUTHORIZATION") &&
	    message_secret_header(git, "Cookie"), "headers that are secret");
	ok(!message_secret_header(sign_scheme("github"),
	    "x-hub-signature-256") && !message_secret_header(git, "x") &&
	    !message_secret_header(git, ""), "... and those that are not");
	ok(message_signs_url(sign_scheme("twilio")) &&
	    message_signs_url(sign_scheme("square")) &&
	    message_signs_url(sign_scheme("hubspot_v2")) &&
	    !message_signs_url(sign_scheme("hubspot_v1")) &&
	    !message_signs_url(git), "who signs the URL");
	ok(message_signs_method(sign_scheme("hubspot_v3")) &&
	    !message_signs_method(sign_scheme("square")),
	    "who signs the method");
	ok(message_signed_inside(sign_scheme("adyen")) &&
	    message_signed_inside(sign_scheme("mailgun")) &&
	    !message_signed_inside(sign_scheme("adyen_header")),
	    "who signs inside the body");
	ok(message_id_signed(sign_scheme("standard")) &&
	    message_id_signed(sign_scheme("stripe")) &&
	    message_id_signed(sign_scheme("mailgun")) &&
	    message_id_signed(sign_scheme("twitch")) &&
	    !message_id_signed(sign_scheme("github")) &&
	    !message_id_signed(sign_scheme("linear")) &&
	    !message_id_signed(sign_scheme("dropbox")),
	    "whose id is signed");

	/* The handshake of t/vectors/zoom.json. */
	key = sign_key(sign_scheme("zoom"), "zoom-secret-token", 0, &why);
	ok(key != NULL && message_hmac(key, "qgg8vlvZRS6UYooatFL8Aw", 22,
	    &b) == 0, "a handshake's answer");
	is(b.s, "d9e0d764a78494688ba3f2d5c0ed4ca311394b4834d959759213424d"
	    "2df961e3", "... as Zoom wants it");
	sign_key_free(key);
	key = sign_key(git, "x", 0, &why);
	ok(message_hmac(key, "a", 1, &b) == -1, "a token makes none");
	sign_key_free(key);
	buf_free(&b);
}

int
main(void)
{
	members();
	says();
	facts();
	return done_testing();
}
