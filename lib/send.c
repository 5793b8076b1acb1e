#include <sys/socket.h>

#include <ctype.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <curl/curl.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "buf.h"
#include "retry.h"
#include "send.h"
#include "url.h"

#define ERROR_MAX	512		/* bytes of a recorded reason */
#define RESENDS_MAX	2		/* on connections that died unused */

struct xfer {
	CURL			*easy;
	struct sender		*sender;
	struct xfer		*next;		/* in free, or in running */
	struct xfer		*prev;
	struct send_request	 req;
	struct curl_slist	 list[SEND_HEADERS];
	char			 curl_why[CURL_ERROR_SIZE];
	char			 error[ERROR_MAX];
	char			 address[64];	/* refused, or "" */
	char			 moved[256];	/* Location, sanitised */
	char			 after[64];
	unsigned char		 body[SEND_BODY_KEPT];
	size_t			 body_len, body_seen, head_seen;
	int			 status, interims, resent;
	int			 abort, head_done, too_much, has_after;
	int64_t			 after_ms, now_s;
};

struct sender {
	CURLM			*multi;
	struct xfer		*xfer;		/* all of them */
	struct xfer		*free, *running;
	size_t			 max, busy;
	struct addr_allow	 allow;
	char			*proxy;
	STACK_OF(X509)		*ca;		/* of HOOK_CA_FILE, or NULL */
	struct answer		 answer;
	struct xfer		*given;		/* what answer points into */
};

static curl_socket_t on_open(void *, curlsocktype, struct curl_sockaddr *);
static size_t	 on_head(char *, size_t, size_t, void *);
static size_t	 on_body(char *, size_t, size_t, void *);
static CURLcode	 on_tls(CURL *, void *, void *);
static int	 prepare(struct sender *, struct xfer *);
static void	 judge(struct xfer *, CURLcode);
static void	 release(struct sender *, struct xfer *);
static STACK_OF(X509) *read_ca(const char *);

struct sender *
send_open(size_t max, const struct addr_allow *allow, const char *proxy,
    const char *ca_file, const char **why)
{
	struct sender	*s;
	size_t		 i;

	*why = "out of memory";
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK ||
	    (s = calloc(1, sizeof(*s))) == NULL)
		return NULL;
	s->allow = *allow;
	s->max = max;
	if ((s->multi = curl_multi_init()) == NULL ||
	    (s->xfer = calloc(max, sizeof(*s->xfer))) == NULL ||
	    (proxy != NULL && (s->proxy = strdup(proxy)) == NULL))
		goto fail;
	if (ca_file != NULL && (s->ca = read_ca(ca_file)) == NULL) {
		*why = "no certificate can be read from it";
		goto fail;
	}
	curl_multi_setopt(s->multi, CURLMOPT_MAXCONNECTS, (long)max);
	curl_multi_setopt(s->multi, CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
	for (i = max; i-- > 0;) {
		s->xfer[i].sender = s;
		s->xfer[i].next = s->free;
		s->free = &s->xfer[i];
	}
	return s;
fail:
	send_close(s);
	return NULL;
}

void
send_close(struct sender *s)
{
	size_t	 i;

	if (s == NULL)
		return;
	for (i = 0; s->xfer != NULL && i < s->max; i++)
		if (s->xfer[i].easy != NULL) {
			curl_multi_remove_handle(s->multi, s->xfer[i].easy);
			curl_easy_cleanup(s->xfer[i].easy);
		}
	curl_multi_cleanup(s->multi);
	sk_X509_pop_free(s->ca, X509_free);
	free(s->xfer);
	free(s->proxy);
	free(s);
	curl_global_cleanup();
}

size_t
send_room(const struct sender *s)
{
	return s->max - s->busy;
}

