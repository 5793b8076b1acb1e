#include <sys/socket.h>

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ca.h"
#include "multi.h"
#include "retry.h"
#include "xfer.h"

#define RESENDS_MAX	2		/* on connections that died unused */

struct sender {
	struct multi		 multi;
	struct xfer		*xfer;		/* all of them */
	struct xfer		*free, *running;
	size_t			 max, busy;
	struct addr_allow	 allow;
	char			*proxy;
	struct ca		*ca;		/* of HOOK_CA_FILE, or NULL */
	struct answer		 answer;
	struct xfer		*given;		/* what answer points into */
};

static int64_t	 monotonic_ms(void);
static int	 on_close(void *, curl_socket_t);
static curl_socket_t on_open(void *, curlsocktype, struct curl_sockaddr *);
static CURLcode	 on_tls(CURL *, void *, void *);
static int	 is_proxy(const char *);
static int	 prepare(struct sender *, struct xfer *);
static void	 release(struct sender *, struct xfer *);
static int	 resend(struct sender *, struct xfer *);

struct sender *
send_open(size_t max, const struct addr_allow *allow, const char *proxy,
    const char *ca_file, const char **why)
{
	struct sender	*s;
	size_t		 i;

	*why = "out of memory";
	errno = ENOMEM;
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK ||
	    (s = calloc(1, sizeof(*s))) == NULL)
		return NULL;
	s->multi = (struct multi)MULTI_INIT;
	s->allow = *allow;
	s->max = max;
	if (multi_open(&s->multi) == -1 ||
	    (s->xfer = calloc(max, sizeof(*s->xfer))) == NULL ||
	    (proxy != NULL && (s->proxy = strdup(proxy)) == NULL))
		goto fail;
	if (proxy != NULL && !is_proxy(proxy)) {
		*why = "HOOK_PROXY: not of the form http://host:port";
		goto bad;
	}
	if (ca_file != NULL && (s->ca = ca_read(ca_file)) == NULL) {
		*why = "HOOK_CA_FILE: not a file of certificates";
		goto bad;
	}
	curl_multi_setopt(s->multi.curl, CURLMOPT_MAXCONNECTS, (long)max);
	curl_multi_setopt(s->multi.curl, CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
	for (i = max; i-- > 0;) {
		s->xfer[i].sender = s;
		s->xfer[i].next = s->free;
		s->free = &s->xfer[i];
	}
	return s;
bad:
	send_close(s);
	errno = EINVAL;
	return NULL;
fail:
	send_close(s);
	errno = ENOMEM;
	return NULL;
}

static int
is_proxy(const char *url)
{
	CURLU	*u = curl_url();
	char	*scheme = NULL, *path = NULL;
	int	 ok;

	ok = u != NULL && curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK &&
	    curl_url_get(u, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
	    curl_url_get(u, CURLUPART_PATH, &path, 0) == CURLUE_OK &&
	    strncmp(scheme, "http", 4) == 0 && strcmp(path, "/") == 0;
	curl_free(scheme);
	curl_free(path);
	curl_url_cleanup(u);
	return ok;
}

void
send_close(struct sender *s)
{
	size_t	 i;

	if (s == NULL)
		return;
	for (i = 0; s->xfer != NULL && i < s->max; i++)
		if (s->xfer[i].easy != NULL) {
			curl_multi_remove_handle(s->multi.curl,
			    s->xfer[i].easy);
			curl_easy_cleanup(s->xfer[i].easy);
		}
	multi_close(&s->multi);
	ca_free(s->ca);
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
	xfer_reset(x);
	x->resent = 0;
	x->begun_ms = monotonic_ms();
	curl_easy_setopt(x->easy, CURLOPT_FRESH_CONNECT, 0L);
	curl_easy_setopt(x->easy, CURLOPT_HTTPHEADER, x->list);
	curl_easy_setopt(x->easy, CURLOPT_POSTFIELDS, req->body);
	curl_easy_setopt(x->easy, CURLOPT_POSTFIELDSIZE_LARGE,
	    (curl_off_t)req->body_len);
	curl_easy_setopt(x->easy, CURLOPT_TIMEOUT_MS, req->timeout_ms);
	if (curl_easy_setopt(x->easy, CURLOPT_URL, req->url) != CURLE_OK ||
	    curl_multi_add_handle(s->multi.curl, x->easy) != CURLM_OK) {
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
	/* Set, even to "", neither is looked for in the environment. */
	curl_easy_setopt(e, CURLOPT_PROXY, s->proxy == NULL ? "" : s->proxy);
	curl_easy_setopt(e, CURLOPT_NOPROXY, "");
	x->proxied = s->proxy != NULL;
	curl_easy_setopt(e, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)SEND_CONNECT_MS);
	curl_easy_setopt(e, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2);
#if LIBCURL_VERSION_NUM >= 0x075700
	/* Don't wait for a resolver's thread: all others would wait too. */
	curl_easy_setopt(e, CURLOPT_QUICK_EXIT, 1L);
#endif
	curl_easy_setopt(e, CURLOPT_BUFFERSIZE, 4096L);
	curl_easy_setopt(e, CURLOPT_UPLOAD_BUFFERSIZE, 16384L);
	curl_easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, on_open);
	curl_easy_setopt(e, CURLOPT_OPENSOCKETDATA, x);
	curl_easy_setopt(e, CURLOPT_CLOSESOCKETFUNCTION, on_close);
	curl_easy_setopt(e, CURLOPT_CLOSESOCKETDATA, s);
	curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, xfer_head);
	curl_easy_setopt(e, CURLOPT_HEADERDATA, x);
	curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, xfer_body);
	curl_easy_setopt(e, CURLOPT_WRITEDATA, x);
	curl_easy_setopt(e, CURLOPT_SSL_CTX_FUNCTION, on_tls);
	curl_easy_setopt(e, CURLOPT_SSL_CTX_DATA, x);
	return 0;
}

