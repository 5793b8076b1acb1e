/* retry: what each status means, and exactly how long to wait. */
#include "retry.h"
#include "tap.h"

#define NOW	INT64_C(1767225600)	/* 2026-01-01 00:00:00 UTC */
#define MAX	RETRY_AFTER_MAX_MS

static void
classes(void)
{
	static const int	 never[] = {
		301, 308, 400, 401, 402, 403, 404, 405, 406, 407, 409, 411,
		412, 413, 414, 415, 416, 417, 418, 422, 424, 426, 428, 431,
		451, 499
	};
	static const int	 later[] = {
		0, 100, 101, 103, 199, 300, 302, 303, 304, 305, 307, 309, 399,
		408, 421, 423, 425, 429, 500, 501, 502, 503, 504, 505, 507,
		511, 520, 599, 600, 999, -1
	};
	static const int	 holds[] = { 429, 502, 503, 504 };
	int			 s, n;
	size_t			 i;

	for (s = 200, n = 0; s < 300; s++)
		n += retry_classify(s, 0, 0) == RETRY_OK &&
		    retry_classify(s, 1, 1) == RETRY_OK;
	is_int(n, 100, "every 2xx is a success, abort or not");
	for (i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		okf(retry_classify(never[i], 0, 0) == RETRY_NEVER &&
		    retry_classify(never[i], 0, 1) == RETRY_NEVER,
		    "%d is permanent", never[i]);
	for (i = 0; i < sizeof(later) / sizeof(later[0]); i++) {
		okf(retry_classify(later[i], 0, 0) == RETRY_LATER &&
		    retry_classify(later[i], 1, 0) == RETRY_LATER,
		    "%d is transient", later[i]);
		okf(retry_classify(later[i], 1, 1) == RETRY_NEVER,
		    "%d with abort is permanent", later[i]);
	}
	ok(retry_classify(410, 0, 0) == RETRY_GONE &&
	    retry_classify(410, 1, 0) == RETRY_GONE &&
	    retry_classify(410, 1, 1) == RETRY_GONE, "410 is gone, always");
	ok(retry_classify(400, 1, 0) == RETRY_LATER &&
	    retry_classify(404, 1, 0) == RETRY_LATER &&
	    retry_classify(499, 1, 0) == RETRY_LATER,
	    "retry_4xx makes the others of 4xx transient");
	ok(retry_classify(301, 1, 0) == RETRY_NEVER &&
	    retry_classify(308, 1, 0) == RETRY_NEVER, "... but no redirect");
	for (s = 0, n = 0; s < 1000; s++)
		n += retry_holds_lane(s) != 0;
	is_int(n, 4, "four statuses hold the lane");
	for (i = 0; i < 4; i++)
		okf(retry_holds_lane(holds[i]), "%d holds the lane", holds[i]);
}

static void
after(const char *value, int64_t want)
{
	int64_t	 got = retry_after(value, strlen(value), NOW);

	okf(got == want, "Retry-After '%s' is %lld ms", value,
	    (long long)want);
	if (got != want)
		printf("# got %lld\n", (long long)got);
}

static void
seconds(void)
{
	static const char	*const bad[] = {
		"", " ", "-3", "+3", "1.5", "120junk", "0x10", "1e3", "1 2",
		"120,", "10, 600", "120;", "--1", "\xd9\xa1", "NaN", "s120",
		"1\v",
	};
	size_t	 i;

	after("120", 120000);
	after(" 120 ", 120000);
	after("\t120\t", 120000);
	after("0", 0);
	after("00", 0);
	after("007", 7000);
	after("2592000", MAX);
	after("2591999", MAX - 1000);
	after("2592001", MAX);
	after("9999999999", MAX);
	after("9223372037", MAX);
	after("9223372036854775807", MAX);
	after("9223372036854775808", MAX);
	after("18446744073709551616", MAX);
	after("99999999999999999999", MAX);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		after(bad[i], -1);
	is_int(retry_after("120", 2, NOW), 12000, "only len bytes are read");
	is_int(retry_after("12\0", 3, NOW), -1, "a NUL is no digit");
	is_int(retry_after("1200", 0, NOW), -1, "nothing is nothing");
}

static void
dates(void)
{
	static const char	*const bad[] = {
		"Thu, 01 Jan 2026 00:02:00 +0200",
		"Thu, 01 Jan 2026 00:02:00 UTC",
		"Thu, 01 Jan 2026 00:02:00",
		"Thu, 01 Jan 2026 00:02:00 GMT+1",
		"Thu, 01 Jan 2026 00:02:00  GMT",
		"Thu, 01 Jan 2026 00:02 GMT",
		"Thu, 1 Jan 2026 00:02:00 GMT",
		"Thu, 01 jan 2026 00:02:00 GMT",
		"thu, 01 Jan 2026 00:02:00 GMT",
		"Thu 01 Jan 2026 00:02:00 GMT",
		"Xyz, 01 Jan 2026 00:02:00 GMT",
		"Thu, 01 Mai 2026 00:02:00 GMT",
		"Thu, 32 Jan 2026 00:02:00 GMT",
		"Thu, 00 Jan 2026 00:02:00 GMT",
		"Thu, 30 Feb 2026 00:02:00 GMT",
		"Sun, 29 Feb 2026 00:02:00 GMT",
		"Mon, 29 Feb 2100 00:02:00 GMT",
		"Thu, 01 Jan 2026 24:00:00 GMT",
		"Thu, 01 Jan 2026 00:60:00 GMT",
		"Thu, 01 Jan 2026 00:02:61 GMT",
		"Thu, 01 Jan 20260 00:02:00 GMT",
		"Thu, 01 Jan 1969 00:02:00 GMT",
		"01 Jan 2026 00:02:00 GMT", "Thu, 01 Jan 2026", "Thu",
		"2026-01-01T00:02:00Z",
		"Thu, 01-Jan-26 00:02:00 GMT",
		"Thursday, 01 Jan 2026 00:02:00 GMT",
		"Thursday, 01-Jan-2026 00:02:00 GMT",
		"Thu Jan 1 00:02:00 2026", "Thu Jan  1 00:02:00 26",
		"Thu Jan  1 00:02:00 2026 GMT", "Thu Jan  0 00:02:00 2026",
		/* Read, and past. */
		"Wed, 31 Dec 2025 23:59:00 GMT",
		"Wed, 31 Dec 2025 23:59:59 GMT",
		"Thu, 01 Jan 1970 00:00:00 GMT",
		"Wednesday, 31-Dec-25 23:59:00 GMT",
		"Sunday, 06-Nov-94 08:49:37 GMT",
		"Thursday, 29-Feb-96 08:49:37 GMT",
		"Friday, 31-Dec-99 00:00:00 GMT",
		"Sun Nov  6 08:49:37 1994",
	};
	size_t	 i;

	after("Thu, 01 Jan 2026 00:02:00 GMT", 120000);
	after("Thursday, 01-Jan-26 00:02:00 GMT", 120000);
	after("Thu Jan  1 00:02:00 2026", 120000);
	after("Thu Jan 01 00:02:00 2026", 120000);
	after("  Thu, 01 Jan 2026 00:02:00 GMT ", 120000);
	after("Thu, 01 Jan 2026 00:00:00 GMT", 0);
	after("Fri, 02 Jan 2026 00:00:00 GMT", 86400000);
	after("Thu, 01 Jan 2026 23:59:60 GMT", 86400000);
	after("Mon, 01 Jan 2026 00:02:00 GMT", 120000);
	after("Sat, 31 Jan 2026 00:00:00 GMT", MAX);
	after("Sat, 31 Jan 2026 00:00:01 GMT", MAX);
	after("Fri, 31 Dec 9999 23:59:59 GMT", MAX);
	after("Tuesday, 31-Dec-75 23:59:59 GMT", MAX);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		after(bad[i], -1);

	is_int(retry_after("Thu, 29 Feb 2024 00:00:07 GMT", 29, 1709164800),
	    7000, "the 29th of February 2024 is a day");
	is_int(retry_after("Tue, 29 Feb 2000 00:00:07 GMT", 29, 951782400),
	    7000, "... and of 2000");
	is_int(retry_after("Fri, 01 Mar 2024 00:00:00 GMT", 29, 1709251199),
	    1000, "... and the day after it is the first of March");
	is_int(retry_after("Sat, 01 Mar 2025 00:00:00 GMT", 29, 1740787199),
	    1000, "the 28th of February 2025 is the last");
	is_int(retry_after("Fri, 01 Jan 2027 00:00:00 GMT", 29, 1798761599),
	    1000, "a year ends");
	is_int(retry_after("Thu, 01 Jan 2026 00:02:00 GMT", 29, INT64_MIN),
	    MAX, "a clock before all time does not wrap");
	is_int(retry_after("Thu, 01 Jan 2026 00:02:00 GMT", 29, INT64_MAX),
	    -1, "... nor one after it");
}

static void
delays(void)
{
	static const int64_t	 s[] = { 5000, 300000, INT64_MAX, -5, 0 };

	is_int(retry_delay(s, 5, 1, -1, 0.5), 5000, "the middle of the dice "
	    "is the schedule");
	is_int(retry_delay(s, 5, 1, -1, 0), 4000, "20 % less at one end");
	is_int(retry_delay(s, 5, 1, -1, 1), 6000, "20 % more at the other");
	is_int(retry_delay(s, 5, 2, -1, 0.5), 300000, "each failure has its "
	    "pause");
	is_int(retry_delay(s, 5, 0, -1, 0.5), 5000, "none is like the first");
	is_int(retry_delay(s, 5, 6, -1, 0.5), -1, "past the schedule, no more");
	is_int(retry_delay(s, 5, 6, 1000, 0.5), -1, "... whatever was asked");
	is_int(retry_delay(s, 0, 1, -1, 0.5), -1, "an empty schedule is past");
	is_int(retry_delay(s, 5, 3, -1, 0.5), MAX, "a huge pause is cut");
	is_int(retry_delay(s, 5, 4, -1, 0.5), 0, "a negative one is none");
	is_int(retry_delay(s, 5, 5, -1, 0.5), 0, "none is none");
	is_int(retry_delay(s, 5, 1, 120000, 0), 120000,
	    "Retry-After lengthens, exactly");
	is_int(retry_delay(s, 5, 1, 100, 0), 4000, "... and never shortens");
	is_int(retry_delay(s, 5, 1, 0, 0), 4000, "... at 0 neither");
	is_int(retry_delay(s, 5, 1, INT64_MAX, 0), MAX, "... and is cut");
	is_int(retry_delay(s, 5, 1, -1, -1), 5000, "a bad dice is the middle");
	is_int(retry_delay(s, 5, 1, -1, 0.0 / 0.0), 5000, "... and no number");
}

static void
probes(void)
{
	static const int64_t	 want[] = {
		5000, 10000, 20000, 40000, 80000, 160000, 300000, 300000
	};
	char	 name[64];
	int	 i;

	for (i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "probe %d", i + 1);
		is_int(retry_probe(i + 1, 0.5), want[i], name);
	}
	is_int(retry_probe(1, 0), 4000, "a probe has jitter");
	is_int(retry_probe(1, 1), 6000, "... either way");
	is_int(retry_probe(8, 1), 300000, "... but never over 5 minutes");
	is_int(retry_probe(8, 0), 240000, "... and down from there");
	is_int(retry_probe(1000000, 0.5), 300000, "many failures do not wrap");
	is_int(retry_probe(0, 0.5), 5000, "none is like the first");
	is_int(retry_probe(-5, 0.5), 5000, "... and less");
}

int
main(void)
{
	classes();
	seconds();
	dates();
	delays();
	probes();
	return done_testing();
}
