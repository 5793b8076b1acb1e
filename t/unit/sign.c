/*
 * sign: the published vectors, both ways; what is refused, and why.  The
 * whole of t/vectors goes through hook-verify in t/310-verify.t.
 */
#include <stdlib.h>

#include "sign.h"
#include "tap.h"

#define WHSEC	"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
#define WHSK	"whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKp" \
		"MKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg=="
#define WHPK	"whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4="
#define ID	"msg_p5jXN8AQM9LWM0D4loKWxJek"
#define AT	"1614265330"
#define NOW	INT64_C(1614265330)
#define BODY	"{\"test\": 2432232314}"
#define V1	"v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
#define V1A	"v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYX" \
		"FymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg=="
#define MORE	"v1=2e37df5d4a028c51a7f3133d64ae1e300d2c2c900f1b1d49d4369ad25" \
		"30f8964"
#define OLD	"t=" AT "," MORE
#define WRONG	"v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc="

static const struct sign_scheme	*std, *old;

static struct sign_key *
key(const char *secret, int for_signing)
{
	const char	*why;
	struct sign_key	*k = sign_key(std, secret, for_signing, &why);

	if (k == NULL)
		abort();
	return k;
}

static void
schemes(void)
{
	size_t	 i;

	ok(std != NULL && sign_scheme("standard") == std &&
	    sign_scheme("standard-webhooks") == std, "a scheme's three names");
	is(sign_scheme_name(std), "standard_webhooks", "its own is the first");
	is_int(sign_scheme_tolerance(std), 300, "its tolerance is 300 s");
	ok(sign_scheme("") == NULL && sign_scheme("Standard") == NULL &&
	    sign_scheme("standard_") == NULL && sign_scheme("x") == NULL,
	    "no other is known");
	for (i = 0; sign_scheme_at(i) != NULL; i++)
		okf(sign_scheme(sign_scheme_name(sign_scheme_at(i))) ==
		    sign_scheme_at(i), "scheme %zu is found by its name", i);
	ok(sign_scheme_at(SIZE_MAX) == NULL, "the table ends");
}

static void
making(void)
{
	struct sign_message	 m = { .body = BODY,
				    .body_len = sizeof(BODY) - 1 };
	struct sign_key		*both[2] = { key(WHSEC, 1), key(WHSK, 1) };
	struct sign_key		*public = key(WHPK, 0);
	struct buf		 b = BUF_INIT(4096);
	int			 i, rc = 0;

	for (i = 0; i < 3; i++) {
		buf_reset(&b);
		rc |= sign_standard(both[0], ID, NOW, m.body, m.body_len, &b);
	}
	ok(rc == 0 && strcmp(b.s, V1) == 0,
	    "the vector that every library tests, also the third time");
	rc = sign_standard(both[1], ID, NOW, m.body, m.body_len, &b);
	ok(rc == 0 && strcmp(b.s, V1 V1A) == 0, "the ed25519 one, appended");

	buf_reset(&b);
	rc = sign_make(std, both, 2, ID, NOW, &m, &b);
	ok(rc == 0, "two keys sign");
	is(b.s, "webhook-id: " ID "\nwebhook-timestamp: " AT
	    "\nwebhook-signature: " V1 " " V1A "\n",
	    "header lines, in the order of the keys");
	buf_reset(&b);
	rc = sign_standard(both[0], ID, NOW, NULL, 0, &b);
	ok(rc == 0, "an empty body is signed");
	is(b.s, "v1,v48jdbgvh29KJz2Qc+ghw8G6vG3nAKnujWBg8oM/62A=",
	    "... as its vector says");
	buf_reset(&b);
	rc = sign_legacy(both[0], NOW, m.body, m.body_len, 0, &b);
	ok(rc == 0, "the legacy header is made");
	is(b.s, OLD, "... over time and body, keyed by the secret's text");

	rc = sign_legacy(both[0], NOW, m.body, m.body_len, 1, &b);
	ok(rc == 0 && strcmp(b.s + sizeof(OLD) - 1, "," MORE) == 0,
	    "... and that of a further key is put behind it");

	buf_reset(&b);
	if (buf_adds(&b, "kept") == -1)
		abort();
	ok(sign_legacy(both[1], NOW, m.body, m.body_len, 0, &b) == -1,
	    "an ed25519 key makes no legacy header");
	ok(sign_standard(public, ID, NOW, m.body, m.body_len, &b) == -1 &&
	    sign_make(std, &public, 1, ID, NOW, &m, &b) == -1,
	    "a public key signs nothing");
	ok(sign_make(std, both, 0, ID, NOW, &m, &b) == -1,
	    "no key signs nothing");
	ok(sign_standard(both[0], "a.b", NOW, m.body, m.body_len, &b) == -1 &&
	    sign_standard(both[0], "", NOW, m.body, m.body_len, &b) == -1 &&
	    sign_make(std, both, 1, "a\nb", NOW, &m, &b) == -1,
	    "a bad id is not signed");
	ok(sign_standard(both[0], ID, 0, m.body, m.body_len, &b) == -1 &&
	    sign_standard(both[0], ID, -1, m.body, m.body_len, &b) == -1 &&
	    sign_make(std, both, 1, ID, SIGN_TIME_MAX + 1, &m, &b) == -1,
	    "nor a time outside of 1970 to 9999");
	b.max = 100;
	ok(sign_make(std, both, 2, ID, NOW, &m, &b) == -1,
	    "no room is an error");
	ok(b.len == 4 && strcmp(b.s, "kept") == 0,
	    "nothing is appended on failure");
	buf_free(&b);
	sign_key_free(both[0]);
	sign_key_free(both[1]);
	sign_key_free(public);
}

