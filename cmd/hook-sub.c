/*
 * hook-sub: subscriptions and their secrets, by hand.
 *
 * Each change is one transaction with its row in webhook_audit; what is wrong
 * with it is said in one line, and then nothing was changed.  Secrets are
 * printed by add, rotate and show --secret, and by nothing else.
 */
#include <err.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "await.h"
#include "config.h"
#include "db.h"
#include "hide.h"
#include "ids.h"
#include "opt.h"
#include "out.h"
#include "secret.h"
#include "stmt.h"
#include "subdo.h"
#include "subkey.h"
#include "subopt.h"

#define MORE_MAX	(1024 * 1024)	/* bytes of JSON beside a row */
#define GRACE_MAX_MS	(INT64_C(365) * 86400 * 1000)
#define WAIT_MAX_MS	(INT64_C(3600) * 1000)
#define TEST_PAYLOAD	"{\"message\":\"A test of this endpoint.\"}"

#define COMMON		"Vd:h"
#define CHANGING	COMMON "m:nu:"
#define SETTINGS	CHANGING "4D:H:LOS:T:b:c:e:f:r:v:w:x:"

enum {
	OPT_ED25519 = 256, OPT_NAME, OPT_NO_4XX, OPT_NO_LEGACY,
	OPT_NO_ORDERED, OPT_SECRET
};

struct command {
	const char	*name;
	void		(*run)(int, char *[]);
	const char	*letters;	/* of its options */
	unsigned int	 words;		/* the long ones: MAY() */
	int		 min, max;	/* arguments */
	const char	*usage;
};

static void	 add(int, char *[]);
static void	 change(int, char *[]);
static void	 list(int, char *[]);
static void	 rotate(int, char *[]);
static void	 set(int, char *[]);
static void	 show(int, char *[]);
static void	 test(int, char *[]);

/* The long options, and in which commands they make sense. */
static const struct option	 word[] = {
	{ "ed25519", no_argument, NULL, OPT_ED25519 },
	{ "name", required_argument, NULL, OPT_NAME },
	{ "no-legacy", no_argument, NULL, OPT_NO_LEGACY },
	{ "no-ordered", no_argument, NULL, OPT_NO_ORDERED },
	{ "no-retry-4xx", no_argument, NULL, OPT_NO_4XX },
	{ "secret", no_argument, NULL, OPT_SECRET },
	{ NULL, 0, NULL, 0 }
};
#define MAY(opt)	(1u << ((opt) - OPT_ED25519))

static const struct command	 command[] = {
	{ "add", add, SETTINGS "k:", MAY(OPT_ED25519) | MAY(OPT_NAME), 1, 1,
	    "[-4LOn] [-D deadline] [-H header] [-S schedule] [-T tenant]"
	    " [-b envelope|raw] [-c cap] [-d conninfo] [-e types]"
	    " [-f jsonpath] [-k secret-file] [-m why] [-r rate] [-u who]"
	    " [-v api-version] [-w timeout] [-x jq-file] [--ed25519]"
	    " [--name name] url" },
	{ "list", list, COMMON "T:o:", 0, 0, 0,
	    "[-T tenant] [-d conninfo] [-o table|json]" },
	{ "pause", change, CHANGING, 0, 1, INT_MAX,
	    "[-n] [-d conninfo] [-m why] [-u who] id ... | -" },
	{ "resume", change, CHANGING, 0, 1, INT_MAX,
	    "[-n] [-d conninfo] [-m why] [-u who] id ... | -" },
	{ "rm", change, CHANGING, 0, 1, INT_MAX,
	    "[-n] [-d conninfo] [-m why] [-u who] id ... | -" },
	{ "rotate", rotate, CHANGING "g:k:", MAY(OPT_ED25519), 1, 1,
	    "[-n] [-d conninfo] [-g grace] [-k secret-file] [-m why]"
	    " [-u who] [--ed25519] id" },
	{ "set", set, SETTINGS, MAY(OPT_NAME) | MAY(OPT_NO_4XX) |
	    MAY(OPT_NO_LEGACY) | MAY(OPT_NO_ORDERED), 1, 2,
	    "[options of add but -k --ed25519]"
	    " [--no-legacy] [--no-ordered] [--no-retry-4xx] id [url]" },
	{ "show", show, COMMON, MAY(OPT_SECRET), 1, INT_MAX,
	    "[-d conninfo] [--secret] id ... | -" },
	{ "test", test, CHANGING "w:", 0, 1, 1,
	    "[-n] [-d conninfo] [-m why] [-u who] [-w timeout] id" },
	{ NULL, NULL, NULL, 0, 0, 0, "add | list | pause | resume | rm |"
	    " rotate | set | show | test ..." }
};

