/*
 * hook-verify: pass the body on standard input on, if its signature is good.
 *
 * Nothing is written before all is checked, so what stands behind it in a
 * pipe sees a good body or none.  A no never tells what would have been
 * right; the hint on standard error says what the likely cause is.
 */
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "buf.h"
#include "config.h"
#include "hint.h"
#include "opt.h"
#include "secret.h"
#include "sign.h"

#define BODY_MAX	(64 * 1024 * 1024)	/* bytes */
#define KEYS_MAX	16
#define HEADERS_MAX	512
#define TOLERANCE_MAX	(INT64_C(366) * 86400 * 1000)	/* ms */

static struct sign_header	 header[HEADERS_MAX];
static size_t			 nheader;

static void	 explain(const struct hint *, const char *);
static void	 add_headers(char *);
static void	 add_header(const char *, const char *);
static void	 add_cgi(void);
static int64_t	 tolerance_of(const char *);
static void	 read_body(struct buf *, int);
static _Noreturn void usage(int);

int
main(int argc, char *argv[])
{
	struct buf			 body = BUF_INIT(BODY_MAX);
	struct hint			 v = { 0 };
	struct sign_key			*key[KEYS_MAX];
	const char			*path[KEYS_MAX] = { NULL }, *why;
	int64_t				 tolerance = -2;	/* scheme's */
	size_t				 i;
	int				 ch, bad, cgi = 0, quiet = 0;

	v.now = time(NULL);
	opterr = 0;
	while ((ch = getopt(argc, argv, "H:N:Vehk:m:qs:t:u:")) != -1)
		switch (ch) {
		case 'H':
			add_headers(optarg);
			break;
		case 'N':
			if (opt_int(optarg, 0, SIGN_TIME_MAX, &v.now,
			    &why) == -1)
				errx(EX_USAGE, "-N %s: %s", optarg, why);
			break;
		case 'V':
			puts(VERSION);
			return EX_OK;
		case 'e':
			cgi = 1;
			break;
		case 'h':
			usage(EX_OK);
		case 'k':
			if (v.nkey == KEYS_MAX)
				errx(EX_USAGE, "-k %s: too many", optarg);
			path[v.nkey++] = optarg;
			break;
		case 'm':
			v.message.method = optarg;
			break;
		case 'q':
			quiet = 1;
			break;
		case 's':
			if ((v.scheme = sign_scheme(optarg)) == NULL)
				errx(EX_USAGE, "-s %s: no such scheme",
				    optarg);
			break;
		case 't':
			tolerance = tolerance_of(optarg);
			break;
		case 'u':
			v.message.url = optarg;
			break;
		default:
			usage(EX_USAGE);
		}
	if (optind != argc || v.scheme == NULL)
		usage(EX_USAGE);

	v.tolerance = tolerance == -2 ? sign_scheme_tolerance(v.scheme) :
	    tolerance;
	if (v.nkey == 0) {
		if (getenv("HOOK_SECRET") == NULL)
			errx(EX_USAGE, "no secret: -k or HOOK_SECRET");
		v.nkey = 1;	/* path[0] is NULL: HOOK_SECRET */
	}
	for (i = 0; i < v.nkey; i++)
		if ((key[i] = secret_key(path[i], v.scheme, 0, &why)) == NULL)
			errx(EX_DATAERR, "%s: %s", path[i] == NULL ?
			    "HOOK_SECRET" : path[i], why);
	if (cgi) {
		add_cgi();
		if (v.message.method == NULL)
			v.message.method = getenv("REQUEST_METHOD");
	}
	read_body(&body, cgi);
	v.key = key;
	v.message.header = header;
	v.message.nheader = nheader;
	v.message.body = body.s;
	v.message.body_len = body.len;

	bad = sign_check(v.scheme, key, v.nkey, &v.message, v.now,
	    v.tolerance, NULL, &why);
	if (bad && !quiet)
		explain(&v, why);
	if (!bad && !quiet && (fwrite(body.s, 1, body.len, stdout) !=
	    body.len || fflush(stdout) == EOF))
		err(EX_TEMPFAIL, "standard output");

	for (i = 0; i < v.nkey; i++)
		sign_key_free(key[i]);
	buf_free(&body);
	return bad ? 1 : EX_OK;
}