/* Check BODY at NOW with these headers; the reason, or NULL if good. */
static const char *
check(const struct sign_scheme *s, const char *secret, int64_t now,
    int64_t tolerance, const struct sign_header *h, size_t n)
{
	struct sign_message	 m = { .header = h, .nheader = n,
				    .body = BODY,
				    .body_len = sizeof(BODY) - 1 };
	const char		*why = "bad key";
	struct sign_key		*k = sign_key(s, secret, 0, &why);
	int			 rc = 1;

	if (k != NULL)
		rc = sign_check(s, &k, 1, &m, now, tolerance, NULL, &why);
	sign_key_free(k);
	return rc == 0 ? NULL : why;
}

static void
one(const char *id, const char *at, const char *sig, const char *want,
    const char *name)
{
	struct sign_header	 h[3] = {
		{ "webhook-id", id }, { "webhook-timestamp", at },
		{ "webhook-signature", sig }
	};
	const char		*why = check(std, WHSEC, NOW, 300, h, 3);

	is(why == NULL ? "good" : why, want, name);
}

static void
signatures(void)
{
	struct buf	 many = BUF_INIT(1 << 20);
	int		 i, rc = 0;

	one(ID, AT, V1, "good", "the vector is good");
	one(ID, AT, WRONG " v2,x " V1 " " WRONG, "good", "any one is enough");
	one(ID, AT, "  " WRONG "  " V1 " ", "good", "more spaces are none");
	for (i = 0; i < 5000; i++)
		rc |= buf_adds(&many, WRONG " ");
	rc |= buf_adds(&many, V1);
	if (rc != 0)
		abort();
	one(ID, AT, many.s, "good", "the last of 5001 is found");
	buf_free(&many);

	one(ID, AT, WRONG, "signature does not match", "another one is not");
	one(ID, AT, "", "signature header is empty", "empty");
	one(ID, AT, " ", "no signature that this scheme knows", "blank");
	one(ID, AT, "v1", "no signature that this scheme knows", "bare tag");
	one(ID, AT, ",", "no signature that this scheme knows", "comma");
	one(ID, AT, "=", "no signature that this scheme knows", "equals");
	one(ID, AT, &V1[3], "no signature that this scheme knows", "no tag");
	one(ID, AT, "V1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
	    "no signature that this scheme knows", "tag in capitals");
	one(ID, AT, V1A, "no signature for this kind of secret",
	    "ed25519 for an HMAC secret");
	one(ID, AT, "v1a" "," "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
	    "no signature for this kind of secret", "right, but as v1a");
	one(ID, AT, "v1,", "signature is malformed", "nothing behind the tag");
	one(ID, AT, "v1,g0hM9", "signature is malformed", "its beginning");
	one(ID, AT, V1 "=", "signature is malformed", "too much padding");
	one(ID, AT, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE",
	    "signature is malformed", "no padding");
	one(ID, AT, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OF=",
	    "signature is malformed", "unused bits set");
	one(ID, AT, "v1,g0hM9SsE-OTPJTGt_tmIKtSyZlE3uFJELVlNIOLJ1OE=",
	    "signature is malformed", "URL-safe alphabet");
	one(ID, AT, "v1,g0hM9SsE+OTPJTGt/tmIKtSy\tZlE3uFJELVlNIOLJ1OE=",
	    "signature is malformed", "white space inside");
	one(ID, AT, V1 "," V1, "signature is malformed", "comma between");
	one(ID, AT, "v1,\xc3\xa9\xc3\xa9\xff\x80", "signature is malformed",
	    "bytes that are no text");
	one("", AT, V1, "no id header", "empty id");
	one(ID "x", AT, V1, "signature does not match", "another id");
	one(ID, "1614265331", V1, "signature does not match", "another time");
}

