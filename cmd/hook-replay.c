/*
 * hook-replay: send events again: deliveries that are over, or events of the
 * outbox as if they were new.
 *
 * What is dead is put back as it is; what was delivered is sent again, if
 * forced, as a new delivery under the same event id, so that a receiver can
 * tell.  By id, each is judged alone and audited.  By filter it is a job
 * (lib/rerun.h), which can be stopped at any moment and resumed.
 */
#include <err.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "config.h"
#include "db.h"
#include "follow.h"
#include "hide.h"
#include "ids.h"
#include "rerun.h"
#include "opt.h"
#include "out.h"
#include "redo.h"
#include "select.h"
#include "stmt.h"

#define MAX_RATE	1000000.0	/* deliveries a second */
#define STEP_S		0.25		/* of a rate, a batch; so it is even */

/* Options without a letter, and which go together. */
enum { CANCEL = SELECT_END, FANOUT, FORCE, JOBS, RESUME };
static const char with_cancel[] = { 'd', 'm', 'o', 'u', CANCEL, '\0' };
static const char with_filters[] = { 'T', 'd', 'e', 'm', 'n', 'o', 'r', 's',
	    't', 'u', SELECT_SINCE, SELECT_STATE, SELECT_UNTIL, FANOUT, FORCE,
	    '\0' };
static const char with_ids[] = { 'd', 'm', 'n', 'o', 'r', 'u', FORCE, '\0' };
static const char with_jobs[] = { 'd', 'o', JOBS, '\0' };
static const char with_resume[] = { 'd', 'o', 'r', RESUME, '\0' };
static const char filters[] = { 'T', 'e', 's', 't', SELECT_SINCE,
	    SELECT_STATE, SELECT_UNTIL, '\0' };

struct args {
	const char	*conninfo;
	struct select	 sel;
	int		 fanout, force, dry;
	enum out_form	 form;
	const char	*actor, *reason;
	const char	*rate_arg;
	double		 rate;		/* deliveries a second; 0: any */
	const char	*resume, *cancel;
	int		 jobs;
	int		 argc;
	char		**argv;
	char		 given[64];	/* letters of the options given */
};

static int	 by_filter(struct args *, struct db *);
static int	 by_ids(struct args *, struct db *);
static void	 claim(struct db *, const char *);
static int	 dry_outbox(struct rerun *, struct db *);
static _Noreturn void fail(const struct db *);
static const char *job_arg(const char *, const char *);
static int	 list(struct args *, struct db *, const char *);
static int	 manage(struct args *, struct db *);
static void	 open_db(struct args *, struct db *);
static void	 options(struct args *, int, char **);
static void	 progress(const struct rerun *, int);
static void	 put(int);
static int	 resume(struct args *, struct db *);
static int	 run(struct args *, struct db *, struct rerun *);
static int	 takes(const struct args *, const char *);
static _Noreturn void usage(int);

int
main(int argc, char *argv[])
{
	struct args	 a = { 0 };
	struct db	 db = DB_INIT;
	int		 rc;

	options(&a, argc, argv);
	a.actor = opt_actor(a.actor);
	follow_signals();
	if ((a.jobs && takes(&a, with_jobs)) ||
	    (a.cancel != NULL && takes(&a, with_cancel)))
		rc = manage(&a, &db);
	else if (a.resume != NULL && takes(&a, with_resume))
		rc = resume(&a, &db);
	else if (a.argc > 0 && takes(&a, with_ids))
		rc = by_ids(&a, &db);
	else if (a.argc == 0 && takes(&a, with_filters))
		rc = by_filter(&a, &db);
	else
		usage(EX_USAGE);
	select_free(&a.sel);
	db_close(&db);
	return rc;
}

/* Were only options of these given, and ids only where they make sense? */
static int
takes(const struct args *a, const char *some)
{
	return strspn(a->given, some) == strlen(a->given) && (a->argc == 0 ||
	    (!a->jobs && a->cancel == NULL && a->resume == NULL));
}

