/*
 * hook-sign: print the signature headers of the body on standard input.
 *
 * A filter for scripts and tests: "hook-sign ... <body | curl -H @- ..."
 * sends what hook-deliver would.  Needs no database.
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
#include "opt.h"
#include "secret.h"
#include "sign.h"

#define BODY_MAX	(64 * 1024 * 1024)	/* bytes */
#define KEYS_MAX	16

static void	 new_id(char *, size_t);
static _Noreturn void usage(int);

int
main(int argc, char *argv[])
{
	struct buf			 body = BUF_INIT(BODY_MAX);
	struct buf			 lines = BUF_INIT(65536);
	struct sign_message		 m = { 0 };
	const struct sign_scheme	*scheme = NULL;
	struct sign_key			*key[KEYS_MAX];
	const char			*path[KEYS_MAX] = { NULL };
	const char			*id = NULL, *why;
	char				 made[64];
	int64_t				 now = time(NULL);
	size_t				 i, nkey = 0;
	int				 ch;

	opterr = 0;
	while ((ch = getopt(argc, argv, "N:Vhi:k:s:")) != -1)
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
		case 's':
			if ((scheme = sign_scheme(optarg)) == NULL)
				errx(EX_USAGE, "-s %s: no such scheme",
				    optarg);
			break;
		default:
			usage(EX_USAGE);
		}
	if (optind != argc || scheme == NULL)
		usage(EX_USAGE);

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
	if (id == NULL) {
		new_id(made, sizeof(made));
		id = made;
	}
	m.body = body.s;
	m.body_len = body.len;
	if (sign_make(scheme, key, nkey, id, now, &m, &lines) == -1)
		errx(EX_SOFTWARE, "can't sign");
	if (fwrite(lines.s, 1, lines.len, stdout) != lines.len ||
	    fflush(stdout) == EOF)
		err(EX_TEMPFAIL, "standard output");

	for (i = 0; i < nkey; i++)
		sign_key_free(key[i]);
	buf_free(&lines);
	buf_free(&body);
	return EX_OK;
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
usage(int status)
{
	fprintf(status == EX_OK ? stdout : stderr, "usage: %s [-hV]"
	    " [-i id] [-k secret-file]... [-N unixtime] -s scheme\n",
	    getprogname());
	exit(status);
}