int
send_post(struct sender *s, const struct send_request *req)
{
	struct xfer	*x;
	size_t		 i;

	if ((x = s->free) == NULL) {
		errno = EAGAIN;
		return -1;
	}
	if (req->nheader > SEND_HEADERS ||
	    (x->easy == NULL && prepare(s, x) == -1)) {
		errno = ENOMEM;
		return -1;
	}
	x->req = *req;
	for (i = 0; i < req->nheader; i++) {
		x->list[i].data = (char *)(uintptr_t)req->header[i];
		x->list[i].next = i + 1 < req->nheader ? &x->list[i + 1] :
		    NULL;
	}
	x->status = x->interims = x->abort = x->head_done = 0;
	x->too_much = x->has_after = x->resent = 0;
	x->body_len = x->body_seen = x->head_seen = 0;
	x->address[0] = x->moved[0] = x->error[0] = x->curl_why[0] = '\0';
	curl_easy_setopt(x->easy, CURLOPT_FRESH_CONNECT, 0L);
	curl_easy_setopt(x->easy, CURLOPT_HTTPHEADER, x->list);
	curl_easy_setopt(x->easy, CURLOPT_POSTFIELDS, req->body);
	curl_easy_setopt(x->easy, CURLOPT_POSTFIELDSIZE_LARGE,
	    (curl_off_t)req->body_len);
	curl_easy_setopt(x->easy, CURLOPT_TIMEOUT_MS, req->timeout_ms);
	if (curl_easy_setopt(x->easy, CURLOPT_URL, req->url) != CURLE_OK ||
	    curl_multi_add_handle(s->multi, x->easy) != CURLM_OK) {
		errno = ENOMEM;
		return -1;
	}
	s->free = x->next;
	x->prev = NULL;
	if ((x->next = s->running) != NULL)
		x->next->prev = x;
	s->running = x;
	s->busy++;
	return 0;
}

/* What is the same for every request, once per handle. */
static int
prepare(struct sender *s, struct xfer *x)
{
	CURL	*e;

	if ((e = curl_easy_init()) == NULL)
		return -1;
	x->easy = e;
	curl_easy_setopt(e, CURLOPT_PRIVATE, x);
	curl_easy_setopt(e, CURLOPT_ERRORBUFFER, x->curl_why);
	curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(e, CURLOPT_POST, 1L);
	curl_easy_setopt(e, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(e, CURLOPT_HTTP09_ALLOWED, 0L);
	curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(e, CURLOPT_PROXY, s->proxy == NULL ? "" : s->proxy);
	curl_easy_setopt(e, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)SEND_CONNECT_MS);
	curl_easy_setopt(e, CURLOPT_BUFFERSIZE, 4096L);
	curl_easy_setopt(e, CURLOPT_UPLOAD_BUFFERSIZE, 16384L);
	curl_easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, on_open);
	curl_easy_setopt(e, CURLOPT_OPENSOCKETDATA, x);
	curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, on_head);
	curl_easy_setopt(e, CURLOPT_HEADERDATA, x);
	curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(e, CURLOPT_WRITEDATA, x);
	if (s->ca != NULL) {
		curl_easy_setopt(e, CURLOPT_SSL_CTX_FUNCTION, on_tls);
		curl_easy_setopt(e, CURLOPT_SSL_CTX_DATA, s);
	}
	return 0;
}

int
send_wait(struct sender *s, struct curl_waitfd *extra, unsigned nextra,
    int timeout_ms)
{
	int	 running;

	if (curl_multi_perform(s->multi, &running) != CURLM_OK)
		return -1;
	/* Something is finished already: look at the rest, don't sleep. */
	if ((size_t)running < s->busy)
		timeout_ms = 0;
	if (curl_multi_poll(s->multi, extra, nextra, timeout_ms, NULL) !=
	    CURLM_OK)
		return -1;
	return curl_multi_perform(s->multi, &running) == CURLM_OK ? 0 : -1;
}