static void
options(struct args *a, int argc, char *argv[])
{
	static const struct option longs[] = {
		{ "cancel", required_argument, NULL, CANCEL },
		{ "fanout", no_argument, NULL, FANOUT },
		{ "force", no_argument, NULL, FORCE },
		{ "jobs", no_argument, NULL, JOBS },
		{ "resume", required_argument, NULL, RESUME },
		{ "state", required_argument, NULL, SELECT_STATE },
		SELECT_TIMES,
		{ NULL, 0, NULL, 0 }
	};
	const char	*why;
	size_t		 n = 0;
	int		 ch, rc;

	while ((ch = getopt_long(argc, argv, "T:Vd:e:hm:no:r:s:t:u:", longs,
	    NULL)) != -1) {
		if (strchr(a->given, ch) == NULL)
			a->given[n++] = (char)ch;
		switch (ch) {
		case 'V':
			puts(VERSION);
			exit(EX_OK);
		case 'd':
			a->conninfo = hide_arg(optarg);
			break;
		case 'h':
			usage(EX_OK);
		case 'm':
			a->reason = optarg;
			break;
		case 'n':
			a->dry = 1;
			break;
		case 'o':
			if (out_form(optarg, &a->form) == -1)
				errx(EX_USAGE, "-o %s: not table or json",
				    optarg);
			break;
		case 'r':
			if (opt_rate(optarg, MAX_RATE, &a->rate, &why) == -1)
				errx(EX_USAGE, "-r %s: %s", optarg, why);
			a->rate_arg = optarg;
			break;
		case 'u':
			a->actor = optarg;
			break;
		case CANCEL:
			a->cancel = job_arg("--cancel", optarg);
			break;
		case FANOUT:
			a->fanout = 1;
			break;
		case FORCE:
			a->force = 1;
			break;
		case JOBS:
			a->jobs = 1;
			break;
		case RESUME:
			a->resume = job_arg("--resume", optarg);
			break;
		default:
			if ((rc = select_option(&a->sel, ch, optarg)) == -1)
				errx(EX_USAGE, "%s", a->sel.why);
			if (rc == 0)
				usage(EX_USAGE);
		}
	}
	a->argc = argc - optind;
	a->argv = argv + optind;
}

static const char *
job_arg(const char *option, const char *arg)
{
	const char	*why;
	int64_t		 id;

	if (opt_int(arg, 1, INT64_MAX, &id, &why) == -1)
		errx(EX_USAGE, "%s: not a job: %.40s", option, arg);
	return arg;
}

static int
by_ids(struct args *a, struct db *db)
{
	struct ids	 ids = IDS_INIT;
	struct redo	 r = { .what = a->force ? REDO_FORCE : REDO_REPLAY,
			    .tool = "hook-replay", .actor = a->actor,
			    .reason = a->reason, .dry = a->dry, .ids = &ids };
	int64_t		 start_ms;
	int		 i, made, n, rc = 0, status = EX_OK;

	if (a->rate > 0)
		r.batch = (size_t)fmax(a->rate * STEP_S, 1);
	if (ids_args(&ids, a->argc, a->argv) == -1)
		errx(ids.code, "%s", ids.why);
	open_db(a, db);
	if (ids_stdin(&ids, db) == -1)
		errx(ids.code, "%s", ids.why);
	if (redo_start(&r) == -1)
		err(EX_TEMPFAIL, NULL);
	if (redo_plan(db) == -1)
		fail(db);
	while (!follow_stop) {
		start_ms = follow_now_ms();
		if ((rc = redo_next(&r, db)) != 1)
			break;
		if ((made = db_rows(db)) > 0)
			put(out_rows(db, a->form));
		if ((n = redo_refused(&r, db)) == -1)
			fail(db);
		for (i = 0; i < n; i++)
			warnx("delivery %s: %s", db_col(db, i, 0),
			    redo_why(db, i));
		if (n > 0)
			status = 1;
		if (r.from < ids.n)
			redo_pace(a->rate, made, start_ms);
	}
	if (rc == -1)
		fail(db);
	if (r.from < ids.n)
		errx(EX_TEMPFAIL, "stopped; %zu ids not looked at",
		    ids.n - r.from);
	redo_free(&r);
	ids_free(&ids);
	return status;
}

static int
by_filter(struct args *a, struct db *db)
{
	struct rerun	 job;
	int		 old, rc = EX_OK;

	if (strpbrk(a->given, filters) == NULL ||
	    (a->fanout && a->sel.states != NULL))
		usage(EX_USAGE);
	if (a->sel.over && !a->force)
		errx(EX_USAGE, "--state: delivered and discarded need"
		    " --force");
	open_db(a, db);
	if (rerun_init(&job, &a->sel, a->fanout, a->force) == -1)
		err(EX_TEMPFAIL, NULL);
	if ((old = rerun_pruned(&job, db)) == -1 || rerun_count(&job, db) == -1)
		fail(db);
	if (old && job.total == 0)
		errx(1, "%s", job.pruned);
	if (old)
		warnx("%s", job.pruned);
	if (a->dry && a->fanout)
		rc = dry_outbox(&job, db);
	else if (a->dry)
		put(out_rows(db, a->form));
	else if (rerun_create(&job, db, a->rate_arg, a->actor,
	    a->reason) == -1)
		fail(db);
	else {
		claim(db, job.id);
		rc = run(a, db, &job);
	}
	rerun_free(&job);
	return rc;
}

