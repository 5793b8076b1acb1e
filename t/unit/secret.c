/*
 * secret: which strings are keys, for whom; base64 and hex, strictly; new
 * secrets.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base64.h"
#include "secret.h"
#include "sign.h"
#include "tap.h"

#define WHSK	"whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKp" \
		"MKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg=="
#define WHPK	"whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4="

static const struct sign_scheme	*std;

/* The reason why it is no key, or NULL. */
static const char *
refusal(const char *secret, int for_signing)
{
	const char	*why = NULL;
	struct sign_key	*k = sign_key(std, secret, for_signing, &why);

	sign_key_free(k);
	return k == NULL ? why : NULL;
}

static void
symmetric(void)
{
	static const struct {
		size_t	 bytes;
		int	 signs, verifies;
	} t[] = {
		{ 1, 0, 0 }, { 15, 0, 0 }, { 16, 0, 1 }, { 23, 0, 1 },
		{ 24, 1, 1 }, { 32, 1, 1 }, { 64, 1, 1 }, { 65, 0, 1 },
		{ 75, 0, 1 }, { 76, 0, 0 }, { 200, 0, 0 }, { 800, 0, 0 },
	};
	unsigned char	 raw[800];
	struct buf	 b = BUF_INIT(2048);
	size_t		 i;

	memset(raw, 'k', sizeof(raw));
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		buf_reset(&b);
		if (buf_adds(&b, "whsec_") == -1 ||
		    base64_add(&b, raw, t[i].bytes) == -1)
			abort();
		okf((refusal(b.s, 1) == NULL) == t[i].signs &&
		    (refusal(b.s + 6, 1) == NULL) == t[i].signs,
		    "%zu bytes %s", t[i].bytes, t[i].signs ? "sign" :
		    "do not sign");
		okf((refusal(b.s, 0) == NULL) == t[i].verifies,
		    "%zu bytes %s", t[i].bytes, t[i].verifies ? "verify" :
		    "do not verify");
	}
	is(refusal("", 1), "empty", "nothing is no key");
	is(refusal("whsec_", 1), "shorter than 24 bytes", "a prefix neither");
	is(refusal("whsec_", 0), "shorter than 16 bytes", "... to verify");
	is(refusal("whsec_%", 1), "not base64", "nor what is not base64");
	is(refusal("hwsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD", 0), "not base64",
	    "nor a misspelt prefix");
	is(refusal("whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD\n", 0),
	    "not base64", "nor with a line end");
	is(refusal(" whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD", 0),
	    "not base64", "nor with a space");
	memset(raw, 'A', sizeof(raw));
	buf_reset(&b);
	if (buf_add(&b, raw, 800) == -1 || buf_add(&b, raw, 300) == -1)
		abort();
	is(refusal(b.s, 1), "too long", "nor 1,100 characters");
	buf_free(&b);
}

static void
pairs(void)
{
	ok(refusal(WHSK, 1) == NULL && refusal(WHSK, 0) == NULL,
	    "a pair signs and verifies");
	ok(refusal(WHPK, 0) == NULL, "a public key verifies");
	is(refusal(WHPK, 1), "a public key (whpk_) can't sign",
	    "... and does not sign");
	is(refusal("whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKp"
	    "MKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg", 1),
	    "not base64 of 64 bytes behind whsk_", "padding is needed");
	is(refusal("whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKp"
	    "MKkioLlaaaaaaaaaaAJ6p9lMicMFs6Kvg==", 0),
	    "halves of the key pair do not belong together",
	    "the halves are compared");
	is(refusal("whsk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=", 1),
	    "not base64 of 64 bytes behind whsk_", "half a pair is none");
	is(refusal("whpk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKp"
	    "MKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==", 0),
	    "not base64 of 32 bytes behind whpk_", "a pair is not public");
	is(refusal("whpk_", 0), "not base64 of 32 bytes behind whpk_",
	    "a prefix is no public key");
}

static void
ids(void)
{
	static const char	 long_id[] = "0123456789012345678901234567890"
				    "123456789012345678901234567890_-A";

	ok(sign_id("msg_p5jXN8AQM9LWM0D4loKWxJek") && sign_id("a") &&
	    sign_id("-_") && sign_id(long_id),
	    "ids of 1 to 64 letters, digits, _ and -");
	ok(!sign_id("") && !sign_id("a b") && !sign_id("a.b") &&
	    !sign_id("a\n") && !sign_id("\xc3\xa9") && !sign_id("a\r\nb: c"),
	    "no others");
	ok(strlen(long_id) == 64 && !sign_id("01234567890123456789012345678901"
	    "234567890123456789012345678901234"), "... and no longer ones");
}