const struct answer *
send_answer(struct sender *s, int64_t now_s)
{
	CURLMsg		*m;
	CURLcode	 res;
	struct xfer	*x;
	curl_off_t	 us = 0;
	long		 opened = 0;
	int		 left;

	if (s->given != NULL)
		release(s, s->given);
	s->given = NULL;
	while ((m = curl_multi_info_read(s->multi, &left)) != NULL) {
		if (m->msg != CURLMSG_DONE)
			continue;
		res = m->data.result;
		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE,
		    (char **)&x);
		curl_multi_remove_handle(s->multi, x->easy);
		curl_easy_getinfo(x->easy, CURLINFO_NUM_CONNECTS, &opened);
		/*
		 * A reused connection that died before one byte came says
		 * nothing about the endpoint.  libcurl sends again by itself
		 * in most such cases; this is for the others.
		 */
		if (res != CURLE_OK && res != CURLE_OPERATION_TIMEDOUT &&
		    opened == 0 && x->head_seen == 0 &&
		    x->resent < RESENDS_MAX && x->address[0] == '\0') {
			x->resent++;
			curl_easy_setopt(x->easy, CURLOPT_FRESH_CONNECT, 1L);
			if (curl_multi_add_handle(s->multi, x->easy) ==
			    CURLM_OK)
				continue;
		}
		curl_easy_getinfo(x->easy, CURLINFO_TOTAL_TIME_T, &us);
		x->now_s = now_s;
		judge(x, res);
		s->given = x;
		s->answer = (struct answer){
			.arg = x->req.arg, .status = x->status,
			.abort = x->abort,
			.blocked = x->address[0] != '\0' && x->status == 0,
			.after_ms = x->has_after ?
			    retry_after(x->after, strlen(x->after), now_s) :
			    -1,
			.error = x->error[0] == '\0' ? NULL : x->error,
			.body = x->body, .body_len = x->body_len,
			.duration_ms = (int)(us / 1000),
		};
		return &s->answer;
	}
	return NULL;
}

void *
send_abort(struct sender *s)
{
	struct xfer	*x = s->running;

	if (s->given != NULL)
		release(s, s->given);
	s->given = NULL;
	if ((x = s->running) == NULL)
		return NULL;
	curl_multi_remove_handle(s->multi, x->easy);
	release(s, x);
	return x->req.arg;
}

static void
release(struct sender *s, struct xfer *x)
{
	if (x->prev != NULL)
		x->prev->next = x->next;
	else
		s->running = x->next;
	if (x->next != NULL)
		x->next->prev = x->prev;
	x->next = s->free;
	s->free = x;
	s->busy--;
}

/* May this socket be opened?  Only the operator's own proxy is not asked. */
static curl_socket_t
on_open(void *arg, curlsocktype purpose, struct curl_sockaddr *a)
{
	struct xfer	*x = arg;

	(void)purpose;
	if (x->sender->proxy == NULL &&
	    !addr_may(&x->sender->allow, &a->addr)) {
		if (getnameinfo(&a->addr, a->addrlen, x->address,
		    sizeof(x->address), NULL, 0, NI_NUMERICHOST) != 0)
			snprintf(x->address, sizeof(x->address), "unknown");
		return CURL_SOCKET_BAD;
	}
	return socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
}

/* The value of header line s if it is called name; without outer spaces. */
static int
value_of(const char *s, size_t len, const char *name, const char **val,
    size_t *vallen)
{
	size_t	 n = strlen(name);

	if (len <= n || s[n] != ':' || strncasecmp(s, name, n) != 0)
		return 0;
	s += n + 1;
	len -= n + 1;
	while (len > 0 && (*s == ' ' || *s == '\t')) {
		s++;
		len--;
	}
	while (len > 0 && strchr(" \t\r\n", s[len - 1]) != NULL)
		len--;
	*val = s;
	*vallen = len;
	return 1;
}