static void
times(void)
{
	static const char	*const bad[] = {
		"-1", "0", "hello", "1614265330abc", "+1614265330",
		" 1614265330", "1614265330 ", "1614265330.0", "01614265330",
		"0x60387a72", "1.6e9", "253402300800", "4611686018427387904",
		"9223372036854775807", "9223372036854775808",
		"18446744073709551616", "18446744075323816946",
		"999999999999999999999999999999", "1614265330000",
	};
	static const struct sign_header	 h[3] = {
		{ "webhook-id", ID }, { "webhook-timestamp", AT },
		{ "webhook-signature", V1 }
	};
	static const struct {
		int64_t		 now, tolerance;
		const char	*why;
	} t[] = {
		{ NOW + 300, 300, NULL }, { NOW - 300, 300, NULL },
		{ NOW + 301, 300, "timestamp is too old" },
		{ NOW - 301, 300, "timestamp is in the future" },
		{ NOW, 0, NULL }, { NOW + 1, 0, "timestamp is too old" },
		{ NOW - 1, 0, "timestamp is in the future" },
		{ NOW + 999999999, SIGN_NO_TOLERANCE, NULL },
		{ 0, SIGN_NO_TOLERANCE, NULL },
		{ INT64_MAX, 300, "timestamp is too old" },
		{ INT64_MIN, 300, "timestamp is in the future" },
		{ INT64_MIN, INT64_MAX, "timestamp is in the future" },
		{ INT64_MAX, INT64_MAX, NULL },
	};
	const char		*why;
	size_t			 i;

	one(ID, "", V1, "no timestamp header", "empty timestamp");
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		one(ID, bad[i], V1, "timestamp is not a number of seconds",
		    bad[i]);
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		why = check(std, WHSEC, t[i].now, t[i].tolerance, h, 3);
		okf((why == NULL) == (t[i].why == NULL) && (why == NULL ||
		    strcmp(why, t[i].why) == 0), "at %lld with %lld: %s",
		    (long long)t[i].now, (long long)t[i].tolerance,
		    t[i].why == NULL ? "good" : t[i].why);
	}
}

