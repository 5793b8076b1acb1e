/* url: only what every reader reads alike, and only where we may go. */
#include <stdlib.h>

#include "tap.h"
#include "url.h"

static struct addr_allow	 none;

static void
good(const char *url)
{
	const char	*why = "";
	int		 rc = url_check(url, &none, &why);

	okf(rc == 0, "taken: %.60s", url);
	if (rc == -1)
		printf("# %s\n", why);
}

static void
refused(const char *url, const char *want)
{
	const char	*why = "";
	char		 shown[61], *p;
	int		 rc = url_check(url, &none, &why);

	snprintf(shown, sizeof(shown), "%s", url);
	for (p = shown; *p != '\0'; p++)
		if (*p < ' ')
			*p = '?';
	okf(rc == -1 && strcmp(why, want) == 0, "%s: %s", want, shown);
	if (strcmp(why, want) != 0)
		printf("# %s\n", why);
}

static void
plain(void)
{
	static const char	*const url[] = {
		"http://example.com", "https://example.com/",
		"HTTPS://EXAMPLE.com/", "https://example.com/a/b?c=d&e=%20",
		"https://example.com?x", "https://example.com/@user/x@y",
		"https://example.com/?next=http://10.0.0.1/",
		"https://example.com:443/", "http://example.com:1/",
		"http://example.com:65535/", "http://example.com:00080/",
		"https://example.com./", "https://a_b.example/",
		"https://xn--mller-kva.example/", "https://1.example/",
		"http://172.32.0.1/", "http://100.128.0.1/",
		"http://169.253.0.1/", "http://11.0.0.1/",
		"http://[2002:808:808::1]/", "http://8.8.8.8/",
		"http://[2606:4700::1]:8443/x", "http://0x08080808/",
		"https://example.com/a;b,c!$'()*+~",
	};
	size_t	 i;

	for (i = 0; i < sizeof(url) / sizeof(url[0]); i++)
		good(url[i]);
}

