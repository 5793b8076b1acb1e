#include <sys/mman.h>

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base64.h"
#include "parcel.h"
#include "out.h"

#define LINES_MAX	((size_t)256 << 20)	/* bytes of a batch */
#define ENV_MAX		(8 * 1024 * 1024)	/* bytes; exec takes fewer */

extern char	**environ;

static int	 add_body(struct buf *, const struct parcel *);
static int	 add_headers(struct buf *, const struct parcel *);
static int	 add_var(struct buf *, size_t *, const char *, const char *);
static int	 header_vars(struct buf *, size_t *, const struct parcel *);
static int	 own_vars(struct buf *, size_t *, const struct parcel *,
		    const char *, int);
static int	 passes(const char *);
static int	 string_or_null(struct buf *, const char *);

void
parcel_free(struct parcel *m)
{
	struct parcel	*next;

	for (; m != NULL; m = next) {
		next = m->next;
		free(m->key);
		free(m->message_id);
		free(m->event_type);
		free(m->received_at);
		free(m->headers);
		free(m->body);
		free(m->error);
		free(m->tail);
		free(m);
	}
}

char **
parcel_env(const struct parcel *m, const char *source, int batch)
{
	struct buf	 b = BUF_INIT(ENV_MAX);
	size_t		 n = 0, i, head;
	char		**env = NULL, **e, *s;

	for (e = environ; *e != NULL; e++)
		if (passes(*e)) {
			if (buf_add(&b, *e, strlen(*e) + 1) == -1)
				goto out;
			n++;
		}
	if (own_vars(&b, &n, m, source, batch) == -1 ||
	    (!batch && header_vars(&b, &n, m) == -1))
		goto out;
	head = (n + 1) * sizeof(*env);
	if ((env = malloc(head + b.len)) == NULL)
		goto out;
	s = (char *)env + head;
	memcpy(s, b.s, b.len);
	for (i = 0; i < n; i++, s += strlen(s) + 1)
		env[i] = s;
	env[n] = NULL;
out:
	buf_wipe(&b);
	return env;
}

/*
 * May a variable of ours go to a handler?  A password might end in the log
 * of any program that prints its environment.
 */
static int
passes(const char *var)
{
	static const char *const kept[] = {
		"PGPASSWORD=", "HOOK_KEY_FILE=", "HOOK_SECRET=",
		"NOTIFY_SOCKET=", "WATCHDOG_PID=", "WATCHDOG_USEC=",
		"LISTEN_PID=", "LISTEN_FDS=", "LISTEN_FDNAMES=",
		"HOOK_SOURCE=", "HOOK_MESSAGE_ID=", "HOOK_INBOX_ID=",
		"HOOK_EVENT_TYPE=", "HOOK_ATTEMPT=", "HOOK_RECEIVED_AT=",
		"HOOK_BATCH=", "HOOK_HEADER_"
	};
	size_t	 i;

	for (i = 0; i < sizeof(kept) / sizeof(*kept); i++)
		if (strncmp(var, kept[i], strlen(kept[i])) == 0)
			return 0;
	return 1;
}

static int
own_vars(struct buf *b, size_t *n, const struct parcel *m,
    const char *source, int batch)
{
	char	 num[24];
	int	 count;

	if (add_var(b, n, "HOOK_SOURCE", source) == -1)
		return -1;
	if (batch) {
		for (count = 0; m != NULL; m = m->next)
			count++;
		snprintf(num, sizeof(num), "%d", count);
		return add_var(b, n, "HOOK_BATCH", num);
	}
	snprintf(num, sizeof(num), "%" PRId64, m->id);
	if (add_var(b, n, "HOOK_INBOX_ID", num) == -1)
		return -1;
	snprintf(num, sizeof(num), "%d", m->attempts);
	if (add_var(b, n, "HOOK_ATTEMPT", num) == -1 ||
	    add_var(b, n, "HOOK_MESSAGE_ID", m->message_id) == -1 ||
	    add_var(b, n, "HOOK_RECEIVED_AT", m->received_at) == -1)
		return -1;
	return m->event_type == NULL ? 0 :
	    add_var(b, n, "HOOK_EVENT_TYPE", m->event_type);
}

