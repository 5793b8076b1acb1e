/*
 * bare: the ceiling that hook-deliver is measured against: POST as many
 * signed events as the machine can, with the options of lib/send.c, the
 * bodies and headers of lib/sub.c, and no database.
 *
 *	bare [-b payload-bytes] [-j in-flight] [-n requests] URL
 *
 * Prints one NDJSON object: requests, failed (no 2xx), seconds, per_second,
 * and its own rusage.  Exits 70 when one failed.
 */
#include <sys/resource.h>
#include <sys/socket.h>

#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include <curl/curl.h>

#include "addr.h"
#include "buf.h"
#include "config.h"
#include "opt.h"
#include "sign.h"

#define HEADERS		7
#define BODY_KEPT	1024		/* bytes, as SEND_BODY_KEPT */

struct slot {
	CURL			*easy;
	struct slot		*next;
	struct curl_slist	 list[HEADERS];
	char			 id_line[64], time_line[64];
	struct buf		 signature, body;
	char			 why[CURL_ERROR_SIZE];
	unsigned char		 answer[BODY_KEPT];
	size_t			 answer_len, head_seen;
};

static struct addr_allow	 allow;
static struct sign_key		*key;
static const char		*url, *payload;

static void	 options(CURL *, struct slot *);
static void	 post(CURLM *, struct slot *, int64_t);
static curl_socket_t on_open(void *, curlsocktype, struct curl_sockaddr *);
static size_t	 on_head(char *, size_t, size_t, void *);
static size_t	 on_body(char *, size_t, size_t, void *);
static CURLcode	 on_tls(CURL *, void *, void *);
static char	*make_payload(size_t);
static double	 now(void);
static _Noreturn void report(int64_t, int64_t, double);

int
main(int argc, char *argv[])
{
	struct slot	*slot, *free_slot = NULL, *s;
	const char	*why, *secret;
	CURLM		*multi;
	CURLMsg		*m;
	int64_t		 n = 100000, inflight = 64, bytes = 300, i;
	int64_t		 begun = 0, ended = 0, failed = 0;
	double		 start;
	long		 status;
	int		 ch, running, left;

	while ((ch = getopt(argc, argv, "b:j:n:")) != -1)
		if ((ch == 'b' &&
		    opt_int(optarg, 20, 1000000, &bytes, &why) == -1) ||
		    (ch == 'j' &&
		    opt_int(optarg, 1, 5000, &inflight, &why) == -1) ||
		    (ch == 'n' &&
		    opt_int(optarg, 1, INT64_C(1000000000), &n, &why) == -1))
			errx(EX_USAGE, "-%c %s: %s", ch, optarg, why);
		else if (ch == '?')
			exit(EX_USAGE);
	if (argc - optind != 1)
		errx(EX_USAGE, "usage: bare [-b bytes] [-j in-flight]"
		    " [-n requests] url");
	url = argv[optind];
	secret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
	payload = make_payload((size_t)bytes);
	if (addr_allow_parse(&allow, "127.0.0.0/8", &why) == -1 ||
	    (key = sign_key(sign_scheme("standard"), secret, 1,
	    &why)) == NULL)
		errx(EX_SOFTWARE, "%s", why);
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK ||
	    (multi = curl_multi_init()) == NULL ||
	    (slot = calloc((size_t)inflight, sizeof(*slot))) == NULL)
		errx(EX_TEMPFAIL, "out of memory");
	curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)inflight);
	curl_multi_setopt(multi, CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
	for (i = 0; i < inflight; i++) {
		s = &slot[i];
		s->signature.max = s->body.max = 2000000;
		if ((s->easy = curl_easy_init()) == NULL)
			errx(EX_TEMPFAIL, "out of memory");
		options(s->easy, s);
		s->next = free_slot;
		free_slot = s;
	}

	start = now();
	while (ended < n) {
		while ((s = free_slot) != NULL && begun < n) {
			free_slot = s->next;
			post(multi, s, begun++);
		}
		if (curl_multi_perform(multi, &running) != CURLM_OK ||
		    curl_multi_poll(multi, NULL, 0,
		    running < begun - ended ? 0 : 1000, NULL) != CURLM_OK ||
		    curl_multi_perform(multi, &running) != CURLM_OK)
			errx(EX_SOFTWARE, "curl fails");
		while ((m = curl_multi_info_read(multi, &left)) != NULL) {
			curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE,
			    (char **)&s);
			curl_easy_getinfo(s->easy, CURLINFO_RESPONSE_CODE,
			    &status);
			if (m->data.result != CURLE_OK || status / 100 != 2)
				failed++;
			curl_multi_remove_handle(multi, s->easy);
			s->next = free_slot;
			free_slot = s;
			ended++;
		}
	}
	report(n, failed, now() - start);
}