static void
verify_only(void)
{
	static const char	*const secret[] = {
		"whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD", WHSK, WHPK
	};
	struct sign_key	*k;
	struct buf	 b = BUF_INIT(256);
	const char	*why;
	int		 i;

	for (i = 0; i < 3; i++) {
		if ((k = sign_key(std, secret[i], 0, &why)) == NULL)
			abort();
		okf(sign_standard(k, "evt_1", 1, "x", 1, &b) == -1 &&
		    b.len == 0, "what was read to verify does not sign, "
		    "number %d", i);
		sign_key_free(k);
	}
	buf_free(&b);
}

static void
new_secrets(void)
{
	struct sign_key	*k;
	struct buf	 a = BUF_INIT(256), b = BUF_INIT(256);
	const char	*why;

	if (sign_new_secret(0, &a) == -1 || sign_new_secret(0, &b) == -1)
		abort();
	ok(strncmp(a.s, "whsec_", 6) == 0 && a.len == 50 &&
	    refusal(a.s, 1) == NULL, "a new secret is whsec_ and 32 bytes");
	ok(strcmp(a.s, b.s) != 0, "... and not the last one");
	k = sign_key(std, a.s, 1, &why);
	ok(k != NULL && sign_public(k, &b) == -1, "it has no public half");
	sign_key_free(k);
	buf_reset(&a);
	if (sign_new_secret(1, &a) == -1)
		abort();
	ok(strncmp(a.s, "whsk_", 5) == 0 && a.len == 93 &&
	    refusal(a.s, 1) == NULL, "a new pair is whsk_ and 64 bytes");
	if ((k = sign_key(std, WHSK, 1, &why)) == NULL)
		abort();
	buf_reset(&b);
	ok(sign_public(k, &b) == 0 && strcmp(b.s, WHPK) == 0,
	    "the public half of the published pair is the published one");
	sign_key_free(k);
	buf_wipe(&a);
	buf_free(&b);
}

static void
base64(void)
{
	static const struct {
		const char	*text, *strict, *lax;
	} t[] = {
		{ "", "", "" }, { "Zg==", "f", "f" }, { "Zm8=", "fo", "fo" },
		{ "Zm9v", "foo", "foo" }, { "Zm9vYg==", "foob", "foob" },
		{ "Zg", NULL, "f" }, { "Zm8", NULL, "fo" },
		{ "Zh==", NULL, "f" }, { "Zm9=", NULL, "fo" },
		{ "Zm9vYh", NULL, "foob" }, { "Z", NULL, NULL },
		{ "Zg=", NULL, NULL }, { "Zg===", NULL, NULL },
		{ "Z===", NULL, NULL }, { "====", NULL, NULL },
		{ "=", NULL, NULL }, { "==", NULL, NULL },
		{ "Zm9v====", NULL, NULL }, { "Zm9v=", NULL, NULL },
		{ "Zg==Zg==", NULL, NULL }, { "Zm 8", NULL, NULL },
		{ "Zm9v\n", NULL, NULL }, { " Zm9v", NULL, NULL },
		{ "Zm-_", NULL, NULL }, { "Zm9\xff", NULL, NULL },
		{ "Zm9@", NULL, NULL }, { "Zm9[", NULL, NULL },
		{ "Zm9`", NULL, NULL }, { "Zm9{", NULL, NULL },
		{ "Zm9,", NULL, NULL }, { "Zm9.", NULL, NULL },
		{ "Zm9:", NULL, NULL },
	};
	unsigned char	 out[64], all[256];
	struct buf	 b = BUF_INIT(1024);
	ssize_t		 n;
	size_t		 i, len;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		len = strlen(t[i].text);
		n = base64_decode(t[i].text, len, out, sizeof(out));
		okf(t[i].strict == NULL ? n == -1 :
		    n == (ssize_t)strlen(t[i].strict) &&
		    memcmp(out, t[i].strict, (size_t)n) == 0,
		    "base64, number %zu", i);
		n = base64_decode_lax(t[i].text, len, out, sizeof(out));
		okf(t[i].lax == NULL ? n == -1 :
		    n == (ssize_t)strlen(t[i].lax) &&
		    memcmp(out, t[i].lax, (size_t)n) == 0,
		    "base64 as a secret, number %zu", i);
	}
	ok(base64_decode("Zm9v", 4, out, 2) == -1 &&
	    base64_decode("Zm9v", 4, out, 3) == 3 &&
	    base64_decode("Zg==", 4, out, 1) == 1 &&
	    base64_decode("Zg==", 4, out, 0) == -1, "no more than fits");
	ok(base64_decode("Zg\0=", 4, out, 3) == -1, "a NUL is no digit");

	for (i = 0; i < 256; i++)
		all[i] = (unsigned char)i;
	for (i = 0, len = 0; i <= 256; i++) {
		unsigned char	 back[256];

		buf_reset(&b);
		if (base64_add(&b, all, i) == 0 &&
		    base64_decode(b.s, b.len, back, 256) == (ssize_t)i &&
		    memcmp(back, all, i) == 0)
			len++;
		buf_reset(&b);
		if (hex_add(&b, all, i) == 0 &&
		    hex_decode(b.s, b.len, back, 256) == (ssize_t)i &&
		    memcmp(back, all, i) == 0)
			len++;
	}
	is_int((int64_t)len, 2 * 257, "0 to 256 bytes there and back");
	ok(hex_decode("aF09", 4, out, 2) == 2 && out[0] == 0xaf &&
	    out[1] == 0x09, "hex of either case");
	ok(hex_decode("0", 1, out, 9) == -1 && hex_decode("0g", 2, out, 9) ==
	    -1 && hex_decode("0 ", 2, out, 9) == -1 &&
	    hex_decode("0/", 2, out, 9) == -1 &&
	    hex_decode(":0", 2, out, 9) == -1 &&
	    hex_decode("@0", 2, out, 9) == -1 &&
	    hex_decode("`0", 2, out, 9) == -1 &&
	    hex_decode("0000", 4, out, 1) == -1, "... and nothing else");
	buf_free(&b);
}

