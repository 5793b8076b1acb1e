/* rule.c: the rules' text, read into answers ready to be sent. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sink.h"

#define MAX_ANSWER	(16u << 20)	/* bytes */

struct rule {
	struct rule	*next;
	char		*path;
	long		 from, to;	/* occurrences */
	int		 by_id;
	int		 reused;	/* only on a used connection */
	struct answer	 answer;
};

/* A rule's line while it is read. */
struct draft {
	char	 reason[256];
	char	 headers[8192];
	char	*body;
	size_t	 body_len;
	char	*before;		/* interim answers */
	size_t	 before_len, interim_len;
	long	 length;		/* -1 none, -2 the true one */
	int	 slow_body, interim_ms;
	int	 endless_head;
	char	*raw;
	size_t	 raw_len;
};

static struct rule	*first;
static struct answer	 plain;

/* Every set ever loaded: connections may still be answering by an old one. */
static struct rule	*old[1000];
static size_t		 nold;

/* Undo \n \r \t \0 \\ \xNN in place; the length. */
static size_t
unescape(char *s)
{
	char		*in = s, *out = s;
	unsigned int	 byte;

	for (; *in != '\0'; in++) {
		if (*in != '\\' || in[1] == '\0') {
			*out++ = *in;
			continue;
		}
		switch (*++in) {
		case 'n':
			*out++ = '\n';
			break;
		case 'r':
			*out++ = '\r';
			break;
		case 't':
			*out++ = '\t';
			break;
		case '0':
			*out++ = '\0';
			break;
		case 'x':
			if (sscanf(in + 1, "%2x", &byte) == 1) {
				*out++ = (char)byte;
				in += 2;
			}
			break;
		default:
			*out++ = *in;
		}
	}
	*out = '\0';
	return (size_t)(out - s);
}

static char *
keep(const char *s, size_t len)
{
	char	*to = malloc(len + 1);

	return to == NULL ? NULL : memcpy(to, s, len + 1);
}

static char *
read_file(const char *path, size_t *len)
{
	FILE	*f;
	char	*s = malloc(MAX_ANSWER);

	if (s == NULL || (f = fopen(path, "r")) == NULL) {
		free(s);
		return NULL;
	}
	*len = fread(s, 1, MAX_ANSWER, f);
	fclose(f);
	return s;
}

static int
interim(struct draft *d, const char *arg)
{
	int	 status, n = 1;
	char	 one[64];

	if (sscanf(arg, "%d %d %d", &status, &n, &d->interim_ms) < 1 || n < 1)
		return -1;
	d->interim_len = (size_t)snprintf(one, sizeof(one),
	    "HTTP/1.1 %d Interim\r\n\r\n", status);
	if ((d->before = calloc((size_t)n, d->interim_len)) == NULL)
		return -1;
	for (int i = 0; i < n; i++)
		memcpy(d->before + (size_t)i * d->interim_len, one,
		    d->interim_len);
	d->before_len = (size_t)n * d->interim_len;
	return 0;
}

static int
endless(struct rule *r, struct draft *d, const char *arg)
{
	static char	 head[1025], body[1024 + 7];

	if (head[0] == '\0') {
		memset(head, 'a', sizeof(head) - 1);
		memcpy(head, "X-Fill: ", 8);
		memcpy(head + 1022, "\r\n", 3);
		memset(body, 'b', sizeof(body));
		memcpy(body, "400\r\n", 5);
		memcpy(body + sizeof(body) - 2, "\r\n", 2);
	}
	d->endless_head = strncmp(arg, "head", 4) == 0;
	if (!d->endless_head && strncmp(arg, "body", 4) != 0)
		return -1;
	r->answer.fill = d->endless_head ? head : body;
	r->answer.fill_len = d->endless_head ? 1024 : sizeof(body);
	r->answer.fill_bytes = UINT64_MAX;
	r->answer.fill_ms = atoi(arg + 4);
	if (!d->endless_head) {
		strcat(d->headers, "Transfer-Encoding: chunked\r\n");
		d->length = -1;
	}
	return 0;
}

