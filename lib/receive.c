#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "again.h"
#include "handshake.h"
#include "hint.h"
#include "inbox.h"
#include "log.h"
#include "message.h"
#include "offer.h"
#include "outside.h"
#include "receive.h"
#include "refusal.h"
#include "unpack.h"
#include "url.h"

#define PATH		"/webhooks/"

/* A message on its way to the database. */
struct pending {
	struct intake_message	 m;
	struct serve_request	*request;
	struct source		*source;
	struct buf		 id, type, unpacked;
};

static void	 answer(struct serve_request *, int, const char *);
static const struct sign_header *headers(const struct http_request *);
static void	 get(struct receive *, struct serve_request *,
		    struct source *);
static void	 health(struct serve_request *, int);
static void	 keep(struct receive *, struct pending *,
		    const struct sign_message *);
static struct pending *pending(struct receive *, struct serve_request *,
		    struct source *);
static int	 offered(struct receive *, struct serve_request *,
		    struct source *, const struct sign_message *);
static void	 refuse(struct receive *, struct serve_request *,
		    struct source *, int, const char *, const struct hint *);
static void	 release(struct pending *);
static void	 shake(struct serve_request *, struct source *,
		    struct handshake *);
static int	 unpacked(struct receive *, struct pending *,
		    struct sign_message *);
static void	 take(struct receive *, struct serve_request *,
		    struct source *);
static struct sign_key *verify(struct receive *, struct serve_request *,
		    struct source *, const struct sign_message *);

void
receive_take(void *arg, struct serve_request *r)
{
	struct receive	*rc = arg;
	const char	*path = r->http.target, *name = path + strlen(PATH);
	size_t		 len = strcspn(path, "?");
	int		 is_get = strcmp(r->http.method, "GET") == 0;
	int		 looks = is_get || strcmp(r->http.method, "HEAD") == 0;
	struct source	*src;

	if (len == 8 && strncmp(path, "/healthz", len) == 0) {
		health(r, looks ? 1 : -1);
		return;
	}
	if (len == 7 && strncmp(path, "/readyz", len) == 0) {
		health(r, looks ? intake_ready(&rc->intake) : -1);
		return;
	}
	if (strncmp(path, PATH, strlen(PATH)) != 0 ||
	    (len -= strlen(PATH)) == 0 || memchr(name, '/', len) != NULL) {
		answer(r, 404, "not found\n");
		return;
	}
	src = sources_find(&rc->sources, name, len);
	if (strcmp(r->http.method, "POST") == 0)
		take(rc, r, src);
	else if (is_get)
		get(rc, r, src);
	else
		refuse(rc, r, src, 405, "method", NULL);
}

static void
health(struct serve_request *r, int good)
{
	if (good == -1)
		serve_answer(r, &(struct serve_answer){ .status = 405,
		    .more = "Allow: GET, HEAD\r\n" });
	else
		answer(r, good ? 200 : 503, good ? "ok\n" : "no database\n");
}

static void
get(struct receive *rc, struct serve_request *r, struct source *src)
{
	const char	*query = strchr(r->http.target, '?');
	struct handshake h = HANDSHAKE_INIT;
	char		*word[SOURCE_WORDS];
	size_t		 n = source_words(src, time(NULL), word);

	if (src->scheme != NULL && src != rc->sources.unknown &&
	    handshake_get(src->scheme, query == NULL ? NULL : query + 1, word,
	    n, &h))
		shake(r, src, &h);
	else if (src->scheme != NULL && message_signs_url(src->scheme))
		take(rc, r, src);
	else
		refuse(rc, r, src, rc->sources.generation == 0 ? 503 : 401,
		    "handshake", NULL);
	buf_wipe(&h.body);
}

static void
shake(struct serve_request *r, struct source *src, struct handshake *h)
{
	src->count[COUNT_HANDSHAKE]++;
	serve_answer(r, &(struct serve_answer){ .status = h->status,
	    .type = h->type, .body = h->body.s, .len = h->body.len });
}

/*
 * Verify and keep.  A GET, which only those have who sign its URL, says in
 * its query what a form would say in its body: that is kept.
 */
