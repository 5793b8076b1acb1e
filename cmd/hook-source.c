/*
 * hook-source: whom hook-receive takes messages from, and their secrets.
 *
 * Each change is one transaction with its row in webhook_audit; what is wrong
 * with it is said in one line, and then nothing was changed.  A secret that
 * was made here is printed once; one that was given is never printed.
 */
#include <err.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "config.h"
#include "hide.h"
#include "opt.h"
#include "out.h"
#include "secret.h"
#include "sources.h"
#include "srcdo.h"
#include "stmt.h"

#define GRACE_MAX_MS	(INT64_C(365) * 86400 * 1000)
#define TOLERANCE_MAX_MS (INT64_C(30) * 86400 * 1000)

#define COMMON		"Vd:h"
#define CHANGING	COMMON "a:m:n"
#define SETTINGS	CHANGING "c:t:u:"

enum { OPT_NO_UNPACK = 256, OPT_UNPACK };

struct command {
	const char	*name;
	void		(*run)(const char *);
	const char	*letters;	/* of its options */
	int		 unpack, no_unpack;	/* those too */
	int		 args;		/* 0 or 1 name */
	const char	*usage;
};

static void	 add(const char *);
static void	 list(const char *);
static void	 rm(const char *);
static void	 rotate(const char *);
static void	 set(const char *);
static void	 show(const char *);

static const struct option	 word_option[] = {
	{ "no-unpack", no_argument, NULL, OPT_NO_UNPACK },
	{ "unpack", no_argument, NULL, OPT_UNPACK },
	{ NULL, 0, NULL, 0 }
};

static const struct command	 command[] = {
	{ "add", add, SETTINGS "k:s:", 1, 0, 1,
	    "-s scheme [-n] [-a who] [-c word-file] [-d conninfo]"
	    " [-k secret-file]... [-m why] [-t tolerance] [-u public-url]"
	    " [--unpack] name" },
	{ "list", list, COMMON "o:", 0, 0, 0,
	    "[-d conninfo] [-o table|json]" },
	{ "rm", rm, CHANGING, 0, 0, 1,
	    "[-n] [-a who] [-d conninfo] [-m why] name" },
	{ "rotate", rotate, CHANGING "g:k:", 0, 0, 1,
	    "[-n] [-a who] [-d conninfo] [-g grace] [-k secret-file]..."
	    " [-m why] name" },
	{ "set", set, SETTINGS, 1, 1, 1,
	    "[-n] [-a who] [-c word-file] [-d conninfo] [-m why]"
	    " [-t tolerance] [-u public-url] [--unpack | --no-unpack] name" },
	{ "show", show, COMMON, 0, 0, 1, "[-d conninfo] name" },
	{ NULL, NULL, NULL, 0, 0, 0,
	    "add | list | rm | rotate | set | show ..." }
};

static const struct command	*cmd;
static const char	*conninfo, *word_file, *secret_file[SOURCE_KEYS];
static size_t		 nsecret;
static int		 made;		/* secret[0], by us */
static enum out_form	 form;
static int64_t		 grace_ms = INT64_C(24) * 3600 * 1000;
static struct srcopt	 settings;
static struct buf	 secret[SOURCE_KEYS];
static char		*secret_text[SOURCE_KEYS];
static struct buf	 word = BUF_INIT(SECRET_MAX);
static struct db	 db = DB_INIT;
static struct srcdo	 doing = { .db = &db };

static void	 connect_db(void);
static void	 option(int);
static void	 print_row(void);
static void	 read_secrets(const struct sign_scheme *);
static void	 read_word(void);
static void	 secret_option(const char *);
static const char *tolerance_of(const char *);
static _Noreturn void	 usage(int);

