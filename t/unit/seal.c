/*
 * seal: what is sealed under a key opens under it, in its row, unchanged, and
 * nowhere else; the key file is read strictly.
 */
#include <sys/stat.h>

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "seal.h"
#include "tap.h"

static char	 path[] = "/tmp/hook-seal-XXXXXX";

static void
write_key(const void *p, size_t n, mode_t mode)
{
	int	 fd = open(path, O_WRONLY | O_TRUNC);

	if (fd == -1 || write(fd, p, n) != (ssize_t)n ||
	    fchmod(fd, mode) == -1)
		perror(path);
	close(fd);
}

static void
loads(const void *p, size_t n, const char *name)
{
	struct seal	 s;
	const char	*why = "";

	write_key(p, n, 0600);
	ok(seal_load(&s, &why) == 0 && s.set && s.key[0] == 0x30 &&
	    s.key[31] == 0x31, name);
	seal_wipe(&s);
}

static void
refuses(const void *p, size_t n, mode_t mode, const char *reason,
    const char *name)
{
	struct seal	 s;
	const char	*why = NULL;

	write_key(p, n, mode);
	ok(seal_load(&s, &why) == -1 && !s.set, name);
	is(why, reason, "... and says why");
}

static void
key_files(void)
{
	static const char	 raw[] = "0123456789abcdef0123456789abcde1";
	static const char	 hex[] = "303132333435363738396162636465663031"
				    "32333435363738396162636465" "31\r\n";
	static const char	 b64[] = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhY"
				    "mNkZTE=\n";
	static const char	 junk[] = "not a key: 32 bytes, as 64 hex "
				    "digits, base64 or raw";
	char			 big[300] = "";
	struct seal		 s;
	const char		*why = NULL;

	unsetenv("HOOK_KEY_FILE");
	ok(seal_load(&s, &why) == 0 && !s.set, "no HOOK_KEY_FILE is no key");
	setenv("HOOK_KEY_FILE", "", 1);
	ok(seal_load(&s, &why) == 0 && !s.set, "an empty one neither");
	setenv("HOOK_KEY_FILE", "/nonexistent/key", 1);
	ok(seal_load(&s, &why) == -1, "a missing file is an error");
	is(why, "no such file", "... and says so");
	setenv("HOOK_KEY_FILE", path, 1);

	loads(raw, 32, "32 raw bytes are a key");
	loads(hex, sizeof(hex) - 1, "64 hex digits and a line end are a key");
	loads(hex, 64, "... and without the line end");
	loads(b64, sizeof(b64) - 1, "base64 of 32 bytes is a key");
	refuses("", 0, 0600, junk, "an empty file is refused");
	refuses("\n", 1, 0600, junk, "a line end alone is refused");
	refuses(raw, 31, 0600, junk, "31 bytes are refused");
	refuses(hex, 62, 0600, junk, "62 hex digits are refused");
	refuses(b64, 43, 0600, junk, "base64 without its padding is refused");
	refuses(big, sizeof(big), 0600, "too long", "300 bytes are refused");
	refuses(raw, 32, 0604, "others have access to it: chmod 600",
	    "a file that others may read is refused");
	refuses(raw, 32, 0620, "others have access to it: chmod 600",
	    "a file that its group may write is refused");
	setenv("HOOK_KEY_FILE", "/", 1);
	ok(seal_load(&s, &why) == -1, "a directory is refused");
	setenv("HOOK_KEY_FILE", path, 1);
	write_key(raw, 32, 0640);
	is_int(seal_load(&s, &why), geteuid() == 0 ? 0 : -1,
	    "the group may read it only if root owns it");
}

static void
round_trip(const struct seal *s, const char *context, const char *plain)
{
	struct buf	 sealed = BUF_INIT(65536), back = BUF_INIT(65536);
	const char	*why = "";

	okf(seal_close(s, context, plain, &sealed, &why) == 0 &&
	    strncmp(sealed.s, SEAL_PREFIX, 10) == 0 &&
	    (strlen(plain) < 8 || strstr(sealed.s, plain) == NULL),
	    "%zu bytes are sealed, and not seen", strlen(plain));
	ok(seal_open(s, context, sealed.s, &back, &why) == 0 &&
	    back.len == strlen(plain) &&
	    memcmp(back.s, plain, back.len) == 0, "... and open again");
	buf_wipe(&back);
	buf_free(&sealed);
}