static void
take(struct receive *rc, struct serve_request *r, struct source *src)
{
	struct sign_message	 m = { .method = r->http.method };
	const char		*query = strchr(r->http.target, '?');
	struct handshake	 h = HANDSHAKE_INIT;
	struct buf		 url = BUF_INIT(2 * HTTP_HEAD_MAX);
	struct sign_key		*key;
	struct pending		*p;
	int			 kept = 0;

	m.header = headers(&r->http);
	m.nheader = r->http.nheader;
	m.body = r->body.len == 0 ? "" : r->body.s;
	m.body_len = r->body.len;
	if ((p = pending(rc, r, src)) == NULL || outside_url(&r->http,
	    src->public_url, &r->peer, &rc->proxies, &url) == -1)
		refuse(rc, r, src, 503, "no memory", NULL);
	else if (unpacked(rc, p, &m) != -1) {
		m.url = url.s;
		if (offered(rc, r, src, &m) ||
		    (key = verify(rc, r, src, &m)) == NULL)
			;
		else if (handshake_post(src->scheme, &m, key, &h))
			shake(r, src, &h);
		else {
			if (strcmp(m.method, "GET") == 0 && m.body_len == 0 &&
			    query != NULL) {
				m.body = query + 1;
				m.body_len = strlen(query + 1);
			}
			keep(rc, p, &m);
			kept = 1;
		}
	}
	buf_free(&url);
	buf_free(&h.body);
	if (!kept)
		release(p);
}

/* A token that is to sign later messages?  1, and it is answered. */
static int
offered(struct receive *rc, struct serve_request *r, struct source *src,
    const struct sign_message *m)
{
	struct handshake	 h = HANDSHAKE_INIT;
	struct buf		 token = BUF_INIT(OFFER_MAX);
	int			 is;

	is = src->scheme != NULL && src != rc->sources.unknown &&
	    offer_token(src->scheme, m, &token) == 1;
	if (is && rc->offers == NULL)
		refuse(rc, r, src, 401, "the token of a handshake, and no -k"
		    " to keep it in", NULL);
	else if (is && offer_keep(rc->offers, src->name, &token) == -1)
		refuse(rc, r, src, 503, errno == EAGAIN ? "one token a second"
		    : "the token of a handshake can't be kept in the folder"
		    " of -k", NULL);
	else if (is) {
		log_event(LOG_NOTICE, "token kept", "source", src->name,
		    "folder", rc->offers, NULL);
		shake(r, src, &h);
	}
	buf_wipe(&token);
	return is;
}

/* The same two pointers under another name; until the next call. */
static const struct sign_header *
headers(const struct http_request *r)
{
	static struct sign_header	 header[HTTP_HEADERS];
	size_t				 i;

	for (i = 0; i < r->nheader; i++) {
		header[i].name = r->header[i].name;
		header[i].value = r->header[i].value;
	}
	return header;
}

static struct pending *
pending(struct receive *rc, struct serve_request *r, struct source *src)
{
	struct pending	*p;

	if ((p = calloc(1, sizeof(*p))) == NULL)
		return NULL;
	p->request = r;
	p->source = src;
	p->m.user = p;
	p->m.headers.max = 4 * HTTP_HEAD_MAX;
	p->id.max = 256;
	p->type.max = p->unpacked.max = rc->max_body;
	return p;
}

static void
release(struct pending *p)
{
	if (p == NULL)
		return;
	buf_free(&p->id);
	buf_free(&p->type);
	buf_free(&p->unpacked);
	buf_free(&p->m.headers);
	free(p);
}

/* Where the source wants that; -1 and the request is answered. */
static int
unpacked(struct receive *rc, struct pending *p, struct sign_message *m)
{
	struct http_error	 e;
	const char		*coding = NULL;
	size_t			 i;
	int			 did;

	if (!p->source->unpack)
		return 0;
	for (i = 0; i < m->nheader; i++)
		if (strcasecmp(m->header[i].name, "content-encoding") == 0)
			coding = coding == NULL ? m->header[i].value : ",";
	did = unpack(coding, m->body, m->body_len, &p->unpacked, &e);
	if (did == -1)
		refuse(rc, p->request, p->source, e.status, e.why, NULL);
	else if (did == 1) {
		m->body = p->unpacked.s;
		m->body_len = p->unpacked.len;
	}
	return did;
}

/* The key it is signed with; NULL: none, and the request is answered. */
static struct sign_key *
verify(struct receive *rc, struct serve_request *r, struct source *src,
    const struct sign_message *m)
{
	struct sign_key	*key[SOURCE_KEYS];
	const char	*why = "no such scheme";
	struct hint	 h = { .scheme = src->scheme, .key = key,
			    .message = *m, .now = time(NULL),
			    .tolerance = src->tolerance };
	size_t		 i;

	h.nkey = source_keys(src, h.now, key);
	if (src->scheme != NULL && sign_check(src->scheme, key, h.nkey, m,
	    h.now, src->tolerance, &i, &why) == 0 &&
	    src != rc->sources.unknown)
		return key[i];
	if (rc->sources.generation == 0)
		refuse(rc, r, src, 503, "sources are not known yet", NULL);
	else if (src->broken != NULL)
		refuse(rc, r, src, 503, src->broken, NULL);
	else
		refuse(rc, r, src, 401, why, &h);
	return NULL;
}