int
main(int argc, char *argv[])
{
	size_t	 i;
	int	 ch;

	cmd = &command[sizeof(command) / sizeof(*command) - 1];
	if (argc > 1 && strcmp(argv[1], "-h") == 0)
		usage(EX_OK);
	if (argc > 1 && strcmp(argv[1], "-V") == 0) {
		puts(VERSION);
		return EX_OK;
	}
	if (argc < 2)
		usage(EX_USAGE);
	for (cmd = command; cmd->name != NULL; cmd++)
		if (strcmp(cmd->name, argv[1]) == 0)
			break;
	if (cmd->name == NULL)
		usage(EX_USAGE);

	opterr = 0;
	argv[1] = argv[0];
	argc--;
	argv++;
	while ((ch = getopt_long(argc, argv, cmd->letters, word_option,
	    NULL)) != -1)
		option(ch);
	argc -= optind;
	argv += optind;
	if (argc != cmd->args)
		usage(EX_USAGE);
	if (cmd->args == 1 && !srcdo_name(argv[0]))
		errx(EX_USAGE, "%s: not a name: 64 letters, digits, '.', '_'"
		    " and '-' at most, beginning with a letter or digit",
		    argv[0]);
	doing.who = opt_actor(doing.who);
	if (!opt_utf8(doing.who, strlen(doing.who)) ||
	    opt_control(doing.who, strlen(doing.who)) ||
	    (doing.reason != NULL && (!opt_utf8(doing.reason,
	    strlen(doing.reason)) || opt_control(doing.reason,
	    strlen(doing.reason)))))
		errx(EX_DATAERR, "-a, -m: control character or invalid"
		    " UTF-8");

	cmd->run(argv[0]);
	if (fflush(stdout) == EOF)
		warn("standard output");
	if (doing.dry_run)
		warnx("dry run: nothing was changed");
	db_close(&db);
	for (i = 0; i < SOURCE_KEYS; i++)
		buf_wipe(&secret[i]);
	buf_wipe(&word);
	seal_wipe(&doing.seal);
	return EX_OK;
}

static void
option(int ch)
{
	const char	*why;

	if ((ch == OPT_UNPACK && !cmd->unpack) ||
	    (ch == OPT_NO_UNPACK && !cmd->no_unpack))
		usage(EX_USAGE);
	switch (ch) {
	case 'V':
		puts(VERSION);
		exit(EX_OK);
	case 'a':
		doing.who = optarg;
		break;
	case 'c':
		word_file = optarg;
		break;
	case 'd':
		conninfo = hide_arg(optarg);
		break;
	case 'g':
		if (opt_duration(optarg, 0, GRACE_MAX_MS, &grace_ms,
		    &why) == -1)
			errx(EX_USAGE, "-g %s: %s", optarg, why);
		break;
	case 'h':
		usage(EX_OK);
	case 'k':
		secret_option(optarg);
		break;
	case 'm':
		doing.reason = optarg;
		break;
	case 'n':
		doing.dry_run = 1;
		break;
	case 'o':
		if (out_form(optarg, &form) == -1)
			errx(EX_USAGE, "-o %s: not table or json", optarg);
		break;
	case 's':
		if ((settings.scheme = sign_scheme(optarg)) == NULL)
			errx(EX_USAGE, "-s %s: no such scheme", optarg);
		break;
	case 't':
		settings.tolerance = tolerance_of(optarg);
		break;
	case 'u':
		if (*optarg != '\0' && srcdo_url(optarg, &why) == -1)
			errx(EX_USAGE, "-u %s: %s", optarg, why);
		settings.public_url = optarg;
		break;
	case OPT_NO_UNPACK:
		settings.unpack = "f";
		break;
	case OPT_UNPACK:
		settings.unpack = "t";
		break;
	default:
		usage(EX_USAGE);
	}
}

static void
secret_option(const char *path)
{
	if (nsecret == SOURCE_KEYS)
		errx(EX_USAGE, "-k %s: too many", path);
	secret_file[nsecret++] = path;
}

static void
add(const char *name)
{
	if (settings.scheme == NULL)
		usage(EX_USAGE);
	if (settings.tolerance != NULL &&
	    strcmp(settings.tolerance, "-2") == 0)
		settings.tolerance = NULL;
	if (settings.public_url != NULL && *settings.public_url == '\0')
		settings.public_url = NULL;
	read_secrets(settings.scheme);
	read_word();
	connect_db();
	if (srcdo_add(&doing, name, &settings, secret_text, nsecret,
	    word.s) == -1)
		errx(doing.code, "%s", doing.why);
	print_row();
}

static void
set(const char *name)
{
	read_word();
	connect_db();
	if (srcdo_set(&doing, name, &settings, word.s) == -1)
		errx(doing.code, "%s", doing.why);
	print_row();
}