static int
then(struct answer *a, const char *what)
{
	static const char *const name[] = { "keep", "close", "rst", "hang" };

	for (int i = 0; i < 4; i++)
		if (strcmp(what, name[i]) == 0) {
			a->then = (enum then)i;
			return 0;
		}
	return -1;
}

/* One step of a rule: its word, and the rest. */
static int
step(struct rule *r, struct draft *d, char *word, char *arg)
{
	static char	 xs[16384];
	struct answer	*a = &r->answer;
	size_t		 len;

#define IS(w)	(strcmp(word, w) == 0)
	if (IS("status")) {
		a->status = (int)strtol(arg, &arg, 10);
		arg += strspn(arg, " ");
		unescape(arg);
		return snprintf(d->reason, sizeof(d->reason), "%s", arg) < 0 ?
		    -1 : 0;
	}
	if (IS("header")) {
		unescape(arg);
		len = strlen(d->headers);
		return (size_t)snprintf(d->headers + len, sizeof(d->headers) -
		    len, "%s\r\n", arg) >= sizeof(d->headers) - len ? -1 : 0;
	}
	if (IS("body")) {
		d->body_len = unescape(arg);
		return (d->body = keep(arg, d->body_len)) == NULL ? -1 : 0;
	}
	if (IS("raw")) {
		d->raw_len = unescape(arg);
		a->then = THEN_CLOSE;
		return (d->raw = keep(arg, d->raw_len)) == NULL ? -1 : 0;
	}
	if (IS("rawfile")) {
		a->then = THEN_CLOSE;
		return (d->raw = read_file(arg, &d->raw_len)) == NULL ? -1 : 0;
	}
	if (IS("file"))
		return (d->body = read_file(arg, &d->body_len)) == NULL ?
		    -1 : 0;
	if (IS("length")) {
		d->length = strcmp(arg, "none") == 0 ? -1 : atol(arg);
		return 0;
	}
	if (IS("delay")) {
		a->delay_ms = atoi(arg);
		return 0;
	}
	if (IS("drip")) {
		a->step = 1;
		a->tick_ms = atoi(arg);
		d->slow_body = strstr(arg, "body") != NULL;
		return 0;
	}
	if (IS("interim"))
		return interim(d, arg);
	if (IS("endless"))
		return endless(r, d, arg);
	if (IS("huge")) {
		memset(xs, 'x', sizeof(xs));
		a->fill = xs;
		a->fill_len = sizeof(xs);
		a->fill_bytes = strtoull(arg, NULL, 10);
		d->length = atol(arg);
		return 0;
	}
	if (IS("early"))
		return a->early = 1, 0;
	if (IS("reused"))
		return r->reused = 1, 0;
	if (IS("idle"))
		return (a->idle_ms = atoi(arg)) > 0 ? 0 : -1;
	if (IS("then"))
		return then(a, arg);
	if (IS("hang") || IS("close") || IS("rst")) {
		d->raw = calloc(1, 1);
		return then(a, word);
	}
	return -1;
#undef IS
}

/* Put the answer together. */
static int
finish(struct answer *a, struct draft *d)
{
	char	 head[16384], length[64] = "";
	size_t	 n;

	if (d->raw != NULL) {
		a->bytes = d->raw;
		a->len = d->raw_len;
		a->slow_to = a->len;
		a->status = 0;
		return 0;
	}
	if (a->status == 0)
		a->status = 200;
	if (d->length == -2)
		d->length = (long)d->body_len;
	if (d->length >= 0 && !d->endless_head)
		snprintf(length, sizeof(length), "Content-Length: %ld\r\n",
		    d->length);
	n = (size_t)snprintf(head, sizeof(head), "HTTP/1.1 %d %s\r\n%s%s%s",
	    a->status, d->reason, d->headers, length,
	    d->endless_head ? "" : "\r\n");
	a->len = d->before_len + n + d->body_len;
	if ((a->bytes = malloc(a->len + 1)) == NULL)
		return -1;
	if (d->before != NULL)
		memcpy(a->bytes, d->before, d->before_len);
	memcpy(a->bytes + d->before_len, head, n);
	if (d->body != NULL)
		memcpy(a->bytes + d->before_len + n, d->body, d->body_len);
	a->slow_from = d->slow_body ? d->before_len + n : 0;
	a->slow_to = a->len;
	if (d->interim_ms > 0) {
		a->slow_to = d->before_len;
		a->step = d->interim_len;
		a->tick_ms = d->interim_ms;
	}
	return 0;
}