static const struct command	*cmd;
static const char	*conninfo, *secret_file;
static int		 ed25519, reveal, status = EX_OK;
static enum out_form	 form;
static int64_t		 grace_ms = INT64_C(24) * 3600 * 1000;
static int64_t		 wait_ms = 30 * 1000;
static struct subopt	 settings;
static struct ids	 ids = IDS_INIT;
static struct subkey	 keys = SUBKEY_INIT;
static struct buf	 secret = BUF_INIT(SECRET_MAX);
static struct buf	 more = BUF_INIT(MORE_MAX);
static struct db	 db = DB_INIT;
static struct subdo	 doing = { .db = &db };

static void	 check_word(const char *, const char *);
static void	 connect_db(void);
static _Noreturn void	 give_up(void);
static void	 new_secret(void);
static const char *one_id(char *[]);
static void	 option(int);
static void	 print_row(int);
static void	 take_ids(int, char *[]);
static _Noreturn void	 usage(int);

int
main(int argc, char *argv[])
{
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

	subopt_init(&settings);
	argv[1] = argv[0];
	argc--;
	argv++;
	while ((ch = getopt_long(argc, argv, cmd->letters, word, NULL)) != -1)
		option(ch);
	argc -= optind;
	argv += optind;
	if (argc < cmd->min || argc > cmd->max)
		usage(EX_USAGE);
	doing.who = opt_actor(doing.who);
	check_word("-u", doing.who);
	check_word("-m", doing.reason);

	cmd->run(argc, argv);
	if (fflush(stdout) == EOF)
		warn("standard output");
	if (doing.dry_run)
		warnx("dry run: nothing was changed");
	db_close(&db);
	buf_wipe(&secret);
	buf_wipe(&more);
	subkey_wipe(&keys);
	subopt_free(&settings);
	ids_free(&ids);
	return status;
}

static void
option(int ch)
{
	const char	*why;

	if (ch >= OPT_ED25519 && (cmd->words & MAY(ch)) == 0)
		usage(EX_USAGE);
	switch (ch) {
	case 'V':
		puts(VERSION);
		exit(EX_OK);
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
		secret_file = optarg;
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
	case 'u':
		doing.who = optarg;
		break;
	case OPT_ED25519:
		ed25519 = 1;
		break;
	case OPT_NO_4XX:
		settings.retry_4xx = "f";
		break;
	case OPT_NO_LEGACY:
		settings.legacy = "f";
		break;
	case OPT_NO_ORDERED:
		settings.ordered = "f";
		break;
	case OPT_SECRET:
		reveal = 1;
		break;
	case '?':
		usage(EX_USAGE);
	default:
		if (ch == 'w' && cmd->run == test) {
			if (opt_duration(optarg, 0, WAIT_MAX_MS, &wait_ms,
			    &why) == -1)
				errx(EX_USAGE, "-w %s: %s", optarg, why);
		} else if (subopt_take(&settings, ch == OPT_NAME ? 'N' : ch,
		    optarg) == -1)
			errx(settings.code, "%s", settings.why);
	}
}

static void
add(int argc, char *argv[])
{
	(void)argc;
	if (subopt_url(&settings, argv[0]) == -1)
		errx(settings.code, "%s", settings.why);
	new_secret();
	connect_db();
	if (subdo_add(&doing, &settings, &keys, secret.s) == -1)
		errx(doing.code, "%s", doing.why);
	print_row(1);
}

static void
set(int argc, char *argv[])
{
	const char	*id = one_id(argv);

	if (argc == 2 && subopt_url(&settings, argv[1]) == -1)
		errx(settings.code, "%s", settings.why);
	connect_db();
	if (subdo_set(&doing, id, &settings) == -1)
		errx(doing.code, "%s", doing.why);
	print_row(0);
}

static void
rotate(int argc, char *argv[])
{
	const char	*id = one_id(argv);

	(void)argc;
	new_secret();
	connect_db();
	if (subdo_rotate(&doing, id, grace_ms, &keys, secret.s) == -1)
		errx(doing.code, "%s", doing.why);
	print_row(1);
}