static void
does_not_open(const struct seal *s, const char *context, const char *text,
    const char *reason, const char *name)
{
	struct buf	 out = BUF_INIT(4096);
	const char	*why = NULL;

	if (buf_adds(&out, "x") == -1)
		return;
	okf(seal_open(s, context, text, &out, &why) == -1 && out.len == 1,
	    "does not open: %s", name);
	is(why, reason, "... and says why");
	buf_free(&out);
}

static void
damage(const struct seal *s)
{
	static const char	 closed[] = "sealed secret does not open: "
				    "another HOOK_KEY_FILE, another row, or "
				    "damaged";
	static const char	 damaged[] = "sealed secret is damaged";
	struct seal		 other = *s, none = { 0 };
	struct buf		 t = BUF_INIT(4096), u = BUF_INIT(4096);
	const char		*why;
	size_t			 i, opened = 0;
	char			 saved;

	if (seal_close(s, "7", "whsec_secret", &t, &why) == -1 ||
	    seal_close(s, "7", "whsec_secret", &u, &why) == -1)
		return;
	ok(strcmp(t.s, u.s) != 0, "sealing twice gives two texts");
	does_not_open(s, "8", t.s, closed, "in another row");
	does_not_open(s, "", t.s, closed, "in no row");
	other.key[31] ^= 1;
	does_not_open(&other, "7", t.s, closed, "under another key");
	does_not_open(&none, "7", t.s,
	    "secret is sealed, and HOOK_KEY_FILE not set", "without a key");
	does_not_open(s, "7", SEAL_PREFIX, damaged, "nothing sealed");
	does_not_open(s, "7", "sealed:v1:AAAA", damaged, "too short");
	does_not_open(s, "7", "sealed:v1:****", damaged, "not base64");

	for (i = 10; i < t.len; i++) {
		saved = t.s[i];
		t.s[i] = saved == 'A' ? 'B' : 'A';
		buf_reset(&u);
		if (seal_open(s, "7", t.s, &u, &why) == 0)
			opened++;
		t.s[i] = saved;
	}
	is_int((int64_t)opened, 0, "does not open: any character changed");
	buf_reset(&u);
	is_int(seal_open(s, "7", t.s, &u, &why), 0, "unchanged, it opens");
	is_int(seal_close(s, "7", t.s, &u, &why), -1,
	    "what is sealed is not sealed again");
	buf_free(&t);
	buf_free(&u);
}

int
main(void)
{
	struct seal	 s, none = { 0 };
	struct buf	 out = BUF_INIT(8192);
	const char	*why;
	char		 text[4098];
	int		 fd;

	if ((fd = mkstemp(path)) == -1) {
		perror(path);
		return 1;
	}
	close(fd);
	key_files();
	write_key("0123456789abcdef0123456789abcdef", 32, 0600);
	if (seal_load(&s, &why) == -1)
		return 1;

	round_trip(&s, "7", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
	round_trip(&s, "", "x");
	round_trip(&s, "7", "");
	memset(text, 's', sizeof(text));
	text[4096] = '\0';
	round_trip(&s, "9223372036854775807", text);
	text[4096] = 's';
	text[4097] = '\0';
	is_int(seal_close(&s, "7", text, &out, &why), -1,
	    "a secret over 4 KiB is refused");
	damage(&s);

	buf_reset(&out);
	ok(seal_close(&none, "7", "whsec_x", &out, &why) == 0 &&
	    strcmp(out.s, "whsec_x") == 0, "without a key it stays as it is");
	buf_reset(&out);
	ok(seal_open(&s, "7", "whsec_x", &out, &why) == 0 &&
	    strcmp(out.s, "whsec_x") == 0,
	    "a stored secret in clear is taken with a key too");
	buf_free(&out);
	seal_wipe(&s);
	unlink(path);
	return done_testing();
}
