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
#include "cgi.h"
#include "config.h"
#include "facts.h"
#include "hint.h"
#include "message.h"
#include "opt.h"
#include "out.h"
#include "secret.h"
#include "sign.h"

#define BODY_MAX	(64 * 1024 * 1024)	/* bytes */
#define KEYS_MAX	16
#define OTHERS_MAX	64
#define HEADERS_MAX	512
#define URL_MAX		65536			/* bytes */
#define TOLERANCE_MAX	(INT64_C(366) * 86400 * 1000)	/* ms */

/* Secrets: those that will do, and those that a hint names. */
struct secrets {
	const char		*path[KEYS_MAX];	/* NULL: HOOK_SECRET */
	struct buf		 text[KEYS_MAX];
	const char		*string[KEYS_MAX];
	struct sign_key		*key[KEYS_MAX];
	size_t			 n;
	struct hint_other	 other[OTHERS_MAX];
	size_t			 nother;
};

static struct sign_header	 header[HEADERS_MAX];
static size_t			 nheader;

static void	 read_secrets(struct secrets *, const struct sign_scheme *);
static void	 free_secrets(struct secrets *);
static void	 explain(const struct hint *, const char *);
static void	 add_headers(char *);
static void	 add_header(const char *, const char *);
static void	 add_cgi(struct hint *, struct buf *);
static int64_t	 tolerance_of(const char *);
static void	 read_body(struct buf *, int);
static _Noreturn void list(enum out_form);
static _Noreturn void usage(int);

int
main(int argc, char *argv[])
{
	struct buf	 body = BUF_INIT(BODY_MAX), url = BUF_INIT(URL_MAX);
	struct hint	 v = { 0 };
	struct secrets	 k = { 0 };
	const char	*why;
	enum out_form	 form = OUT_AUTO;
	int64_t		 tolerance = -2;	/* the scheme's */
	int		 ch, bad, cgi = 0, quiet = 0, listing = 0;

	v.now = time(NULL);
	opterr = 0;
	while ((ch = getopt(argc, argv, "H:K:N:Vehk:lm:o:qs:t:u:")) != -1)
		switch (ch) {
		case 'H':
			add_headers(optarg);
			break;
		case 'K':
			if (k.nother == OTHERS_MAX)
				errx(EX_USAGE, "-K %s: too many", optarg);
			k.other[k.nother++].name = optarg;
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
			if (k.n == KEYS_MAX)
				errx(EX_USAGE, "-k %s: too many", optarg);
			k.path[k.n++] = optarg;
			break;
		case 'l':
			listing = 1;
			break;
		case 'm':
			v.message.method = optarg;
			break;
		case 'o':
			if (out_form(optarg, &form) == -1)
				usage(EX_USAGE);
			break;
		case 'q':
			quiet = 1;
			break;
		case 's':
			if ((v.scheme = sign_scheme(optarg)) == NULL)
				errx(EX_USAGE, "-s %s: no such scheme; -l "
				    "lists them", optarg);
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
	if (optind == argc && listing)
		list(form);
	if (optind != argc || v.scheme == NULL)
		usage(EX_USAGE);

	v.tolerance = tolerance == -2 ? sign_scheme_tolerance(v.scheme) :
	    tolerance;
	if (message_signs_url(v.scheme) && v.message.url == NULL && !cgi)
		errx(EX_USAGE, "-s %s signs the URL: -u, or -e",
		    sign_scheme_name(v.scheme));
	read_secrets(&k, v.scheme);
	if (cgi)
		add_cgi(&v, &url);
	read_body(&body, cgi);
	v.key = k.key;
	v.nkey = v.nsecret = k.n;
	v.secret = k.string;
	v.other = k.other;
	v.nother = k.nother;
	v.message.header = header;
	v.message.nheader = nheader;
	v.message.body = body.s;
	v.message.body_len = body.len;

	bad = sign_check(v.scheme, v.key, v.nkey, &v.message, v.now,
	    v.tolerance, NULL, &why);
	if (bad && !quiet)
		explain(&v, why);
	if (!bad && !quiet && (fwrite(body.s, 1, body.len, stdout) !=
	    body.len || fflush(stdout) == EOF))
		err(EX_TEMPFAIL, "standard output");

	free_secrets(&k);
	buf_free(&url);
	buf_free(&body);
	return bad ? 1 : EX_OK;
}

/* All at first, so that a mistake is told before anything is read. */
static void
read_secrets(struct secrets *k, const struct sign_scheme *scheme)
{
	const char	*why, *name;
	size_t		 i;

	if (k->n == 0) {
		if (getenv("HOOK_SECRET") == NULL)
			errx(EX_USAGE, "no secret: -k or HOOK_SECRET");
		k->n = 1;
	}
	for (i = 0; i < k->n; i++) {
		name = k->path[i] == NULL ? "HOOK_SECRET" : k->path[i];
		k->text[i].max = SECRET_MAX;
		if (secret_read(k->path[i], &k->text[i], &why) == -1)
			errx(EX_DATAERR, "%s: %s", name, why);
		k->string[i] = k->text[i].s;
		if ((k->key[i] = sign_key(scheme, k->text[i].s, 0, &why)) ==
		    NULL)
			errx(EX_DATAERR, "%s: %s", name, why);
	}
	for (i = 0; i < k->nother; i++) {
		k->other[i].scheme = scheme;
		if ((k->other[i].key = secret_key(k->other[i].name, scheme, 0,
		    &why)) == NULL)
			errx(EX_DATAERR, "%s: %s", k->other[i].name, why);
	}
}

static void
free_secrets(struct secrets *k)
{
	size_t	 i;

	for (i = 0; i < k->n; i++) {
		sign_key_free(k->key[i]);
		buf_wipe(&k->text[i]);
	}
	for (i = 0; i < k->nother; i++)
		sign_key_free(k->other[i].key);
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

/* What -u and -m say goes before what the server saw. */
static void
add_cgi(struct hint *v, struct buf *url)
{
	int	 n;

	if ((n = cgi_headers(header + nheader, HEADERS_MAX - nheader)) == -1)
		err(errno == E2BIG ? EX_DATAERR : EX_TEMPFAIL,
		    "headers of the request");
	nheader += (size_t)n;
	if (v->message.method == NULL)
		v->message.method = getenv("REQUEST_METHOD");
	if (v->message.url == NULL) {
		if ((n = cgi_url(url)) == -1)
			err(EX_DATAERR, "URL of the request");
		v->message.url = n == 1 ? url->s : NULL;
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
list(enum out_form form)
{
	struct buf	 text = BUF_INIT(1024 * 1024);

	if (form == OUT_AUTO)
		form = isatty(STDOUT_FILENO) ? OUT_TABLE : OUT_JSON;
	if ((form == OUT_TABLE ? facts_table(&text) : facts_json(&text)) ==
	    -1)
		err(EX_TEMPFAIL, NULL);
	if (fwrite(text.s, 1, text.len, stdout) != text.len ||
	    fflush(stdout) == EOF)
		err(EX_TEMPFAIL, "standard output");
	buf_free(&text);
	exit(EX_OK);
}

static _Noreturn void
usage(int status)
{
	fprintf(status == EX_OK ? stdout : stderr, "usage: %s [-ehqV]"
	    " [-H 'Name: value']... [-K secret-file]... [-k secret-file]..."
	    " [-m method] [-N unixtime] [-t tolerance] [-u url] -s scheme |"
	    " -l [-o table|json]\n", getprogname());
	exit(status);
}
