/*
 * Checks by what hook-stat reads, and by what the operator has told.
 */
#include <sys/stat.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "doctor_int.h"
#include "stmt.h"

/* As hook-stat judges them (status_judge.c). */
#define UNSEEN_S	600
#define SNAPSHOT_S	300
#define SKEW_MS		5000

static int	 facts(struct doctor *);
static int	 seen(struct doctor *, const char *, const char *);

static int
facts(struct doctor *d)
{
	if (d->facts.read != 0)
		return 0;
	return status_read(&d->facts, &d->db, 0);
}

int
doctor_workers(struct doctor *d)
{
	if (facts(d) == -1 || seen(d, "hook-fanout", "fanout_seen_s") == -1 ||
	    seen(d, "hook-deliver", "deliver_seen_s") == -1)
		return -1;
	return 0;
}

static int
seen(struct doctor *d, const char *tool, const char *column)
{
	char	 age[32], mend[64];
	int64_t	 ago_s = status_fact(&d->facts, column);

	snprintf(mend, sizeof(mend), "systemctl enable --now %s", tool);
	if (strcmp(tool, "hook-deliver") == 0)
		strlcat(mend, "@1", sizeof(mend));
	if (status_text(&d->facts, STATUS_FACTS, 0, column) == NULL)
		return doctor_say(d, DOCTOR_FAIL, tool, mend,
		    "was never seen");
	if (ago_s > UNSEEN_S)
		return doctor_say(d, DOCTOR_FAIL, tool, mend,
		    "was last seen %s ago", status_age(ago_s, age));
	return 0;
}

int
doctor_snapshot(struct doctor *d)
{
	const char	*kind, *who;
	char		 age[32], mend[128], object[128];
	int64_t		 pid;

	if (facts(d) == -1)
		return -1;
	if ((kind = status_text(&d->facts, STATUS_FACTS, 0,
	    "snapshot_kind")) == NULL)
		return 0;
	if (*status_text(&d->facts, STATUS_FACTS, 0, "snapshot_blind") == 't')
		return doctor_say(d, DOCTOR_WARN, NULL, "psql -c 'grant"
		    " pg_read_all_stats to' the owner of the tables",
		    "can't tell: their owner may not see other sessions");
	if (status_fact(&d->facts, "snapshot_s") <= SNAPSHOT_S)
		return 0;
	pid = status_fact(&d->facts, "snapshot_pid");
	who = status_text(&d->facts, STATUS_FACTS, 0, "snapshot_application");
	snprintf(object, sizeof(object), "%s %s", kind, who == NULL ? "" :
	    who);
	snprintf(mend, sizeof(mend), "psql -c 'select"
	    " pg_terminate_backend(%" PRId64 ")'", pid);
	if (pid == 0)
		strlcpy(mend, "psql -c 'table pg_prepared_xacts', and rollback"
		    " prepared", sizeof(mend));
	return doctor_say(d, DOCTOR_FAIL, object, mend, "has kept a snapshot"
	    " for %s: nothing is vacuumed", status_age(status_fact(&d->facts,
	    "snapshot_s"), age));
}

int
doctor_clock(struct doctor *d)
{
	if (facts(d) == -1)
		return -1;
	if (llabs(d->facts.skew_ms) <= SKEW_MS)
		return 0;
	return doctor_say(d, DOCTOR_FAIL, NULL, "timedatectl set-ntp true",
	    "this machine's clock is %lld s %s the database's",
	    llabs(d->facts.skew_ms) / 1000, d->facts.skew_ms > 0 ?
	    "ahead of" : "behind");
}

int
doctor_retention(struct doctor *d)
{
	char	 keep_ms[24];

	if (keep_check(&d->told.keep) == -1 &&
	    doctor_say(d, DOCTOR_FAIL, "hook-prune -k", "hook-prune with"
	    " another -k", "%s", d->told.keep.why) == -1)
		return -1;
	snprintf(keep_ms, sizeof(keep_ms), "%" PRId64,
	    d->told.keep.ms[KEEP_OUTBOX]);
	return doctor_rows(d, db_run(&d->db, &stmt_doctor_retention,
	    DB_ARGS(keep_ms)));
}

/* By a file's time, or by what the server itself remembers. */
int
doctor_backup(struct doctor *d)
{
	static const char	 mend[] = "pg_basebackup -D /backup/$(date"
				    " +%F) -c fast; see hook-backup(7)";
	const char		*stamp = d->told.backup_stamp;
	struct stat		 st;
	char			 age[32];
	int64_t			 ago_s;

	if (stamp != NULL) {
		if (stat(stamp, &st) == -1)
			return doctor_say(d, DOCTOR_FAIL, stamp, mend,
			    "%s", strerror(errno));
		ago_s = time(NULL) - st.st_mtime;
	} else {
		if (db_run(&d->db, &stmt_doctor_backup, 0, NULL) == -1)
			return -1;
		if (db_col(&d->db, 0, 0) == NULL)
			return doctor_say(d, DOCTOR_FAIL, NULL, mend,
			    "the server knows of no base backup; of others"
			    " tell by --backup-stamp");
		ago_s = db_int(&d->db, 0, 0);
	}
	if (ago_s * 1000 <= d->told.backup_age_ms)
		return 0;
	return doctor_say(d, DOCTOR_FAIL, stamp, mend,
	    "the last base backup is %s old", status_age(ago_s, age));
}

int
doctor_https(struct doctor *d)
{
	if (!d->told.https_only)
		return doctor_say(d, DOCTOR_OK, NULL, NULL,
		    "not asked for by --https-only");
	return doctor_rows(d, db_run(&d->db, &stmt_doctor_https, 0, NULL));
}
