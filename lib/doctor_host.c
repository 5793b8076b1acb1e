/*
 * Checks of this machine and environment.
 */
#include <sys/resource.h>
#include <sys/wait.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "addr.h"
#include "config.h"
#include "doctor_int.h"
#include "jq.h"
#include "stmt.h"
#include "tree.h"

#define FILES_LEAST	1024	/* hook-deliver -j 1000 */
#define FILES_GOOD	4120	/* hook-receive's 4096 connections and spare */
#define NGINX_DEFAULT	(1024 * 1024)	/* bytes, where it is not said */
#define WIDE_V4		8	/* bits: a larger range than this is wide */
#define WIDE_V6		32

extern char **environ;

static int	 judge_nginx(struct doctor *, const char *, int64_t);
static int	 listed(const struct addr_allow *, const char *);
static int	 note_alert(void *, const char *, const char *);
static int	 note_size(void *, const char *, const char *);
static int	 timer_active(void);

int
doctor_files(struct doctor *d)
{
	struct rlimit	 r;

	if (getrlimit(RLIMIT_NOFILE, &r) == -1 || r.rlim_max >= FILES_GOOD)
		return 0;
	return doctor_say(d, r.rlim_max < FILES_LEAST ? DOCTOR_FAIL :
	    DOCTOR_WARN, NULL, "LimitNOFILE=16384 in the unit, or ulimit -n"
	    " 16384", "only %" PRIu64 " files may be open at once, so that"
	    " many connections less a few", (uint64_t)r.rlim_max);
}

int
doctor_jq(struct doctor *d)
{
	char	 why[256];

	if (jq_check(".", why, sizeof(why)) == 0)
		return 0;
	return doctor_say(d, DOCTOR_FAIL, NULL, "apt-get install jq",
	    "jq does not run, so no transform does: %s", why);
}

/* What is permitted here, a customer's URL may reach. */
int
doctor_allow(struct doctor *d)
{
	static const char *const forbidden[] = { "169.254.169.254",
		"fd00:ec2::254" };
	const char	*nets = getenv("HOOK_ALLOW_NET"), *bad;
	const char	*mend = "HOOK_ALLOW_NET= in the environment of"
			    " hook-deliver, or as few hosts as need be";
	struct addr_allow allow;
	size_t		 i;
	int		 v4;

	if (addr_allow_parse(&allow, nets, &bad) == -1)
		return doctor_say(d, DOCTOR_FAIL, "HOOK_ALLOW_NET", mend,
		    "is no list of CIDRs: hook-deliver does not start");
	for (i = 0; i < allow.n; i++) {
		v4 = allow.net[i].bits >= 96 && IN6_IS_ADDR_V4MAPPED(
		    (const struct in6_addr *)(const void *)allow.net[i].net);
		if (allow.net[i].bits < (v4 ? 96 + WIDE_V4 : WIDE_V6))
			return doctor_say(d, DOCTOR_FAIL, "HOOK_ALLOW_NET",
			    mend, "is wide open: %s", nets);
	}
	for (i = 0; i < sizeof(forbidden) / sizeof(*forbidden); i++)
		if (listed(&allow, forbidden[i]))
			return doctor_say(d, DOCTOR_FAIL, "HOOK_ALLOW_NET",
			    mend, "opens %s, where a cloud gives out"
			    " credentials", forbidden[i]);
	if (listed(&allow, "127.0.0.1") || listed(&allow, "::1"))
		return doctor_say(d, DOCTOR_WARN, "HOOK_ALLOW_NET", mend,
		    "opens this machine's own services to every URL");
	return 0;
}

static int
listed(const struct addr_allow *allow, const char *text)
{
	struct sockaddr_in6	 v6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in	 v4 = { .sin_family = AF_INET };

	if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
		return addr_listed(allow, (const void *)&v4);
	return inet_pton(AF_INET6, text, &v6.sin6_addr) == 1 &&
	    addr_listed(allow, (const void *)&v6);
}

/* Prometheus has the rules, cron the command, or systemd the timer. */
int
doctor_alerts(struct doctor *d)
{
	static const char *const usual[] = { "/etc/prometheus",
		"/etc/crontab", "/etc/cron.d", "/var/spool/cron" };
	size_t	 i;
	int	 found = 0;

	if (d->told.rules != NULL)
		(void)tree_lines(d->told.rules, note_alert, &found);
	for (i = 0; d->told.rules == NULL &&
	    i < sizeof(usual) / sizeof(*usual); i++)
		(void)tree_lines(usual[i], note_alert, &found);
	if (found || timer_active())
		return 0;
	return doctor_say(d, DOCTOR_FAIL, d->told.rules, "systemctl enable"
	    " --now hook-alert.timer; or Prometheus with " PREFIX
	    "/share/hookutils/etc/prometheus/hook-rules.yml",
	    "no alert rules, no cron job and no timer are there: nobody is"
	    " told");
}