static void
keep_printable(char *to, size_t size, const char *s, size_t len)
{
	size_t	 i;

	for (i = 0; i < len && i < size - 1; i++)
		to[i] = s[i] > ' ' && s[i] < 0x7f ? s[i] : '?';
	to[i] = '\0';
}

static void
on_header(struct xfer *x, const char *s, size_t len)
{
	const char	*val;
	char		 after[sizeof(x->after)];
	size_t		 n;

	if (value_of(s, len, "location", &val, &n)) {
		keep_printable(x->moved, sizeof(x->moved), val, n);
		if ((val = strpbrk(x->moved, "?#")) != NULL)
			x->moved[val - x->moved] = '\0';
	} else if (value_of(s, len, "webhook-delivery", &val, &n)) {
		if (n == 5 && strncasecmp(val, "abort", 5) == 0)
			x->abort = 1;
	} else if (value_of(s, len, "retry-after", &val, &n)) {
		/* Of several, the one that asks for the longest pause. */
		if (n >= sizeof(after))
			return;
		memcpy(after, val, n);
		after[n] = '\0';
		if (!x->has_after || retry_after(after, n, x->now_s) >
		    retry_after(x->after, strlen(x->after), x->now_s))
			memcpy(x->after, after, n + 1);
		x->has_after = 1;
	}
}

/* libcurl hands over one line at a time, of interim answers as well. */
static size_t
on_head(char *s, size_t size, size_t n, void *arg)
{
	struct xfer	*x = arg;
	size_t		 len = size * n;

	x->head_seen += len;
	if (x->head_seen > SEND_HEAD_MAX) {
		snprintf(x->error, sizeof(x->error),
		    "head: over %d bytes", SEND_HEAD_MAX);
		return 0;
	}
	if (x->head_done)
		return len;	/* a trailer */
	if (len > 8 && strncmp(s, "HTTP/", 5) == 0) {
		long	 status = 0;

		curl_easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &status);
		if (x->status != 0 && ++x->interims > SEND_INTERIM_MAX) {
			snprintf(x->error, sizeof(x->error),
			    "head: over %d interim answers",
			    SEND_INTERIM_MAX);
			return 0;
		}
		x->status = (int)status;
		x->moved[0] = '\0';
		x->abort = x->has_after = 0;
	} else if (len <= 2)
		x->head_done = x->status >= 200;
	else
		on_header(x, s, len);
	return len;
}

static size_t
on_body(char *s, size_t size, size_t n, void *arg)
{
	struct xfer	*x = arg;
	size_t		 len = size * n, keep;

	keep = SEND_BODY_KEPT - x->body_len;
	if (keep > len)
		keep = len;
	memcpy(x->body + x->body_len, s, keep);
	x->body_len += keep;
	x->body_seen += len;
	if (x->body_seen > SEND_BODY_MAX) {
		x->too_much = 1;
		return 0;	/* the status has come: enough is known */
	}
	return len;
}

static const char *
phase(struct xfer *x)
{
	curl_off_t	 looked = 0, connected = 0, tls = 0, sent = 0,
			 first = 0;
	long		 opened = 0;
	char		*scheme = NULL;

	if (x->head_done)
		return "body";
	curl_easy_getinfo(x->easy, CURLINFO_NAMELOOKUP_TIME_T, &looked);
	curl_easy_getinfo(x->easy, CURLINFO_CONNECT_TIME_T, &connected);
	curl_easy_getinfo(x->easy, CURLINFO_APPCONNECT_TIME_T, &tls);
	curl_easy_getinfo(x->easy, CURLINFO_PRETRANSFER_TIME_T, &sent);
	curl_easy_getinfo(x->easy, CURLINFO_STARTTRANSFER_TIME_T, &first);
	curl_easy_getinfo(x->easy, CURLINFO_NUM_CONNECTS, &opened);
	curl_easy_getinfo(x->easy, CURLINFO_SCHEME, &scheme);
	if (first > 0 || x->head_seen > 0)
		return "head";
	if (sent > 0)
		return "wait";
	if (looked == 0)
		return "resolve";
	if (connected == 0)
		return "connect";
	if (tls == 0 && scheme != NULL && strcasecmp(scheme, "https") == 0)
		return "tls";
	return "send";
}

