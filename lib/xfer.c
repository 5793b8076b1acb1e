#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "retry.h"
#include "xfer.h"

#define AT_ONCE		8192	/* bytes; a body that goes with its head */

enum phase { RESOLVE, CONNECT, TLS, SEND, WAIT, HEAD, BODY };

static const char	*const phase_name[] = {
	"resolve", "connect", "tls", "send", "wait", "head", "body"
};

static void	 on_field(struct xfer *, const char *, size_t);
static enum phase phase(const struct xfer *, CURLcode);
static void	 printable(char *, size_t, const char *, size_t);
static void	 say(struct xfer *, const char *, const char *);
static void	 say_curl(struct xfer *, enum phase, CURLcode);
static int	 value_of(const char *, size_t, const char *, const char **,
		    size_t *);

void
xfer_reset(struct xfer *x)
{
	x->status = x->interims = x->abort = x->head_done = x->too_much = 0;
	x->body_len = x->body_seen = x->head_seen = 0;
	x->address[0] = x->moved[0] = x->after[0] = '\0';
	x->error[0] = x->curl_why[0] = '\0';
	x->dialled = x->tls = 0;
}

int
xfer_unheard(const struct xfer *x, CURLcode res)
{
	long	 opened = 0;

	curl_easy_getinfo(x->easy, CURLINFO_NUM_CONNECTS, &opened);
	return opened == 0 && x->head_seen == 0 &&
	    (res == CURLE_SEND_ERROR || res == CURLE_RECV_ERROR ||
	    res == CURLE_GOT_NOTHING);
}

int
xfer_blocked(const struct xfer *x)
{
	return x->address[0] != '\0' && x->dialled == 0 && x->status == 0;
}

/* libcurl hands over one line at a time, of interim answers as well. */
size_t
xfer_head(char *s, size_t size, size_t n, void *arg)
{
	struct xfer	*x = arg;
	size_t		 len = size * n;
	long		 status = 0;

	x->head_seen += len;
	if (x->head_seen > SEND_HEAD_MAX) {
		snprintf(x->error, sizeof(x->error), "%s: head of over %d"
		    " bytes", x->head_done ? "body" : "head", SEND_HEAD_MAX);
		return 0;
	}
	if (x->head_done)
		return len;	/* a trailer */
	if (len > 8 && strncmp(s, "HTTP/", 5) == 0) {
		if (x->status != 0 && ++x->interims > SEND_INTERIM_MAX) {
			snprintf(x->error, sizeof(x->error),
			    "head: over %d interim answers",
			    SEND_INTERIM_MAX);
			return 0;
		}
		curl_easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &status);
		x->status = (int)status;
		x->moved[0] = x->after[0] = '\0';
		x->abort = 0;
	} else if (*s == '\r' || *s == '\n')
		x->head_done = x->status >= 200;
	else
		on_field(x, s, len);
	return len;
}

static void
on_field(struct xfer *x, const char *s, size_t len)
{
	const char	*val;
	size_t		 n;
	int64_t		 now_s = x->req.now_s;

	if (value_of(s, len, "location", &val, &n)) {
		/* A query may hold what should not be kept. */
		for (len = 0; len < n && strchr("?#", val[len]) == NULL;)
			len++;
		printable(x->moved, sizeof(x->moved), val, len);
	} else if (value_of(s, len, "webhook-delivery", &val, &n)) {
		if (n == 5 && strncasecmp(val, "abort", 5) == 0)
			x->abort = 1;
	} else if (value_of(s, len, "retry-after", &val, &n)) {
		/* Of several, the one that asks for the longest pause. */
		if (n < sizeof(x->after) && retry_after(val, n, now_s) >
		    retry_after(x->after, strlen(x->after), now_s)) {
			memcpy(x->after, val, n);
			x->after[n] = '\0';
		}
	}
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
	while (len > 0 && memchr(" \t\r\n", s[len - 1], 4) != NULL)
		len--;
	*val = s;
	*vallen = len;
	return 1;
}

size_t
xfer_body(char *s, size_t size, size_t n, void *arg)
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