static int
note_alert(void *found, const char *path, const char *line)
{
	(void)path;
	if (*line == '#' || (strstr(line, "alert: HookNoWorker") == NULL &&
	    strstr(line, "hook-dlq alert") == NULL &&
	    strstr(line, "hook dlq alert") == NULL))
		return 0;
	*(int *)found = 1;
	return 1;
}

static int
timer_active(void)
{
	static char	 word[][20] = { "systemctl", "is-active", "--quiet",
			    "hook-alert.timer" };
	char		*argv[] = { word[0], word[1], word[2], word[3], NULL };
	posix_spawn_file_actions_t	 quiet;
	pid_t		 pid;
	int		 status = -1, fd;

	if (posix_spawn_file_actions_init(&quiet) != 0)
		return 0;
	for (fd = 0; fd < 3; fd++)
		(void)posix_spawn_file_actions_addopen(&quiet, fd,
		    "/dev/null", O_RDWR, 0);
	if (posix_spawnp(&pid, argv[0], &quiet, NULL, argv, environ) != 0 ||
	    waitpid(pid, &status, 0) == -1)
		status = -1;
	posix_spawn_file_actions_destroy(&quiet);
	return status == 0;
}

/* What is found in a configuration, file by file. */
struct sizes {
	char	 path[256];	/* of the largest */
	int64_t	 most;		/* bytes; -1: none said */
	int	 ours;		/* hook-receive is behind it */
};

int
doctor_nginx(struct doctor *d)
{
	const char	*path = d->told.nginx == NULL ? "/etc/nginx" :
			    d->told.nginx;
	struct sizes	 s = { .most = -1 };

	if (tree_lines(path, note_size, &s) == -1 && d->told.nginx != NULL)
		return doctor_say(d, DOCTOR_FAIL, path, NULL,
		    "can't be read");
	if (s.ours)
		return judge_nginx(d, s.most == -1 ? path : s.path, s.most ==
		    -1 ? NGINX_DEFAULT : s.most);
	if (d->told.nginx != NULL)
		return doctor_say(d, DOCTOR_WARN, path, NULL, "passes nothing"
		    " on to hook-receive");
	if (db_run(&d->db, &stmt_doctor_receives, 0, NULL) == -1)
		return -1;
	if (*db_col(&d->db, 0, 0) == 't')
		return doctor_say(d, DOCTOR_WARN, NULL, "hook-doctor --nginx"
		    " file", "can't tell: there are sources, and no nginx"
		    " that passes on to hook-receive");
	return doctor_say(d, DOCTOR_OK, NULL, NULL, "nothing is received");
}

static int
judge_nginx(struct doctor *d, const char *path, int64_t size)
{
	char	 mend[128];

	if (size > 0 && size <= d->told.max_body)
		return 0;
	snprintf(mend, sizeof(mend), "client_max_body_size %" PRId64
	    "; and nginx -s reload", d->told.max_body);
	if (size == 0)
		return doctor_say(d, DOCTOR_FAIL, path, mend,
		    "nginx takes bodies of any size, hook-receive %" PRId64
		    " bytes", d->told.max_body);
	return doctor_say(d, DOCTOR_FAIL, path, mend, "nginx takes bodies of"
	    " %" PRId64 " bytes, hook-receive %" PRId64, size,
	    d->told.max_body);
}

/* Of all that is said the largest counts: who is right is nginx's to know. */
static int
note_size(void *arg, const char *path, const char *line)
{
	static const char	 word[] = "client_max_body_size";
	struct sizes		*s = arg;
	char			*end;
	int64_t			 n;

	line += strspn(line, " \t");
	if (*line == '#')
		return 0;
	if (strstr(line, "hook_receive") != NULL ||
	    strstr(line, "/webhooks") != NULL)
		s->ours = 1;
	if ((line = strstr(line, word)) == NULL)
		return 0;
	line += strlen(word);
	n = strtoll(line, &end, 10);
	if (end == line)
		return 0;
	n *= *end == 'k' || *end == 'K' ? 1024 : *end == 'm' || *end == 'M' ?
	    1024 * 1024 : *end == 'g' || *end == 'G' ? 1 << 30 : 1;
	if (s->most == 0 || (n != 0 && n <= s->most))
		return 0;
	s->most = n;
	strlcpy(s->path, path, sizeof(s->path));
	return 0;
}
