/*
 * hook-sign: print the signature headers of the body on standard input.
 *
 * A filter for scripts and tests: "hook-sign ... <body | curl -H @- ..."
 * sends what hook-deliver would, or what Stripe, GitHub and others do.  Where
 * a scheme's signature stands in the body, the signed body is printed.  Needs
 * no database.
 */
#include <openssl/rand.h>
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "base64.h"
#include "buf.h"
#include "config.h"
#include "facts.h"
#include "message.h"
#include "opt.h"
#include "out.h"
#include "secret.h"
#include "sign.h"

#define BODY_MAX	(64 * 1024 * 1024)	/* bytes */
#define KEYS_MAX	16

static void	 print(const struct buf *);
static void	 new_id(char *, size_t);
static _Noreturn void list(enum out_form);
static _Noreturn void usage(int);

int
main(int argc, char *argv[])
{
	struct buf			 body = BUF_INIT(BODY_MAX);
	struct buf			 lines = BUF_INIT(2 * BODY_MAX);
	struct sign_message		 m = { 0 };
	const struct sign_scheme	*scheme = NULL;
	struct sign_key			*key[KEYS_MAX];
	const char			*path[KEYS_MAX] = { NULL };
	const char			*id = NULL, *why;
	enum out_form			 form = OUT_AUTO;
	char				 made[64];
	int64_t				 now = time(NULL);
	size_t				 i, nkey = 0;
	int				 ch, listing = 0;

	opterr = 0;
	while ((ch = getopt(argc, argv, "N:Vhi:k:lm:o:s:u:")) != -1)
		switch (ch) {
		case 'N':
			if (opt_int(optarg, 1, SIGN_TIME_MAX, &now,
			    &why) == -1)
				errx(EX_USAGE, "-N %s: %s", optarg, why);
			break;
		case 'V':
			puts(VERSION);
			return EX_OK;
		case 'h':
			usage(EX_OK);
		case 'i':
			if (!sign_id(id = optarg))
				errx(EX_USAGE, "-i: an id is 1 to 64 "
				    "letters, digits, _ and -");
			break;
		case 'k':
			if (nkey == KEYS_MAX)
				errx(EX_USAGE, "-k %s: too many", optarg);
			path[nkey++] = optarg;
			break;
		case 'l':
			listing = 1;
			break;
		case 'm':
			m.method = optarg;
			break;
		case 'o':
			if (out_form(optarg, &form) == -1)
				usage(EX_USAGE);
			break;
		case 's':
			if ((scheme = sign_scheme(optarg)) == NULL)
				errx(EX_USAGE, "-s %s: no such scheme; -l "
				    "lists them", optarg);
			break;
		case 'u':
			m.url = optarg;
			break;
		default:
			usage(EX_USAGE);
		}
	if (optind == argc && listing)
		list(form);
	if (optind != argc || scheme == NULL)
		usage(EX_USAGE);

	if (message_signs_url(scheme) && (m.url == NULL || *m.url == '\0'))
		errx(EX_USAGE, "-s %s signs the URL: -u",
		    sign_scheme_name(scheme));
	if (nkey > 1 && !message_many_signatures(scheme))
		errx(EX_USAGE, "-s %s has room for one signature, so for one "
		    "-k", sign_scheme_name(scheme));
	if (nkey == 0) {
		if (getenv("HOOK_SECRET") == NULL)
			errx(EX_USAGE, "no secret: -k or HOOK_SECRET");
		nkey = 1;	/* path[0] is NULL: HOOK_SECRET */
	}
	for (i = 0; i < nkey; i++)
		if ((key[i] = secret_key(path[i], scheme, 1, &why)) == NULL)
			errx(EX_DATAERR, "%s: %s", path[i] == NULL ?
			    "HOOK_SECRET" : path[i], why);
	if (buf_readall(&body, STDIN_FILENO) == -1)
		err(errno == EFBIG ? EX_DATAERR : EX_TEMPFAIL,
		    "standard input");
	if (id == NULL && message_needs_id(scheme)) {
		new_id(made, sizeof(made));
		id = made;
	}
	m.body = body.s;
	m.body_len = body.len;
	if (sign_make(scheme, key, nkey, id, now, &m, &lines) == -1) {
		if (message_signed_inside(scheme))
			errx(EX_DATAERR, "standard input: no JSON that %s "
			    "signs, or signed already",
			    sign_scheme_name(scheme));
		errx(EX_SOFTWARE, "can't sign");
	}
	print(&lines);

	for (i = 0; i < nkey; i++)
		sign_key_free(key[i]);
	buf_free(&lines);
	buf_free(&body);
	return EX_OK;
}

static void
print(const struct buf *text)
{
	if (fwrite(text->s, 1, text->len, stdout) != text->len ||
	    fflush(stdout) == EOF)
		err(EX_TEMPFAIL, "standard output");
}

/* msg_ and 32 hex digits. */
static void
new_id(char *id, size_t size)
{
	struct buf	 hex = BUF_INIT(64);
	unsigned char	 raw[16];

	if (RAND_bytes(raw, sizeof(raw)) != 1 ||
	    hex_add(&hex, raw, sizeof(raw)) == -1)
		errx(EX_TEMPFAIL, "no random bytes");
	snprintf(id, size, "msg_%s", hex.s);
	buf_free(&hex);
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
	print(&text);
	buf_free(&text);
	exit(EX_OK);
}

static _Noreturn void
usage(int status)
{
	fprintf(status == EX_OK ? stdout : stderr, "usage: %s [-hV]"
	    " [-i id] [-k secret-file]... [-m method] [-N unixtime]"
	    " [-u url] -s scheme | -l [-o table|json]\n", getprogname());
	exit(status);
}