static void
odd(void)
{
	static const char	 scheme[] = "does not begin with http:// or "
				    "https://";
	static const char	 port[] = "port is not 1 to 65535";
	static const char	 login[] = "has credentials (@ before the "
				    "path)";
	static const char	 control[] = "space or control character";
	static const char	 ascii[] = "not ASCII: write the host in its "
				    "xn-- form, %XX in the path";
	static const char	*const schemes[] = {
		"example.com", "//127.0.0.1/", "http:/127.0.0.1/", "http:",
		"http", "file:///etc/hostname", "gopher://127.0.0.1:5432/_x",
		"ftp://127.0.0.1/", "javascript:1", "httpx://example.com/",
		"http//example.com/", "ws://example.com/", "://example.com/",
		"mailto:a@example.com", "data:,x",
		"dict://example.com/", "unix:/run/x",
	};
	static const char	*const hosts[] = {
		"http://.example.com/", "http://a..example/", "http://./",
		"http://example.com../",
		("http://aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeee"
		    "ffffffffffgggg.example/"),
	};
	size_t			 i;

	for (i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
		refused(schemes[i], scheme);
	for (i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++)
		refused(hosts[i], "host is not a name");
	refused("", "empty");
	refused("http:///127.0.0.1/", "has no host");
	refused("http:////example.com/", "has no host");
	refused("http://", "has no host");
	refused("http://?x", "has no host");
	refused("http://:80/", "has no host");
	refused("https:///", "has no host");

	refused("http://example.com:80@127.0.0.1:9/", login);
	refused("http://a:b@10.0.0.1/", login);
	refused("http://user@example.com/", login);
	refused("http://@example.com/", login);
	refused("http://a@b@example.com?x", login);
	refused("http://127.0.0.1:9\\@example.com/", "backslash");
	refused("http://example.com\\", "backslash");
	refused("http://example.com/a\\b", "backslash");
	refused("http://127.0.0.1:9#@example.com/", "has a fragment (#)");
	refused("https://example.com/#", "has a fragment (#)");
	refused("https://example.com/a?b#c", "has a fragment (#)");

	refused("http://127.0.0.1:0/", port);
	refused("http://example.com:0", port);
	refused("http://example.com:00000/", port);
	refused("http://example.com:65536/", port);
	refused("http://example.com:-1/", port);
	refused("http://example.com:+1/", port);
	refused("http://example.com:80abc/", port);
	refused("http://example.com:/", port);
	refused("http://example.com:?x", port);
	refused("http://example.com:99999999999999999999/", port);
	refused("http://[::1]:0/", port);

	refused("http://example.com/a b", control);
	refused(" http://example.com/", control);
	refused("http://example.com/\t", control);
	refused("http://exam\nple.com/", control);
	refused("http://example.com/\r\nHost: x", control);
	refused("http://example.com/\x7f", control);
	refused("http://example.com/\x01", control);
	refused("http://m\xc3\xbcller.example/", ascii);
	refused("http://\xe2\x91\xa0\xe2\x91\xa1\xe2\x91\xa6.0.0.1/", ascii);
	refused("http://127\xe3\x80\x82" "0\xe3\x80\x82" "0\xe3\x80\x82" "1/",
	    ascii);
	refused("http://example.com/\xff", ascii);
	refused("http://%31%32%37.0.0.1/", "% in the host");
	refused("http://ex%61mple.com/", "% in the host");
	refused("http://ex*mple.com/", "not a URL");
	refused("http://[example.com]/", "not a URL");
	refused("http://[::1/", "not a URL");
	refused("http://a,b/", "not a URL");
}

static void
addresses(void)
{
	static const char	*const host[] = {
		"127.0.0.1", "127.1", "2130706433", "0x7f000001",
		"0177.0.0.1", "0", "0.0.0.0", "localhost", "LOCALHOST",
		"a.localhost", "localhost.", "127.0.0.1.", "[::1]", "[::]",
		"[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::7f00:1]",
		"[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::7f00:1]",
		"[2002:7f00:1::1]", "[fe80::1]", "[fe80::1%25lo]",
		"[fe80::1%lo]", "[fc00::1]", "[fd00:ec2::254]",
		"169.254.169.254", "10.0.0.1", "172.16.0.1",
		"172.31.255.255", "192.168.0.1", "100.64.0.1", "192.0.0.1",
		"198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
		"256.0.0.1", "1.2.3.4.5", "4294967297",
	};
	struct addr_allow	 a;
	const char		*why;
	char			 url[100];
	size_t			 i;

	for (i = 0; i < sizeof(host) / sizeof(host[0]); i++) {
		snprintf(url, sizeof(url), "https://%s:8443/x", host[i]);
		refused(url, "blocked destination, not a "
		    "public address");
	}
	if (addr_allow_parse(&a, "127.0.0.0/8", &why) == -1)
		abort();
	ok(url_check("http://127.0.0.1:8080/", &a, &why) == 0 &&
	    url_check("http://127.1/", &a, &why) == 0 &&
	    url_check("http://localhost/", &a, &why) == 0,
	    "an allowed range opens its URLs");
	ok(url_check("http://10.0.0.1/", &a, &why) == -1, "... and no other");
}

static void
lengths(void)
{
	char	 url[9001], *p;

	memset(url, 'a', sizeof(url));
	memcpy(url, "https://example.com/", 20);
	url[2048] = '\0';
	good(url);
	url[2048] = 'a';
	url[2049] = '\0';
	refused(url, "longer than 2048 bytes");
	url[2049] = 'a';
	url[9000] = '\0';
	refused(url, "longer than 2048 bytes");

	for (p = url + 8; p < url + 8 + 254; p += 2)
		memcpy(p, "a.", 2);
	memcpy(url + 8 + 252, "b/", 3);
	good(url);
	memcpy(url + 8 + 252, "bb/", 4);
	good(url);
	memcpy(url + 8 + 252, "bbb/", 5);
	refused(url, "host is not a name");
}

static void
shown(void)
{
	static const struct {
		const char	*url, *want;
	} t[] = {
		{ "https://example.com/h", "https://example.com/h" },
		{ "https://example.com/h?token=s",
		    "https://example.com/h?..." },
		{ "https://example.com?token=s", "https://example.com?..." },
		{ "https://example.com/h#s", "https://example.com/h" },
		{ "https://example.com/h#a?s", "https://example.com/h?..." },
		{ "https://u:s@example.com/h?s",
		    "https://...@example.com/h?..." },
		{ "https://u@s@example.com", "https://...@example.com" },
		{ "http:///u:s@host/", "http:///...@host/" },
		{ "u:s@host/x", "...@host/x" },
		{ "https://example.com/@user", "https://example.com/@user" },
		{ "http://s\\@example.com/", "http://...@example.com/" },
		{ "?s://x", "?..." }, { "", "" }, { "://", "://" },
		{ "http://?s", "http://?..." }, { "a?b://s@c", "a?..." },
	};
	struct buf	 b = BUF_INIT(100);
	size_t		 i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		buf_reset(&b);
		if (url_redact(t[i].url, &b) == -1)
			abort();
		is(b.s, t[i].want, "a URL is shown without its secrets");
	}
	b.max = b.len + 3;
	ok(url_redact("https://example.com/", &b) == -1, "no room is an error");
	buf_free(&b);
}

