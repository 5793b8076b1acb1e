/*
 * hook-doctor: may this go live?  The pre-launch checklist as a program: each
 * check is a line that says ok, or what is found and what mends it.
 *
 * It changes nothing.  To judge what the services will meet, run it as they
 * run: with their environment, on their machine.
 */
#include <err.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "addr.h"
#include "config.h"
#include "doctor.h"
#include "hide.h"
#include "opt.h"

#define MAX_NAMES	64
#define DAY_MS		INT64_C(86400000)
#define BODY_DEFAULT	(1024 * 1024)	/* bytes: hook-receive's own */

enum { OPT_BACKUP_AGE = 256, OPT_BACKUP_STAMP, OPT_HTTPS_ONLY, OPT_MAX_BODY,
	OPT_NGINX, OPT_PLAIN_NET, OPT_RULES };

static struct doctor	 doctor;
static enum out_form	 form;
static const struct doctor_check *without[MAX_NAMES], *only[MAX_NAMES];
static size_t		 nwithout, nonly;

static void	 list(void);
static void	 name_check(const char *, const struct doctor_check **,
		    size_t *);
static void	 options(int, char *[]);
static int	 told(int, const char *);
static _Noreturn void usage(int);
static int	 wanted(const struct doctor_check *);

int
main(int argc, char *argv[])
{
	const struct doctor_check	*c;
	int				 rc = EX_OK, needs_db = 0;

	options(argc, argv);
	for (c = doctor_checks; c->name != NULL; c++)
		needs_db |= wanted(c) && !c->apart;
	if (needs_db && doctor_open(&doctor) == -1)
		errx(doctor_exitcode(&doctor), "%s", doctor_error(&doctor));
	for (c = doctor_checks; c->name != NULL; c++)
		if (wanted(c) && doctor_run(&doctor, c) == -1)
			errx(doctor_exitcode(&doctor), "%s: %s", c->name,
			    doctor_error(&doctor));
	if (doctor_print(&doctor, form) == -1)
		err(EX_TEMPFAIL, "standard output");
	if (doctor.fails > 0)
		rc = 1;
	doctor_free(&doctor);
	return rc;
}

static void
options(int argc, char *argv[])
{
	static const struct option longs[] = {
		{ "backup-age", required_argument, NULL, OPT_BACKUP_AGE },
		{ "backup-stamp", required_argument, NULL, OPT_BACKUP_STAMP },
		{ "https-only", no_argument, NULL, OPT_HTTPS_ONLY },
		{ "max-body", required_argument, NULL, OPT_MAX_BODY },
		{ "nginx", required_argument, NULL, OPT_NGINX },
		{ "plain-net", required_argument, NULL, OPT_PLAIN_NET },
		{ "rules", required_argument, NULL, OPT_RULES },
		{ NULL, 0, NULL, 0 }
	};
	int	 ch;

	doctor.told.backup_age_ms = 8 * DAY_MS;
	doctor.told.max_body = BODY_DEFAULT;
	doctor.told.plain_net = "127.0.0.0/8,::1";
	keep_init(&doctor.told.keep);
	while ((ch = getopt_long(argc, argv, "Vd:hk:lo:x:", longs,
	    NULL)) != -1)
		switch (ch) {
		case 'V':
			puts(VERSION);
			exit(EX_OK);
		case 'd':
			doctor.told.conninfo = hide_arg(optarg);
			break;
		case 'h':
			usage(EX_OK);
		case 'k':
			if (keep_take(&doctor.told.keep, optarg) == -1)
				errx(EX_USAGE, "-k %s",
				    doctor.told.keep.why);
			break;
		case 'l':
			list();
			exit(EX_OK);
		case 'o':
			if (out_form(optarg, &form) == -1)
				errx(EX_USAGE, "-o %s: not table or json",
				    optarg);
			break;
		case 'x':
			name_check(optarg, without, &nwithout);
			break;
		default:
			if (told(ch, optarg) == -1)
				usage(EX_USAGE);
		}
	for (; optind < argc; optind++)
		name_check(argv[optind], only, &nonly);
	if (form == OUT_AUTO)
		form = isatty(STDOUT_FILENO) ? OUT_TABLE : OUT_JSON;
}

/* What can't be found out; -1: no such option. */
static int
told(int ch, const char *arg)
{
	struct doctor_told	*t = &doctor.told;
	struct addr_allow	 nets;
	const char		*why, *bad;

	switch (ch) {
	case OPT_BACKUP_AGE:
		if (opt_duration(arg, 1000, 3650 * DAY_MS, &t->backup_age_ms,
		    &why) == -1)
			errx(EX_USAGE, "--backup-age %s: %s", arg, why);
		return 0;
	case OPT_BACKUP_STAMP:
		t->backup_stamp = arg;
		return 0;
	case OPT_HTTPS_ONLY:
		t->https_only = 1;
		return 0;
	case OPT_MAX_BODY:
		if (opt_int(arg, 1, INT64_MAX, &t->max_body, &why) == -1)
			errx(EX_USAGE, "--max-body %s: %s", arg, why);
		return 0;
	case OPT_NGINX:
		t->nginx = arg;
		return 0;
	case OPT_PLAIN_NET:
		if (addr_allow_parse(&nets, arg, &bad) == -1 || nets.n == 0)
			errx(EX_USAGE, "--plain-net %s: not CIDRs", arg);
		t->plain_net = arg;
		return 0;
	case OPT_RULES:
		t->rules = arg;
		return 0;
	}
	return -1;
}

static void
name_check(const char *name, const struct doctor_check **list_of, size_t *n)
{
	const struct doctor_check	*c = doctor_check(name);

	if (c == NULL)
		errx(EX_USAGE, "%s: no such check: -l lists them", name);
	if (*n == MAX_NAMES)
		errx(EX_USAGE, "%s: too many checks", name);
	list_of[(*n)++] = c;
}

static int
wanted(const struct doctor_check *c)
{
	size_t	 i;

	for (i = 0; i < nwithout; i++)
		if (without[i] == c)
			return 0;
	for (i = 0; i < nonly; i++)
		if (only[i] == c)
			return 1;
	return nonly == 0;
}

static void
list(void)
{
	const struct doctor_check	*c;

	for (c = doctor_checks; c->name != NULL; c++)
		printf("%-11s %s\n", c->name, c->good);
	if (fflush(stdout) == EOF)
		err(EX_TEMPFAIL, "standard output");
}

static _Noreturn void
usage(int code)
{
	fprintf(code == EX_OK ? stdout : stderr, "usage: %s [-hlV]"
	    " [-d conninfo] [-k keep] [-o table|json] [-x check]..."
	    " [--backup-age age] [--backup-stamp file] [--https-only]"
	    " [--max-body bytes] [--nginx path] [--plain-net nets]"
	    " [--rules path] [check ...]\n", getprogname());
	exit(code);
}