static void
rules_free(struct rule *r)
{
	struct rule	*next;

	for (; r != NULL; r = next) {
		next = r->next;
		free(r->answer.bytes);
		free(r->path);
		free(r);
	}
}

/* PATH OCCURRENCE step | step ... */
static struct rule *
rule_read(char *line)
{
	struct draft	 d = { .length = -2 };
	struct rule	*r = calloc(1, sizeof(*r));
	char		*path, *which, *rest = line, *s, *word, *end;
	int		 bad = 0;

	path = strsep(&rest, " ");
	which = strsep(&rest, " ");
	if (r == NULL || rest == NULL ||
	    (r->path = strdup(path)) == NULL) {
		rules_free(r);
		return NULL;
	}
	if (strncmp(which, "id", 2) == 0) {
		r->by_id = 1;
		which += 2;
	}
	r->to = LONG_MAX;
	if (strcmp(which, "*") != 0) {
		r->from = r->to = strtol(which, &end, 10);
		if (*end == '-')
			r->to = end[1] == '\0' ? LONG_MAX : atol(end + 1);
		if (end == which)
			bad = 1;
	}
	while (!bad && (s = rest) != NULL) {
		if ((rest = strstr(s, " | ")) != NULL) {
			*rest = '\0';
			rest += 3;
		}
		s += strspn(s, " ");
		word = strsep(&s, " ");
		bad = step(r, &d, word, s == NULL ? word + strlen(word) : s);
	}
	if (!bad)
		bad = finish(&r->answer, &d);
	free(d.body);
	free(d.before);
	if (bad) {
		if (r->answer.bytes == NULL)
			free(d.raw);
		rules_free(r);
		return NULL;
	}
	return r;
}

int
rules_load(const char *text, const char **why)
{
	static char	 bad[512];
	struct rule	*set = NULL, **tail = &set, *r;
	char		*copy = strdup(text), *rest = copy, *line;

	while ((line = strsep(&rest, "\n")) != NULL) {
		if (line[0] == '\0' || line[0] == '#')
			continue;
		snprintf(bad, sizeof(bad), "%s", line);
		if ((r = rule_read(line)) == NULL) {
			*why = bad;
			rules_free(set);
			free(copy);
			return -1;
		}
		*tail = r;
		tail = &r->next;
	}
	free(copy);
	if (plain.bytes == NULL) {
		struct draft	 d = { .length = -2 };

		if (finish(&plain, &d) == -1)
			return -1;
	}
	if (first != NULL && nold < sizeof(old) / sizeof(old[0]))
		old[nold++] = first;
	first = set;
	count_reset();
	return 0;
}

const struct answer *
rules_match(const char *path, const char *id, const struct count *seen,
    int reused)
{
	char	 key[4096];
	long	 n, nth_of_id = 0;

	for (struct rule *r = first; r != NULL; r = r->next)
		if (r->by_id && nth_of_id == 0) {
			snprintf(key, sizeof(key), "%s %s", path, id);
			nth_of_id = ++count_get(key)->total;
		}
	for (struct rule *r = first; r != NULL; r = r->next) {
		n = r->by_id ? nth_of_id : seen->total;
		if (strncmp(path, r->path, strlen(r->path)) == 0 &&
		    n >= r->from && n <= r->to && (reused || !r->reused))
			return &r->answer;
	}
	return &plain;
}