static void
names(void)
{
	static const struct {
		struct sign_header	 h[4];
		size_t			 n;
		const char		*why, *name;
	} t[] = {
		{ { { "svix-id", ID }, { "svix-timestamp", AT },
		    { "svix-signature", V1 } }, 3, "good", "svix- names" },
		{ { { "Webhook-Id", ID }, { "WEBHOOK-TIMESTAMP", AT },
		    { "webhook-SIGNATURE", V1 } }, 3, "good", "any case" },
		{ { { "webhook-id", ID }, { "webhook-timestamp", AT },
		    { "svix-signature", V1 } }, 3,
		    "headers of two families of names are mixed", "mixed" },
		{ { { "svix-id", ID }, { "webhook-timestamp", AT },
		    { "webhook-signature", V1 } }, 3,
		    "headers of two families of names are mixed", "mixed id" },
		{ { { "webhook-id", ID }, { "svix-timestamp", AT },
		    { "webhook-signature", V1 } }, 3,
		    "headers of two families of names are mixed",
		    "mixed timestamp" },
		{ { { "webhook-timestamp", AT },
		    { "webhook-signature", V1 } }, 2, "no id header",
		    "no id" },
		{ { { "webhook-id", ID }, { "webhook-signature", V1 } }, 2,
		    "no timestamp header", "no timestamp" },
		{ { { "webhook-id", ID }, { "webhook-timestamp", AT } }, 2,
		    "no signature header", "no signature" },
		{ { { "", "" } }, 0, "no signature header", "no header" },
		{ { { "webhook-id", ID }, { "webhook-timestamp", AT },
		    { "webhook-signature", V1 },
		    { "webhook-signature", WRONG } }, 4,
		    "two signature headers", "two signatures" },
		{ { { "webhook-id", ID }, { "webhook-timestamp", AT },
		    { "webhook-signature", V1 }, { "Webhook-ID", ID } }, 4,
		    "two id headers", "two ids, though alike" },
		{ { { "webhook-id", ID }, { "webhook-timestamp", AT },
		    { "webhook-signature", V1 },
		    { "webhook-timestamp", AT } }, 4,
		    "two timestamp headers", "two timestamps" },
		{ { { "webhook-idx", ID }, { "webhook-timestamp", AT },
		    { "webhook-signature", V1 } }, 3, "no id header",
		    "a longer name is another" },
	};
	const char	*why;
	size_t		 i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		why = check(std, WHSEC, NOW, 300, t[i].h, t[i].n);
		is(why == NULL ? "good" : why, t[i].why, t[i].name);
	}
}

static void
several_keys(void)
{
	static const struct sign_header	 h[3] = {
		{ "webhook-id", ID }, { "webhook-timestamp", AT },
		{ "webhook-signature", V1A }
	};
	struct sign_message	 m = { .header = h, .nheader = 3,
				    .body = BODY,
				    .body_len = sizeof(BODY) - 1 };
	struct sign_key		*k[3] = {
		key("whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD", 0),
		key(WHPK, 0), key(WHSK, 0)
	};
	struct sign_key		*pair = k[2];
	const char		*why, *id;
	size_t			 which = 9;
	int64_t			 at;

	ok(sign_check(std, k, 3, &m, NOW, 300, &which, &why) == 0 &&
	    which == 1, "the key that matched is named");
	ok(sign_check(std, k + 2, 1, &m, NOW, 300, NULL, &why) == 0,
	    "a private key verifies like its public one");
	ok(sign_check(std, k, 1, &m, NOW, 300, NULL, &why) == 1 &&
	    why == SIGN_OTHER_KIND, "another kind of key does not");
	m.body_len--;
	ok(sign_check(std, k, 2, &m, NOW, 300, NULL, &why) == 1 &&
	    why == SIGN_DIFFERENT, "the best reason of several keys is given");
	k[2] = k[0];
	ok(sign_check(std, k + 1, 2, &m, NOW, 300, NULL, &why) == 1 &&
	    why == SIGN_DIFFERENT, "... whatever their order");
	k[2] = pair;
	ok(sign_check(std, k, 0, &m, NOW, 300, NULL, &why) == 1, "no key, no");
	is(why, "no secret to check with", "... and says so");
	ok(sign_read(std, &m, &id, &at, &why) == 0 && strcmp(id, ID) == 0 &&
	    at == NOW, "id and time are read without a key");

	sign_key_free(k[0]);
	sign_key_free(k[1]);
	sign_key_free(k[2]);
}