static void
change(int argc, char *argv[])
{
	take_ids(argc, argv);
	if (subdo_change(&doing, cmd->name, &ids) == -1)
		errx(doing.code, "%s", doing.why);
	if (out_rows(&db, OUT_JSON) == -1)
		warn("standard output");
}

static void
list(int argc, char *argv[])
{
	(void)argc;
	(void)argv;
	connect_db();
	if (db_run(&db, &stmt_sub_list, DB_ARGS(settings.tenant)) == -1)
		give_up();
	if (out_rows(&db, form) == -1)
		err(EX_TEMPFAIL, "standard output");
}

static void
show(int argc, char *argv[])
{
	char	 id[24];
	size_t	 i;

	if (reveal && subkey_load(&keys) == -1)
		errx(keys.code, "%s", keys.why);
	take_ids(argc, argv);
	for (i = 0; i < ids.n; i++) {
		snprintf(id, sizeof(id), "%" PRId64, ids.id[i]);
		buf_reset(&more);
		if (subkey_list(&keys, &db, id, reveal, &more) == -1)
			errx(keys.code, "%s", keys.why);
		if (db_run(&db, &stmt_sub_show, DB_ARGS(id,
		    reveal ? "t" : "f")) == -1)
			give_up();
		if (db_rows(&db) == 0) {
			warnx("subscription %s: not found", id);
			status = 1;
		} else if (out_row_more(&db, 0, more.s) == -1)
			err(EX_TEMPFAIL, "standard output");
	}
}

/* Send one event to one subscription, and say what it answered. */
static void
test(int argc, char *argv[])
{
	const char	*id = one_id(argv);
	enum await	 state;
	char		 event[80];

	(void)argc;
	connect_db();
	if (subdo_test(&doing, id, TEST_PAYLOAD, event) == -1)
		errx(doing.code, "%s", doing.why);
	if (doing.dry_run)
		return;
	state = await_event(&db, conninfo, getprogname(), event,
	    await_deadline(wait_ms));
	status = await_exitcode(state, &db);
	if (state != AWAIT_FAILED && out_rows(&db, OUT_JSON) == -1)
		warn("standard output");
	if (state != AWAIT_DELIVERED)
		warnx("%s: %s%s", event, await_phrase(state, &db),
		    state == AWAIT_PENDING ? " (does hook-deliver run?)" : "");
}

/* One id or more in the arguments, or in standard input; and connect. */
static void
take_ids(int argc, char *argv[])
{
	if (ids_args(&ids, argc, argv) == -1)
		errx(ids.code, "%s", ids.why);
	connect_db();
	if (ids_stdin(&ids, &db) == -1)
		errx(ids.code, "%s", ids.why);
}

/* The id in argv[0], checked. */
static const char *
one_id(char *argv[])
{
	if (ids_args(&ids, 1, argv) == -1)
		errx(ids.code, "%s", ids.why);
	if (ids.from_stdin)
		usage(EX_USAGE);
	return argv[0];
}

/* The secret of -k, or a new one; and the key to seal it with. */
static void
new_secret(void)
{
	if (ed25519 && secret_file != NULL)
		usage(EX_USAGE);
	if (subkey_load(&keys) == -1 ||
	    subkey_make(&keys, secret_file, ed25519, &secret) == -1)
		errx(keys.code, "%s", keys.why);
	if (settings.legacy != NULL && strncmp(secret.s, "whsk_", 5) == 0)
		errx(EX_DATAERR, "-L: not with an ed25519 key");
}

/* Print what was changed, and the new secret once it holds. */
static void
print_row(int with_secret)
{
	if (with_secret && !doing.dry_run &&
	    subkey_json(&keys, secret.s, &more) == -1)
		warnx("%s", keys.why);
	if (out_row_more(&db, 0, more.s) == -1)
		warn("standard output");
}

static void
connect_db(void)
{
	if (db_open(&db, conninfo, getprogname()) == -1)
		give_up();
}

static void
check_word(const char *option, const char *s)
{
	if (s != NULL && (!opt_utf8(s, strlen(s)) ||
	    opt_control(s, strlen(s))))
		errx(EX_DATAERR, "%s: control character or invalid UTF-8",
		    option);
}

static _Noreturn void
give_up(void)
{
	errx(db_exitcode(&db), "%s", db_error(&db));
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