/* What came of it: a status, or none and the reason why. */
static void
judge(struct xfer *x, CURLcode res)
{
	const char	*where, *why;

	if (res == CURLE_OK || x->head_done) {
		if (x->status < 200) {
			snprintf(x->error, sizeof(x->error),
			    "head: no final answer, only status %d",
			    x->status);
			x->status = 0;
		} else if (x->status >= 300 && x->status < 400)
			snprintf(x->error, sizeof(x->error),
			    "redirect, not followed: %s", x->moved[0] == '\0' ?
			    "no Location" : x->moved);
		else if (res == CURLE_OPERATION_TIMEDOUT)
			snprintf(x->error, sizeof(x->error), "body: not"
			    " finished within %ld ms", x->req.timeout_ms);
		else if (res != CURLE_OK && !x->too_much)
			snprintf(x->error, sizeof(x->error), "body: %s",
			    x->curl_why[0] != '\0' ? x->curl_why :
			    curl_easy_strerror(res));
		return;
	}
	x->status = 0;
	if (x->error[0] != '\0')
		return;
	if (x->address[0] != '\0') {
		snprintf(x->error, sizeof(x->error),
		    "connect: blocked destination %s", x->address);
		return;
	}
	where = phase(x);
	why = x->curl_why[0] != '\0' ? x->curl_why : curl_easy_strerror(res);
	switch (res) {
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
		where = "resolve";
		break;
	case CURLE_COULDNT_CONNECT:
		where = "connect";
		break;
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CIPHER:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_ISSUER_ERROR:
		where = "tls";
		break;
	case CURLE_OPERATION_TIMEDOUT:
		snprintf(x->error, sizeof(x->error),
		    "%s: nothing more within %ld ms", where,
		    strcmp(where, "resolve") == 0 ||
		    strcmp(where, "connect") == 0 ||
		    strcmp(where, "tls") == 0 ?
		    (x->req.timeout_ms < SEND_CONNECT_MS ?
		    x->req.timeout_ms : (long)SEND_CONNECT_MS) :
		    x->req.timeout_ms);
		return;
	case CURLE_UNSUPPORTED_PROTOCOL:
	case CURLE_WEIRD_SERVER_REPLY:
		where = "head";
		break;
	default:
		break;
	}
	snprintf(x->error, sizeof(x->error), "%s: %s", where, why);
	/* libcurl quotes what came; it must fit a log and a terminal. */
	for (char *s = x->error; *s != '\0'; s++)
		if (!isprint((unsigned char)*s))
			*s = '?';
}

/* HOOK_CA_FILE is trusted as well as, not instead of, the system's. */
static CURLcode
on_tls(CURL *easy, void *ctx, void *arg)
{
	struct sender	*s = arg;
	X509_STORE	*store = SSL_CTX_get_cert_store(ctx);
	int		 i;

	(void)easy;
	for (i = 0; i < sk_X509_num(s->ca); i++)
		if (X509_STORE_add_cert(store, sk_X509_value(s->ca, i)) != 1)
			return CURLE_SSL_CACERT_BADFILE;
	return CURLE_OK;
}

static STACK_OF(X509) *
read_ca(const char *path)
{
	STACK_OF(X509)	*all;
	X509		*one;
	BIO		*in;

	if ((in = BIO_new_file(path, "r")) == NULL)
		return NULL;
	all = sk_X509_new_null();
	while (all != NULL &&
	    (one = PEM_read_bio_X509(in, NULL, NULL, NULL)) != NULL)
		sk_X509_push(all, one);
	BIO_free(in);
	if (all != NULL && sk_X509_num(all) == 0) {
		sk_X509_free(all);
		all = NULL;
	}
	return all;
}