static int
dry_outbox(struct rerun *job, struct db *db)
{
	char	*first = NULL;
	int	 rc;

	if (rerun_plan(job, db) == -1)
		fail(db);
	while (!follow_stop &&
	    (rc = rerun_step(job, db, rerun_limit(job, 0))) == 1)
		if (first == NULL && db_col(db, 0, 3) != NULL &&
		    (first = strdup(db_col(db, 0, 3))) == NULL)
			err(EX_TEMPFAIL, NULL);
	if (rc == -1)
		fail(db);
	printf("{\"events\":%" PRId64 ",\"deliveries\":%" PRId64
	    ",\"first\":%s}\n", job->done, job->made,
	    first == NULL ? "[]" : first);
	put(fflush(stdout));
	free(first);
	return EX_OK;
}

static int
resume(struct args *a, struct db *db)
{
	struct rerun	 job;
	const char	*why;
	int		 rc;

	open_db(a, db);
	claim(db, a->resume);
	if ((rc = rerun_load(&job, db, a->resume)) == -1)
		fail(db);
	if (rc == 0 || !job.running) {
		warnx("job %s: %s", a->resume,
		    rc == 0 ? "no such job" : "does not run any more");
		rc = 1;
	} else {
		if (a->rate == 0 && *job.rate != '\0' &&
		    opt_rate(job.rate, MAX_RATE, &a->rate, &why) == -1)
			errx(EX_SOFTWARE, "job %s: rate %s: %s", job.id,
			    job.rate, why);
		rc = run(a, db, &job);
	}
	rerun_free(&job);
	return rc;
}

/* Before its cursor is read: nobody else may move it any more. */
static void
claim(struct db *db, const char *id)
{
	switch (rerun_claim(db, id)) {
	case -1:
		fail(db);
	case 0:
		errx(EX_TEMPFAIL, "job %s: another hook-replay is on it", id);
	}
}

/* Until the job is done or we are told to stop; then say what became of it. */
static int
run(struct args *a, struct db *db, struct rerun *job)
{
	int64_t	 start_ms;
	double	 share = a->rate * STEP_S;
	int	 rc = 1, tty = isatty(STDERR_FILENO);

	if (rerun_plan(job, db) == -1)
		fail(db);
	while (!follow_stop && rc == 1) {
		start_ms = follow_now_ms();
		rc = rerun_step(job, db, rerun_limit(job, share));
		if (rc == -1)
			break;
		if (tty)
			progress(job, rc != 1);
		if (rc == 1 && job->done < job->total)
			redo_pace(a->rate, job->step_made, start_ms);
	}
	if (rc == 1)
		errx(EX_TEMPFAIL, "stopped; hook-replay --resume %s goes on",
		    job->id);
	if (rc == 0)
		rc = rerun_finish(job, db);
	if (rc == -1)
		errx(db_exitcode(db), "%s; hook-replay --resume %s goes on",
		    db_error(db), job->id);
	if (rc > 0)
		return list(a, db, job->id);
	warnx("job %s: was cancelled", job->id);
	return 1;
}

static void
progress(const struct rerun *job, int last)
{
	fprintf(stderr, "\rjob %s: %" PRId64 " of %" PRId64 " %s, %" PRId64
	    " made%s", job->id, job->done, job->total,
	    job->outbox ? "events" : "deliveries", job->made,
	    last ? "\n" : "");
}

/* --jobs, and --cancel. */
static int
manage(struct args *a, struct db *db)
{
	int	 rc;

	open_db(a, db);
	if (a->cancel != NULL) {
		rc = rerun_cancel(db, a->cancel, a->actor, a->reason);
		if (rc == -1)
			fail(db);
		if (rc == 0) {
			warnx("job %s: does not run", a->cancel);
			return 1;
		}
	}
	return list(a, db, a->cancel);
}

/* One job, or all. */
static int
list(struct args *a, struct db *db, const char *id)
{
	if (db_run(db, &stmt_replay_jobs, DB_ARGS(id)) == -1)
		fail(db);
	put(out_rows(db, a->form));
	return EX_OK;
}

static void
open_db(struct args *a, struct db *db)
{
	if (db_open(db, a->conninfo, "hook-replay") == -1 ||
	    db_exec(db, "set plan_cache_mode = force_custom_plan") == -1)
		fail(db);
	if (select_times(&a->sel, db) == -1)
		errx(db_exitcode(db) == EX_DATAERR ? EX_USAGE :
		    db_exitcode(db), "%s", a->sel.why);
}

static _Noreturn void
fail(const struct db *db)
{
	errx(db_exitcode(db), "%s", db_error(db));
}

/* What writing on standard output came to. */
static void
put(int rc)
{
	if (rc < 0)
		err(EX_TEMPFAIL, "standard output");
}

static _Noreturn void
usage(int status)
{
	fprintf(status == EX_OK ? stdout : stderr, "usage: %s [-hnV]"
	    " [-d conninfo] [-m why] [-r rate] [-u actor] [--force]"
	    " [--fanout] [-e event-id] [-s subscription] [-T tenant]"
	    " [-t type] [--since time] [--until time] [--state state,...]"
	    " [id...|-] | --jobs | --resume job | --cancel job\n",
	    getprogname());
	exit(status);
}