int
send_wait(struct sender *s, struct pollfd *extra, unsigned nextra,
    int timeout_ms)
{
	return multi_wait(&s->multi, s->busy, extra, nextra, timeout_ms);
}

const struct answer *
send_answer(struct sender *s, int64_t now_s)
{
	CURLMsg		*m;
	CURLcode	 res;
	struct xfer	*x;
	int		 left;

	if (s->given != NULL)
		release(s, s->given);
	s->given = NULL;
	while ((m = curl_multi_info_read(s->multi.curl, &left)) != NULL) {
		if (m->msg != CURLMSG_DONE)
			continue;
		res = m->data.result;
		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE,
		    (char **)&x);
		curl_multi_remove_handle(s->multi.curl, x->easy);
		if (xfer_unheard(x, res) && resend(s, x) == 0)
			continue;
		s->answer.blocked = xfer_blocked(x);
		xfer_judge(x, res);
		s->given = x;
		s->answer.arg = x->req.arg;
		s->answer.status = x->status;
		s->answer.abort = x->abort && x->status != 0;
		s->answer.after_ms = x->status == 0 ? -1 :
		    retry_after(x->after, strlen(x->after), now_s);
		s->answer.error = x->error[0] == '\0' ? NULL : x->error;
		s->answer.body = x->body;
		s->answer.body_len = x->body_len;
		s->answer.duration_ms = (int)(monotonic_ms() - x->begun_ms);
		return &s->answer;
	}
	return NULL;
}

/*
 * Again at once, on a new connection, within the same time.  libcurl does
 * this by itself in most cases; this is for the others.
 */
static int
resend(struct sender *s, struct xfer *x)
{
	int64_t	 left_ms = x->req.timeout_ms - (monotonic_ms() - x->begun_ms);

	if (x->resent == RESENDS_MAX || left_ms <= 0)
		return -1;
	x->resent++;
	xfer_reset(x);
	curl_easy_setopt(x->easy, CURLOPT_FRESH_CONNECT, 1L);
	curl_easy_setopt(x->easy, CURLOPT_TIMEOUT_MS, (long)left_ms);
	return curl_multi_add_handle(s->multi.curl, x->easy) == CURLM_OK ?
	    0 : -1;
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
	curl_multi_remove_handle(s->multi.curl, x->easy);
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
	int		 fd;

	(void)purpose;
	if (x->sender->proxy == NULL &&
	    !addr_may(&x->sender->allow, &a->addr)) {
		if (getnameinfo(&a->addr, a->addrlen, x->address,
		    sizeof(x->address), NULL, 0, NI_NUMERICHOST) != 0)
			snprintf(x->address, sizeof(x->address), "unknown");
		return CURL_SOCKET_BAD;
	}
	x->dialled++;
	fd = socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
	if (fd != -1)
		multi_opened(&x->sender->multi, fd);
	return fd;
}

static int
on_close(void *arg, curl_socket_t fd)
{
	struct sender	*s = arg;

	multi_closed(&s->multi, fd);
	return close(fd);
}

/*
 * A handshake begins.  HOOK_CA_FILE is trusted as well as, not instead of,
 * the system's.
 */
static CURLcode
on_tls(CURL *easy, void *ctx, void *arg)
{
	struct xfer	*x = arg;

	(void)easy;
	x->tls = 1;
	if (x->sender->ca != NULL && ca_add(x->sender->ca, ctx) == -1)
		return CURLE_SSL_CACERT_BADFILE;
	return CURLE_OK;
}

static int64_t
monotonic_ms(void)
{
	struct timespec	 ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}