/* Those of send.c's prepare(), in its order. */
static void
options(CURL *e, struct slot *s)
{
	curl_easy_setopt(e, CURLOPT_PRIVATE, s);
	curl_easy_setopt(e, CURLOPT_ERRORBUFFER, s->why);
	curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(e, CURLOPT_POST, 1L);
	curl_easy_setopt(e, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(e, CURLOPT_HTTP09_ALLOWED, 0L);
	curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(e, CURLOPT_PROXY, "");
	curl_easy_setopt(e, CURLOPT_NOPROXY, "");
	curl_easy_setopt(e, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, 5000L);
	curl_easy_setopt(e, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2);
#if LIBCURL_VERSION_NUM >= 0x075700
	curl_easy_setopt(e, CURLOPT_QUICK_EXIT, 1L);
#endif
	curl_easy_setopt(e, CURLOPT_BUFFERSIZE, 4096L);
	curl_easy_setopt(e, CURLOPT_UPLOAD_BUFFERSIZE, 16384L);
	curl_easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, on_open);
	curl_easy_setopt(e, CURLOPT_OPENSOCKETDATA, s);
	curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, on_head);
	curl_easy_setopt(e, CURLOPT_HEADERDATA, s);
	curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(e, CURLOPT_WRITEDATA, s);
	curl_easy_setopt(e, CURLOPT_SSL_CTX_FUNCTION, on_tls);
	curl_easy_setopt(e, CURLOPT_SSL_CTX_DATA, s);
}

/* The body and header lines as hook-deliver makes them, and send_post(). */
static void
post(CURLM *multi, struct slot *s, int64_t n)
{
	char		 id[40], stamp[40];
	const char	*line[HEADERS];
	time_t		 t = time(NULL);
	struct tm	 tm;
	size_t		 i;

	snprintf(id, sizeof(id), "evt_%011" PRIx64 "%021" PRIx64,
	    (int64_t)t * 1000, n);
	strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S.000000Z",
	    gmtime_r(&t, &tm));
	buf_reset(&s->body);
	buf_reset(&s->signature);
	snprintf(s->id_line, sizeof(s->id_line), "webhook-id: %s", id);
	snprintf(s->time_line, sizeof(s->time_line),
	    "webhook-timestamp: %lld", (long long)t);
	if (buf_addf(&s->body, "{\"type\":\"bench.event\",\"timestamp\":\"%s\","
	    "\"api_version\":null,\"id\":\"%s\",\"data\":%s}", stamp, id,
	    payload) == -1 ||
	    buf_adds(&s->signature, "webhook-signature: ") == -1 ||
	    sign_standard(key, id, t, s->body.s, s->body.len,
	    &s->signature) == -1)
		errx(EX_TEMPFAIL, "signing fails");
	line[0] = "Accept:";
	line[1] = "Expect:";
	line[2] = "Content-Type: application/json";
	line[3] = "User-Agent: hookutils/" VERSION;
	line[4] = s->id_line;
	line[5] = s->time_line;
	line[6] = s->signature.s;
	for (i = 0; i < HEADERS; i++) {
		s->list[i].data = (char *)(uintptr_t)line[i];
		s->list[i].next = i + 1 < HEADERS ? &s->list[i + 1] : NULL;
	}
	s->answer_len = s->head_seen = 0;
	curl_easy_setopt(s->easy, CURLOPT_FRESH_CONNECT, 0L);
	curl_easy_setopt(s->easy, CURLOPT_HTTPHEADER, s->list);
	curl_easy_setopt(s->easy, CURLOPT_POSTFIELDS, s->body.s);
	curl_easy_setopt(s->easy, CURLOPT_POSTFIELDSIZE_LARGE,
	    (curl_off_t)s->body.len);
	curl_easy_setopt(s->easy, CURLOPT_TIMEOUT_MS, 15000L);
	if (curl_easy_setopt(s->easy, CURLOPT_URL, url) != CURLE_OK ||
	    curl_multi_add_handle(multi, s->easy) != CURLM_OK)
		errx(EX_TEMPFAIL, "out of memory");
}

static curl_socket_t
on_open(void *arg, curlsocktype purpose, struct curl_sockaddr *a)
{
	(void)arg;
	(void)purpose;
	if (!addr_may(&allow, &a->addr))
		return CURL_SOCKET_BAD;
	return socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
}

static size_t
on_head(char *p, size_t size, size_t n, void *arg)
{
	struct slot	*s = arg;

	(void)p;
	s->head_seen += size * n;
	return size * n;
}

static size_t
on_body(char *p, size_t size, size_t n, void *arg)
{
	struct slot	*s = arg;
	size_t		 keep = BODY_KEPT - s->answer_len;

	if (keep > size * n)
		keep = size * n;
	memcpy(s->answer + s->answer_len, p, keep);
	s->answer_len += keep;
	return size * n;
}

static CURLcode
on_tls(CURL *easy, void *ctx, void *arg)
{
	(void)easy;
	(void)ctx;
	(void)arg;
	return CURLE_OK;
}

static char *
make_payload(size_t bytes)
{
	char	*p;

	if ((p = malloc(bytes + 1)) == NULL)
		errx(EX_TEMPFAIL, "out of memory");
	memset(p, 'x', bytes);
	memcpy(p, "{\"data\":\"", 9);
	memcpy(p + bytes - 2, "\"}", 3);
	return p;
}

static double
now(void)
{
	struct timespec	 ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static _Noreturn void
report(int64_t n, int64_t failed, double seconds)
{
	struct rusage	 ru;

	getrusage(RUSAGE_SELF, &ru);
	printf("{\"requests\":%" PRId64 ",\"failed\":%" PRId64
	    ",\"seconds\":%.3f,\"per_second\":%.0f,\"user_s\":%ld.%06ld"
	    ",\"sys_s\":%ld.%06ld,\"max_rss_kb\":%ld}\n", n, failed, seconds,
	    (double)n / seconds, (long)ru.ru_utime.tv_sec,
	    (long)ru.ru_utime.tv_usec, (long)ru.ru_stime.tv_sec,
	    (long)ru.ru_stime.tv_usec, ru.ru_maxrss);
	exit(failed > 0 ? EX_SOFTWARE : EX_OK);
}