/* Verifying costs 0.2 ms each, and a header has room for hundreds. */
static void
many_ed25519(void)
{
	static const char	 zeros[] = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
				    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
				    "AAAAAAAAAAAAA==";
	struct sign_header	 h[3] = {
		{ "webhook-id", ID }, { "webhook-timestamp", AT },
	};
	struct buf		 b = BUF_INIT(8192);
	int			 i, n, rc;

	h[2].name = "webhook-signature";
	for (n = 15; n <= 16; n++) {
		buf_reset(&b);
		for (i = 0, rc = 0; i < n; i++)
			rc |= buf_addf(&b, "v1a,%s v1a,xx ", zeros);
		if (rc != 0 || buf_adds(&b, V1A) == -1)
			abort();
		h[2].value = b.s;
		ok((check(std, WHPK, NOW, 300, h, 3) == NULL) == (n == 15),
		    n == 15 ? "the 16th ed25519 signature is looked at" :
		    "the 17th is not");
	}
	buf_free(&b);
}

static void
legacy(void)
{
	static const struct {
		const char	*sig, *want;
	} t[] = {
		{ OLD, "good" },
		{ "v1=00,t=" AT ",v0=x, v1=2E37DF5D4A028C51A7F3133D64AE1E300D2"
		    "C2C900F1B1D49D4369AD2530F8964", "good" },
		{ "v0=x, " OLD, "good" },
		{ OLD "0", "signature is malformed" },
		{ OLD ",v1=zz", "good" },
		{ OLD ",t=" AT, "two timestamps in the signature" },
		{ "v1=00", "no timestamp in the signature" },
		{ "t=,v1=00", "timestamp is not a number of seconds" },
		{ "t=01614265330,v1=00",
		    "timestamp is not a number of seconds" },
		{ "t=" AT, "no signature that this scheme knows" },
		{ "t=" AT ",v1=", "signature is malformed" },
		{ "t=", "timestamp is not a number of seconds" },
		{ "t", "no timestamp in the signature" },
		{ "t=1614265331,v1=2e37df5d4a028c51a7f3133d64ae1e300d2c2c900f1"
		    "b1d49d4369ad2530f8964", "signature does not match" },
	};
	struct sign_header	 h = { "X-Webhook-Signature", NULL };
	struct sign_message	 m = { .body = BODY,
				    .body_len = sizeof(BODY) - 1 };
	struct sign_key		*k;
	struct buf		 b = BUF_INIT(4096);
	const char		*why;
	size_t			 i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		h.value = t[i].sig;
		why = check(old, WHSEC, NOW, 300, &h, 1);
		okf(strcmp(why == NULL ? "good" : why, t[i].want) == 0,
		    "legacy, number %zu: %s", i, t[i].want);
		if (strcmp(why == NULL ? "good" : why, t[i].want) != 0)
			printf("# %s\n", why);
	}
	if ((k = sign_key(old, WHSEC, 1, &why)) == NULL ||
	    sign_make(old, &k, 1, ID, NOW, &m, &b) == -1)
		abort();
	is(b.s, "x-webhook-id: " ID "\nx-webhook-signature: " OLD "\n",
	    "the legacy scheme makes its headers");
	sign_key_free(k);
	buf_free(&b);
}

int
main(void)
{
	std = sign_scheme("standard_webhooks");
	old = sign_scheme("legacy");
	if (std == NULL || old == NULL)
		return 1;
	schemes();
	making();
	signatures();
	times();
	names();
	several_keys();
	many_ed25519();
	legacy();
	return done_testing();
}
