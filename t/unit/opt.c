/* opt: what people type is a number in range, or a reason. */
#include <locale.h>
#include <stdlib.h>

#include "opt.h"
#include "tap.h"

#define DAY	INT64_C(86400000)	/* ms */

static void
durations(void)
{
	static const struct {
		const char	*text;
		int64_t		 ms;
		const char	*why;
	} t[] = {
		{ "0", 0, NULL }, { "1", 1000, NULL }, { "5s", 5000, NULL },
		{ "250ms", 250, NULL }, { "1m", 60000, NULL },
		{ "2h", 7200000, NULL }, { "30d", 30 * DAY, NULL },
		{ "007s", 7000, NULL }, { "0ms", 0, NULL },
		{ "2592000", 30 * DAY, NULL },
		{ "31d", 0, "too large" }, { "2592001", 0, "too large" },
		{ "9223372036854775807", 0, "too large" },
		{ "9223372036854775808", 0, "too large" },
		{ "9223372036854775807ms", 0, "too large" },
		{ "106751991168d", 0, "too large" },
		{ "99999999999999999999999999999999d", 0, "too large" },
		{ "", 0, "invalid" }, { "s", 0, "invalid" },
		{ "ms", 0, "invalid" }, { "-1", 0, "invalid" },
		{ "+1", 0, "invalid" }, { " 1", 0, "invalid" },
		{ "1 ", 0, "invalid" }, { "1 s", 0, "invalid" },
		{ "1.5s", 0, "invalid" }, { "1e3", 0, "invalid" },
		{ "0x10", 0, "invalid" }, { "1S", 0, "invalid" },
		{ "1w", 0, "invalid" }, { "1sm", 0, "invalid" },
		{ "1mss", 0, "invalid" }, { "1h30m", 0, "invalid" },
		{ "\xd9\xa1", 0, "invalid" },
		{ "999999999999999999999x", 0, "invalid" },
	};
	const char	*why;
	int64_t		 ms;
	size_t		 i;
	int		 rc;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		why = NULL;
		ms = -7;
		rc = opt_duration(t[i].text, 0, 30 * DAY, &ms, &why);
		if (t[i].why == NULL)
			okf(rc == 0 && ms == t[i].ms, "duration '%s' is %lld "
			    "ms", t[i].text, (long long)t[i].ms);
		else
			okf(rc == -1 && strcmp(why, t[i].why) == 0 &&
			    ms == -7, "duration '%s' is %s", t[i].text,
			    t[i].why);
	}
	ok(opt_duration("1s\n", 0, DAY, &ms, &why) == -1,
	    "a line end is no part of a duration");
	ok(opt_duration("99ms", 100, 1000, &ms, &why) == -1 &&
	    strcmp(why, "too small") == 0, "below the least is too small");
	ok(opt_duration("100ms", 100, 1000, &ms, &why) == 0 &&
	    opt_duration("1s", 100, 1000, &ms, &why) == 0,
	    "both ends of a range are in it");
}

static void
lists(void)
{
	static const char	*const bad[] = {
		"", ",", "5s,", ",5s", "5s,,1m", "5s, 1m", "5s;1m"
	};
	const char	*why = NULL;
	int64_t		 ms[3] = { -1, -1, -1 };
	size_t		 i;

	is_int(opt_durations("5s", 0, DAY, ms, 3, &why), 1, "a list of one");
	ok(ms[0] == 5000 && ms[1] == -1, "... is stored, and no more");
	is_int(opt_durations("5s,5m,250ms", 0, DAY, ms, 3, &why), 3,
	    "a list of three");
	ok(ms[0] == 5000 && ms[1] == 300000 && ms[2] == 250,
	    "... keeps its order");
	is_int(opt_durations("1,2,3,4", 0, DAY, ms, 3, &why), -1,
	    "four where three fit");
	is(why, "too many", "... are too many");
	is_int(opt_durations("1,2d", 0, DAY, ms, 3, &why), -1,
	    "one out of range");
	is(why, "too large", "... spoils the list");
	ok(ms[0] == 5000 && ms[1] == 300000 && ms[2] == 250,
	    "nothing is stored of a bad list");
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		why = NULL;
		okf(opt_durations(bad[i], 0, DAY, ms, 3, &why) == -1 &&
		    strcmp(why, "invalid") == 0, "list '%s' is invalid",
		    bad[i]);
	}
}

static void
integers(void)
{
	static const struct {
		const char	*text;
		int64_t		 min, max, n;
		const char	*why;
	} t[] = {
		{ "0", 0, 9, 0, NULL }, { "9", 0, 9, 9, NULL },
		{ "-5", -5, 9, -5, NULL }, { "-0", -5, 9, 0, NULL },
		{ "9223372036854775807", 0, INT64_MAX, INT64_MAX, NULL },
		{ "-9223372036854775807", INT64_MIN, 0, -INT64_MAX, NULL },
		{ "10", 0, 9, 0, "too large" },
		{ "0", 1, 9, 0, "too small" },
		{ "-6", -5, 9, 0, "too small" },
		{ "9223372036854775808", 0, INT64_MAX, 0, "too large" },
		{ "-9223372036854775809", INT64_MIN, 0, 0, "too small" },
		{ "-1", 0, 9, 0, "invalid" }, { "", 0, 9, 0, "invalid" },
		{ "-", -5, 9, 0, "invalid" }, { "--1", -5, 9, 0, "invalid" },
		{ "+1", 0, 9, 0, "invalid" }, { " 1", 0, 9, 0, "invalid" },
		{ "1 ", 0, 9, 0, "invalid" }, { "1.0", 0, 9, 0, "invalid" },
		{ "0x1", 0, 9, 0, "invalid" }, { "1e1", 0, 9, 0, "invalid" },
	};
	const char	*why;
	int64_t		 n;
	size_t		 i;
	int		 rc;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		why = NULL;
		n = 77;
		rc = opt_int(t[i].text, t[i].min, t[i].max, &n, &why);
		if (t[i].why == NULL)
			okf(rc == 0 && n == t[i].n, "number '%s'", t[i].text);
		else
			okf(rc == -1 && n == 77 && strcmp(why, t[i].why) == 0,
			    "number '%s' is %s", t[i].text, t[i].why);
	}
}