static void
rotate(const char *name)
{
	const struct sign_scheme	*scheme;

	connect_db();
	if ((scheme = srcdo_scheme(&doing, name)) == NULL)
		errx(doing.code, "%s", doing.why);
	read_secrets(scheme);
	if (srcdo_rotate(&doing, name, grace_ms, secret_text, nsecret) == -1)
		errx(doing.code, "%s", doing.why);
	print_row();
}

static void
rm(const char *name)
{
	connect_db();
	if (srcdo_rm(&doing, name) == -1)
		errx(doing.code, "%s", doing.why);
	print_row();
}

static void
list(const char *name)
{
	(void)name;
	connect_db();
	if (db_run(&db, &stmt_source_list, 0, NULL) == -1)
		errx(db_exitcode(&db), "%s", db_error(&db));
	if (out_rows(&db, form) == -1)
		err(EX_TEMPFAIL, "standard output");
}

static void
show(const char *name)
{
	connect_db();
	if (srcdo_show(&doing, name) == -1)
		errx(doing.code, "%s", doing.why);
	print_row();
}

/* Those of -k, that of HOOK_SECRET, or a new one; each fit for the scheme. */
static void
read_secrets(const struct sign_scheme *scheme)
{
	struct sign_key	*key;
	const char	*why, *from;
	size_t		 i;

	for (i = 0; i < SOURCE_KEYS; i++)
		secret[i].max = SECRET_MAX;
	if (nsecret == 0 && getenv("HOOK_SECRET") == NULL) {
		if (sign_new_secret(0, &secret[0]) == -1)
			errx(EX_TEMPFAIL, "no random bytes");
		made = 1;
	}
	if (nsecret == 0)
		nsecret = 1;	/* secret_file[0] is NULL: HOOK_SECRET */
	for (i = 0; i < nsecret; i++) {
		from = secret_file[i] == NULL ? "HOOK_SECRET" :
		    secret_file[i];
		if (!made && secret_read(secret_file[i], &secret[i],
		    &why) == -1)
			errx(EX_DATAERR, "%s: %s", from, why);
		if ((key = sign_key(scheme, secret[i].s, 0, &why)) == NULL)
			errx(EX_DATAERR, "%s: %s", made ?
			    "no -k, and a secret can't be made" : from, why);
		sign_key_free(key);
		secret_text[i] = secret[i].s;
	}
}

static void
read_word(void)
{
	const char	*why;

	if (word_file != NULL && secret_read(word_file, &word, &why) == -1)
		errx(EX_DATAERR, "-c %s: %s", word_file, why);
}

static void
print_row(void)
{
	struct buf	 more = BUF_INIT(4 * SECRET_MAX);

	if (made && !doing.dry_run && (buf_adds(&more, "\"secret\":") == -1 ||
	    out_string(&more, secret[0].s, secret[0].len) == -1))
		warnx("out of memory");
	if (out_row_more(&db, 0, more.s) == -1)
		warn("standard output");
	buf_wipe(&more);
}

static void
connect_db(void)
{
	const char	*why;

	if (seal_load(&doing.seal, &why) == -1)
		errx(EX_UNAVAILABLE, "HOOK_KEY_FILE: %s", why);
	if (db_open(&db, conninfo, getprogname()) == -1)
		errx(db_exitcode(&db), "%s", db_error(&db));
}

/* In seconds, as the database has it; "off", "" for the scheme's own. */
static const char *
tolerance_of(const char *s)
{
	static char	 text[24];
	const char	*why;
	int64_t		 ms;

	if (strcmp(s, "off") == 0)
		return "-1";
	if (*s == '\0')
		return "-2";
	if (opt_duration(s, 0, TOLERANCE_MAX_MS, &ms, &why) == -1)
		errx(EX_USAGE, "-t %s: %s", s, why);
	snprintf(text, sizeof(text), "%" PRId64, ms / 1000);
	return text;
}

static _Noreturn void
usage(int code)
{
	const struct command	*c;

	if (code != EX_OK) {
		fprintf(stderr, "usage: %s %s%s%s\n", getprogname(),
		    cmd->name == NULL ? "" : cmd->name,
		    cmd->name == NULL ? "" : " ", cmd->usage);
		exit(code);
	}
	for (c = command; c->name != NULL; c++)
		if (cmd->name == NULL || cmd == c)
			printf("usage: %s %s %s\n", getprogname(), c->name,
			    c->usage);
	exit(code);
}