static void
explain(const struct hint *h, const char *why)
{
	struct buf	 hint = BUF_INIT(1024);

	if (hint_add(h, why, &hint) == -1)
		warn(NULL);
	warnx("%s%s", why, hint.s == NULL ? "" : hint.s);
	buf_free(&hint);
}

/* One header a line, in place; what hook-sign printed may be given whole. */
static void
add_headers(char *text)
{
	char	*line, *value, *end;

	while ((line = strsep(&text, "\n")) != NULL) {
		end = line + strlen(line);
		while (end > line && strchr(" \t\r", end[-1]) != NULL)
			*--end = '\0';
		if (*line == '\0')
			continue;
		if ((value = strchr(line, ':')) == NULL || value == line)
			errx(EX_USAGE, "-H %s: not 'Name: value'", line);
		*value++ = '\0';
		add_header(line, value + strspn(value, " \t"));
	}
}

static void
add_header(const char *name, const char *value)
{
	if (nheader == HEADERS_MAX)
		errx(EX_DATAERR, "more than %d headers", HEADERS_MAX);
	header[nheader].name = name;
	header[nheader++].value = value;
}

/* HTTP_WEBHOOK_ID=... is webhook-id, RFC 3875 4.1.18. */
static void
add_cgi(void)
{
	char	**env, *name, *p, *eq;

	for (env = environ; *env != NULL; env++) {
		if (strncmp(*env, "HTTP_", 5) != 0 ||
		    (eq = strchr(*env, '=')) == NULL)
			continue;
		if ((name = strndup(*env + 5, (size_t)(eq - *env) - 5)) ==
		    NULL)
			err(EX_TEMPFAIL, NULL);
		for (p = name; *p != '\0'; p++)
			if (*p == '_')
				*p = '-';
		add_header(name, eq + 1);
	}
}

static int64_t
tolerance_of(const char *s)
{
	const char	*why;
	int64_t		 ms;

	if (strcmp(s, "off") == 0)
		return SIGN_NO_TOLERANCE;
	if (opt_duration(s, 0, TOLERANCE_MAX, &ms, &why) == -1)
		errx(EX_USAGE, "-t %s: %s", s, why);
	return ms / 1000;
}

/* All of standard input; of a CGI request the bytes it says. */
static void
read_body(struct buf *body, int cgi)
{
	const char	*length = cgi ? getenv("CONTENT_LENGTH") : NULL, *why;
	int64_t		 want;
	ssize_t		 n;

	if (length == NULL || *length == '\0') {
		if (buf_readall(body, STDIN_FILENO) == -1)
			err(errno == EFBIG ? EX_DATAERR : EX_TEMPFAIL,
			    "standard input");
		return;
	}
	if (opt_int(length, 0, BODY_MAX, &want, &why) == -1)
		errx(EX_DATAERR, "CONTENT_LENGTH: %s", why);
	if (buf_room(body, (size_t)want) == -1)
		err(EX_TEMPFAIL, "standard input");
	while (body->len < (size_t)want) {
		n = read(STDIN_FILENO, body->s + body->len,
		    (size_t)want - body->len);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			err(EX_TEMPFAIL, "standard input");
		if (n == 0)
			errx(EX_DATAERR, "standard input: shorter than "
			    "CONTENT_LENGTH");
		body->len += (size_t)n;
	}
	body->s[body->len] = '\0';
}

static _Noreturn void
usage(int status)
{
	fprintf(status == EX_OK ? stdout : stderr, "usage: %s [-ehqV]"
	    " [-H 'Name: value']... [-k secret-file]... [-m method]"
	    " [-N unixtime] [-t tolerance] [-u url] -s scheme\n",
	    getprogname());
	exit(status);
}