static void
rates(void)
{
	static const struct {
		const char	*text;
		double		 rate;
		const char	*why;
	} t[] = {
		{ "50", 50, NULL }, { "0.5", 0.5, NULL }, { "0.1", 0.1, NULL },
		{ "1000", 1000, NULL }, { "3.25", 3.25, NULL },
		{ "0.00000000000001", 1e-14, NULL },
		{ "0", 0, "too small" }, { "0.0", 0, "too small" },
		{ "1000.1", 0, "too large" },
		{ "999999999999999", 0, "too large" },
		{ "9999999999999999", 0, "invalid" }, { "", 0, "invalid" },
		{ ".5", 0, "invalid" }, { "5.", 0, "invalid" },
		{ "-1", 0, "invalid" }, { "1,5", 0, "invalid" },
		{ "1e2", 0, "invalid" }, { "inf", 0, "invalid" },
		{ "nan", 0, "invalid" }, { "0x1p3", 0, "invalid" },
		{ "1.2.3", 0, "invalid" }, { "5/s", 0, "invalid" },
	};
	const char	*why;
	double		 r;
	size_t		 i;
	int		 rc;

	setlocale(LC_ALL, "de_DE.UTF-8");	/* no matter if missing */
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		why = NULL;
		r = -1;
		rc = opt_rate(t[i].text, 1000, &r, &why);
		if (t[i].why == NULL)
			okf(rc == 0 && r >= t[i].rate && r <= t[i].rate,
			    "rate '%s'", t[i].text);
		else
			okf(rc == -1 && r < 0 && strcmp(why, t[i].why) == 0,
			    "rate '%s' is %s", t[i].text, t[i].why);
	}
}

static void
texts(void)
{
	static const char	*const good[] = {
		"", "abc", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80",
		"\xed\x9f\xbf", "\xee\x80\x80", "\xef\xbf\xbf",
		"\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "a\xc3\xa9z",
	};
	static const char	*const bad[] = {
		"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2z",
		"\xe0\x9f\xbf", "\xe0\xa0", "\xed\xa0\x80", "\xed\xbf\xbf",
		"\xf0\x8f\xbf\xbf", "\xf0\x90\x80", "\xf4\x90\x80\x80",
		"\xf5\x80\x80\x80", "\xff", "\xe2\x82z", "ok\xfe",
		"\xf8\x88\x80\x80\x80",
	};
	size_t	 i;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		okf(opt_utf8(good[i], strlen(good[i])), "UTF-8, number %zu", i);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		okf(!opt_utf8(bad[i], strlen(bad[i])), "not UTF-8, number %zu",
		    i);
	ok(opt_utf8("a\0b", 3), "a NUL is a character");
	ok(!opt_utf8("\xc3\xa9", 1), "no byte behind the length is looked at");
	ok(!opt_control("a b\xc2\x80~", 6), "no control character");
	ok(opt_control("a\x1f", 2) && opt_control("\x7f", 1) &&
	    opt_control("\t", 1) && opt_control("a\0b", 3),
	    "control characters, tab and NUL among them");
	ok(!opt_control("\n", 0), "nothing holds none");
}

static void
environment(void)
{
	static const char	*const bad[] = {
		"0", "-1", "1k", "67108865", "99999999999999999999", " 1"
	};
	size_t	 n = 0, i;

	unsetenv("HOOK_MAX_PAYLOAD");
	ok(opt_max_payload(&n) == 0 && n == 262144, "a payload has 256 KiB");
	setenv("HOOK_MAX_PAYLOAD", "", 1);
	ok(opt_max_payload(&n) == 0 && n == 262144, "... if empty, too");
	setenv("HOOK_MAX_PAYLOAD", "67108864", 1);
	ok(opt_max_payload(&n) == 0 && n == 67108864, "up to 64 MiB");
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		setenv("HOOK_MAX_PAYLOAD", bad[i], 1);
		okf(opt_max_payload(&n) == -1 && n == 67108864,
		    "HOOK_MAX_PAYLOAD '%s' is refused", bad[i]);
	}

	setenv("SUDO_USER", "ann", 1);
	setenv("USER", "root", 1);
	is(opt_actor("eve"), "eve", "the actor is who was named");
	is(opt_actor(NULL), "ann", "else who called sudo");
	setenv("SUDO_USER", "", 1);
	is(opt_actor(NULL), "root", "else who is logged in");
	setenv("SUDO_USER", "a\nb", 1);
	is(opt_actor(NULL), "root", "control characters name nobody");
	setenv("USER", "\xff", 1);
	ok(strcmp(opt_actor(NULL), "\xff") != 0 && *opt_actor(NULL) != '\0',
	    "nor does invalid UTF-8: the user id does");
}

int
main(void)
{
	durations();
	lists();
	integers();
	rates();
	texts();
	environment();
	return done_testing();
}