static void
headers(void)
{
	static const char	*const ours[] = {
		"webhook-id", "Webhook-Signature", "WEBHOOK-X", "webhook-",
		"x-webhook-id", "X-Webhook-Signature", "Content-Type",
		"content-length", "Host", "User-Agent", "Transfer-Encoding",
		"Connection", "Expect", "TE", "Trailer", "Upgrade",
		"Accept-Encoding", "Proxy-Authorization", "proxy-x",
		"Keep-Alive",
	};
	static const char	*const names[] = {
		"", "X Y", "X:Y", "X\r\nHost", "X\n", "X\t", " X", "X ",
		"\xc3\xa9", "X(Y)", "X/Y", "X=Y", "X\"Y", "{X}", "X@", "X[]",
		"X,Y", "X;Y", "X\\Y", "X?", "X\x7f",
	};
	static const char	*const values[] = {
		"x\r\nX-Evil: 1", "x\nX-Evil: 1", "x\rX-Evil: 1", "x\x01",
		"x\x1f", "x\x7f", "\n", "\v", "a\x0c",
	};
	const char	*why;
	char		 big[HEADERS_MAX + 1];
	size_t		 i;

	ok(header_check("Authorization", "Bearer b", &why) == 0 &&
	    header_check("x", "1", &why) == 0 &&
	    header_check("X-Webhook", "a", &why) == 0 &&
	    header_check("X-Webhook-Idx", "a", &why) == 0 &&
	    header_check("Hosts", "a", &why) == 0 &&
	    header_check("!#$%&'*+-.^_`|~09azAZ", "a", &why) == 0,
	    "tokens that are not ours are names");
	ok(header_check("a", "a: b; c=\"d\", e\\", &why) == 0,
	    "punctuation is a value");
	ok(header_check("a", "x\ty", &why) == -1 &&
	    strcmp(why, "control character in header value") == 0,
	    "a tab is a control character");
	for (i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		okf(header_check(ours[i], "x", &why) == -1 &&
		    strcmp(why, "header name is reserved") == 0,
		    "%s is reserved", ours[i]);
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		okf(header_check(names[i], "x", &why) == -1 &&
		    strcmp(why, "not a header name") == 0,
		    "bad name, number %zu", i);
	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		okf(header_check("a", values[i], &why) == -1,
		    "bad value, number %zu", i);
	ok(header_check("a", "\xc3\xa9", &why) == -1 &&
	    header_check("a", "x\xff", &why) == -1 &&
	    strcmp(why, "header value is not ASCII") == 0,
	    "a value is ASCII");
	ok(header_check("a", "", &why) == -1 &&
	    header_check("a", " \t ", &why) == -1 &&
	    strcmp(why, "header value is empty") == 0, "a value is not blank");
	memset(big, 'v', sizeof(big));
	big[HEADERS_MAX - 1] = '\0';
	ok(header_check("a", big, &why) == 0, "8 KiB of header is taken");
	big[HEADERS_MAX - 1] = 'v';
	big[HEADERS_MAX] = '\0';
	ok(header_check("a", big, &why) == -1 &&
	    strcmp(why, "header too long") == 0, "... and no more");
}

int
main(void)
{
	plain();
	odd();
	addresses();
	lengths();
	shown();
	headers();
	return done_testing();
}