void
xfer_judge(struct xfer *x, CURLcode res)
{
	enum phase	 where = phase(x, res);
	long		 limit_ms = x->req.timeout_ms;

	if (where <= TLS && limit_ms > SEND_CONNECT_MS)
		limit_ms = SEND_CONNECT_MS;
	if (where == BODY && x->status >= 300 && x->status < 400)
		say(x, "redirect, not followed",
		    x->moved[0] == '\0' ? "no Location" : x->moved);
	else if (x->error[0] != '\0' || x->too_much)
		;
	else if (xfer_blocked(x))
		say(x, "connect: blocked destination", x->address);
	else if (res == CURLE_OPERATION_TIMEDOUT)
		snprintf(x->error, sizeof(x->error), "%s: timed out after"
		    " %ld ms", phase_name[where], limit_ms);
	else if (where < BODY && x->status != 0 && x->status < 200)
		snprintf(x->error, sizeof(x->error),
		    "head: no final answer, only status %d", x->status);
	else if (where < BODY && (res == CURLE_OK ||
	    (where == HEAD && res == CURLE_GOT_NOTHING)))
		say(x, phase_name[where], "closed before its end");
	else if (where == HEAD && res == CURLE_OUT_OF_MEMORY)
		/* libcurl's word for a line without an end. */
		snprintf(x->error, sizeof(x->error),
		    "head: line of over %d bytes", SEND_HEAD_MAX);
	else if (res != CURLE_OK)
		say_curl(x, where, res);
	if (where < BODY)
		x->status = 0;
}

/*
 * How far did it get?  That the head has begun, before its first line is
 * complete, libcurl's times tell only where they can't mean the sending.
 */
static enum phase
phase(const struct xfer *x, CURLcode res)
{
	curl_off_t	 connected = 0, sending = 0, first = 0, sent = 0;

	if (x->head_done)
		return BODY;
	if (res == CURLE_COULDNT_RESOLVE_HOST ||
	    res == CURLE_COULDNT_RESOLVE_PROXY)
		return RESOLVE;
	curl_easy_getinfo(x->easy, CURLINFO_CONNECT_TIME_T, &connected);
	curl_easy_getinfo(x->easy, CURLINFO_PRETRANSFER_TIME_T, &sending);
	curl_easy_getinfo(x->easy, CURLINFO_STARTTRANSFER_TIME_T, &first);
	curl_easy_getinfo(x->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
	if (x->head_seen > 0)
		return HEAD;
	if (sending > 0 && (size_t)sent < x->req.body_len)
		return SEND;
	if (sending > 0)
		return first > 0 && x->req.body_len <= AT_ONCE &&
		    res != CURLE_GOT_NOTHING ? HEAD : WAIT;
	if (x->tls)
		return TLS;
	if (x->dialled > 0 || x->address[0] != '\0')
		return connected > 0 && !x->proxied ? SEND : CONNECT;
	return RESOLVE;
}

/* libcurl's own words say more than its code's; OpenSSL's, at their end. */
static void
say_curl(struct xfer *x, enum phase where, CURLcode res)
{
	const char	*why = x->curl_why, *end;

	if (*why == '\0')
		why = curl_easy_strerror(res);
	if (where == TLS && (strstr(why, "SSL_ERROR_SYSCALL") != NULL ||
	    strstr(why, "Connection reset") != NULL))
		why = "connection closed in the handshake";
	else if ((end = strstr(why, "SSL routines:")) != NULL)
		why = strrchr(end, ':') + 1;
	say(x, phase_name[where], why);
}

static void
say(struct xfer *x, const char *where, const char *why)
{
	char	 text[XFER_ERROR_MAX];

	snprintf(text, sizeof(text), "%s: %s", where, why);
	printable(x->error, sizeof(x->error), text, strlen(text));
}

static void
printable(char *to, size_t size, const char *s, size_t len)
{
	size_t	 i;

	for (i = 0; i < len && i < size - 1; i++)
		to[i] = s[i] >= ' ' && s[i] < 0x7f ? s[i] : '?';
	to[i] = '\0';
}