static int
add_var(struct buf *b, size_t *n, const char *name, const char *value)
{
	size_t	 at, i;

	if (buf_addf(b, "%s=", name) == -1)
		return -1;
	at = b->len;
	if (buf_addf(b, "%.*s", PARCEL_VAR_MAX, value) == -1)
		return -1;
	for (i = at; i < b->len; i++)
		if (iscntrl((unsigned char)b->s[i]))
			b->s[i] = '?';
	++*n;
	return buf_add(b, "", 1);
}

/* In the order they came, until it is too much. */
static int
header_vars(struct buf *b, size_t *n, const struct parcel *m)
{
	const char	*s = m->headers, *end;
	size_t		 total = 0;

	for (; s != NULL && *s != '\0'; s = *end == '\0' ? end : end + 1) {
		end = s + strcspn(s, "\n");
		if ((total += (size_t)(end - s)) > PARCEL_ENV_MAX)
			break;
		if (buf_addf(b, "HOOK_HEADER_%.*s", (int)(end - s), s) == -1 ||
		    buf_add(b, "", 1) == -1)
			return -1;
		++*n;
	}
	return 0;
}

int
parcel_line(const struct parcel *m, const char *source, struct buf *b)
{
	if (buf_addf(b, "{\"id\":%" PRId64 ",\"source\":", m->id) == -1 ||
	    string_or_null(b, source) == -1 ||
	    buf_adds(b, ",\"message_id\":") == -1 ||
	    string_or_null(b, m->message_id) == -1 ||
	    buf_adds(b, ",\"event_type\":") == -1 ||
	    string_or_null(b, m->event_type) == -1 ||
	    buf_addf(b, ",\"attempt\":%d,\"received_at\":", m->attempts) ==
	    -1 || string_or_null(b, m->received_at) == -1 ||
	    add_headers(b, m) == -1 || add_body(b, m) == -1)
		return -1;
	return buf_adds(b, "}\n");
}

static int
string_or_null(struct buf *b, const char *s)
{
	return s == NULL ? buf_adds(b, "null") : out_string(b, s, strlen(s));
}

static int
add_headers(struct buf *b, const struct parcel *m)
{
	const char	*s = m->headers, *end, *p, *between = "";

	if (buf_adds(b, ",\"headers\":{") == -1)
		return -1;
	for (; s != NULL && *s != '\0'; s = *end == '\0' ? end : end + 1) {
		end = s + strcspn(s, "\n");
		if (buf_addf(b, "%s\"", between) == -1)
			return -1;
		for (p = s; p < end && *p != '='; p++)
			if (buf_addf(b, "%c", *p == '_' ? '-' :
			    tolower((unsigned char)*p)) == -1)
				return -1;
		if (buf_adds(b, "\":") == -1 ||
		    out_string(b, p + 1, (size_t)(end - p - 1)) == -1)
			return -1;
		between = ",";
	}
	return buf_adds(b, "}");
}

/*
 * JSON as it stands, but in one line: a line break in JSON is only ever
 * white space.
 */
static int
add_body(struct buf *b, const struct parcel *m)
{
	size_t	 at, i;

	if (!m->is_json)
		return buf_adds(b, ",\"body_base64\":\"") == -1 ||
		    base64_add(b, m->body, m->len) == -1 ||
		    buf_adds(b, "\"") == -1 ? -1 : 0;
	if (buf_adds(b, ",\"body\":") == -1)
		return -1;
	at = b->len;
	if (buf_add(b, m->body, m->len) == -1)
		return -1;
	for (i = at; i < b->len; i++)
		if (b->s[i] == '\n' || b->s[i] == '\r')
			b->s[i] = ' ';
	return 0;
}

int
parcel_input(const struct parcel *m, const char *source, int batch)
{
	struct buf	 b = BUF_INIT(LINES_MAX);
	int		 fd = -1;

	if (!batch)
		return parcel_file(m->body, m->len);
	for (; m != NULL; m = m->next)
		if (parcel_line(m, source, &b) == -1)
			goto out;
	fd = parcel_file(b.s, b.len);
out:
	buf_free(&b);
	return fd;
}

int
parcel_file(const void *s, size_t len)
{
	size_t	 done = 0;
	ssize_t	 n;
	int	 fd, saved;

	if ((fd = memfd_create("message", MFD_CLOEXEC)) == -1)
		return -1;
	while (done < len) {
		n = write(fd, (const char *)s + done, len - done);
		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0)
			goto failed;
		done += (size_t)n;
	}
	if (lseek(fd, 0, SEEK_SET) == 0)
		return fd;
failed:
	saved = errno;
	close(fd);
	errno = saved;
	return -1;
}