static void
file(const char *text, size_t n, const char *want, const char *name)
{
	char		 path[] = "/tmp/hook-secret-XXXXXX";
	struct buf	 b = BUF_INIT(SECRET_MAX);
	const char	*why = "";
	int		 fd = mkstemp(path);

	if (fd == -1 || write(fd, text, n) != (ssize_t)n)
		abort();
	close(fd);
	is(secret_read(path, &b, &why) == 0 ? b.s : why, want, name);
	unlink(path);
	buf_wipe(&b);
}

static void
files(void)
{
	static char	 big[SECRET_MAX + 1];
	struct buf	 b = BUF_INIT(SECRET_MAX);
	const char	*why = "";

	memset(big, 's', sizeof(big));
	file("whsec_x", 7, "whsec_x", "a file is its text");
	file("whsec_x\n", 8, "whsec_x", "... without its line end");
	file("whsec_x\r\n\n", 10, "whsec_x", "... or several");
	file(" a b \n", 6, " a b ", "spaces stay");
	file("", 0, "empty", "nothing is no secret");
	file("\n", 1, "empty", "nor is a line end");
	file("a\0b", 3, "holds a NUL byte", "nor a NUL");
	file(big, sizeof(big), "too long", "nor 4,097 bytes");
	ok(secret_read("/nonexistent", &b, &why) == -1 &&
	    strcmp(why, "No such file or directory") == 0,
	    "a missing file is named so");

	unsetenv("HOOK_SECRET");
	ok(secret_read(NULL, &b, &why) == -1 && strcmp(why, "not set") == 0,
	    "HOOK_SECRET may not be set");
	setenv("HOOK_SECRET", "", 1);
	ok(secret_read(NULL, &b, &why) == -1 && strcmp(why, "empty") == 0,
	    "... or empty");
	setenv("HOOK_SECRET", "abc\n", 1);
	ok(secret_read(NULL, &b, &why) == 0 && strcmp(b.s, "abc") == 0,
	    "else it is the secret");
	ok(secret_key(NULL, std, 0, &why) == NULL &&
	    strcmp(why, "shorter than 16 bytes") == 0,
	    "... which need not be a key");
	buf_wipe(&b);
}

int
main(void)
{
	if ((std = sign_scheme("standard")) == NULL)
		return 1;
	symmetric();
	pairs();
	verify_only();
	ids();
	new_secrets();
	base64();
	files();
	return done_testing();
}