/* Hand a good message to the database. */
static void
keep(struct receive *rc, struct pending *p, const struct sign_message *m)
{
	const struct sign_scheme	*s = p->source->scheme;
	int				 packed = p->unpacked.len > 0;
	int				 typed = -1;

	if (inbox_id(s, m, &p->id) != -1 && (!message_anew(s) ||
	    again_id(p->source->name, &p->id) != -1) &&
	    (typed = inbox_type(s, m, &p->type)) != -1 &&
	    inbox_headers(s, m, packed, &p->m.headers) != -1) {
		p->m.source = p->source->name;
		p->m.id = p->id.s;
		p->m.type = typed == 1 ? p->type.s : NULL;
		p->m.body = m->body;
		p->m.len = m->body_len;
		if (intake_put(&rc->intake, &p->m) != -1)
			return;
	}
	receive_done(rc, &p->m, INTAKE_AWAY);
}

void
receive_done(void *arg, struct intake_message *m, enum intake_outcome o)
{
	struct receive	*rc = arg;
	struct pending	*p = m->user;
	struct source	*src = p->source;
	int		 bare;

	bare = src->scheme != NULL && handshake_bare(src->scheme);
	switch (o) {
	case INTAKE_STORED:
		src->count[COUNT_STORED]++;
		answer(p->request, bare ? 200 : 202, bare ? "" : "stored\n");
		break;
	case INTAKE_DUPLICATE:
		src->count[COUNT_DUPLICATE]++;
		answer(p->request, 200, bare ? "" : "had it already\n");
		break;
	case INTAKE_AWAY:
		refuse(rc, p->request, src, 503, "database is away", NULL);
		break;
	case INTAKE_REFUSED:
		refuse(rc, p->request, src, 400, "database refuses its data",
		    NULL);
		break;
	}
	release(p);
}

static void
answer(struct serve_request *r, int status, const char *text)
{
	serve_answer(r, &(struct serve_answer){ .status = status,
	    .body = text, .len = strlen(text),
	    .more = status == 503 ? "Retry-After: 5\r\n" :
	    status == 405 ? "Allow: GET, POST\r\n" : NULL });
}

/* Say no: to the log why, to the client only that. */
static void
refuse(struct receive *rc, struct serve_request *r, struct source *src,
    int status, const char *why, const struct hint *h)
{
	struct buf	 url = BUF_INIT(2 * HTTP_HEAD_MAX);
	struct buf	 shown = BUF_INIT(2 * HTTP_HEAD_MAX);
	struct buf	 text = BUF_INIT(1024);
	char		 code[8], from[64], skipped[24];
	int		 bare;

	src->count[status == 401 ? COUNT_UNAUTHORIZED : status == 503 ?
	    COUNT_UNAVAILABLE : COUNT_REFUSED]++;
	if (refusal_may_log(skipped, sizeof(skipped))) {
		snprintf(code, sizeof(code), "%d", status);
		outside_address(&r->http, &r->peer, &rc->proxies, from);
		if (status == 401 && src->scheme != NULL &&
		    message_signs_url(src->scheme) && outside_url(&r->http,
		    src->public_url, &r->peer, &rc->proxies, &url) == 0)
			(void)!url_redact(url.s, &shown);
		refusal_reason(rc, src, why, h, &text);
		log_event(LOG_NOTICE, "refused", "source", src->name,
		    "status", code, "reason", src == rc->sources.unknown ?
		    "no such source" : text.len == 0 ? why : text.s,
		    "from", from, "url", shown.s,
		    "not_logged", skipped[0] == '\0' ? NULL : skipped, NULL);
	}
	bare = src->scheme != NULL && handshake_bare(src->scheme);
	answer(r, status, bare ? "" : status == 401 ? "unauthorized\n" :
	    status == 503 ? "try again\n" : "refused\n");
	buf_free(&url);
	buf_free(&shown);
	buf_free(&text);
}

/* What was no request, or came too slowly. */
void
receive_refused(void *arg, const struct sockaddr_storage *peer,
    const struct http_error *e)
{
	struct receive	*rc = arg;
	char		 code[8], from[64], skipped[24];

	rc->sources.unknown->count[e->status == 503 ? COUNT_UNAVAILABLE :
	    COUNT_REFUSED]++;
	if (!refusal_may_log(skipped, sizeof(skipped)))
		return;
	snprintf(code, sizeof(code), "%d", e->status);
	outside_address(NULL, peer, &rc->proxies, from);
	log_event(LOG_NOTICE, "refused", "status", code, "reason", e->why,
	    "from", from, "not_logged", skipped[0] == '\0' ? NULL : skipped,
	    NULL);
}
