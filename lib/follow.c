#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "db_async.h"
#include "follow.h"
#include "log.h"
#include "notify.h"

#define PAUSE_MIN_MS	100
#define PAUSE_MAX_MS	5000
#define GIVE_UP_MS	20000	/* on a statement, after a signal */

volatile sig_atomic_t follow_stop, follow_hup;
int follow_code;

static void
on_signal(int sig)
{
	if (sig == SIGHUP)
		follow_hup = 1;
	else if (follow_stop < 2)
		follow_stop = follow_stop + 1;
}

void
follow_signals(void)
{
	struct sigaction	 sa;

	memset(&sa, 0, sizeof(sa));
	sigemptyset(&sa.sa_mask);
	sa.sa_handler = on_signal;
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	sa.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &sa, NULL);
	notify_init();
}

void
follow_name(char *name, size_t size)
{
	char	 host[64] = "host";

	gethostname(host, sizeof(host) - 1);
	snprintf(name, size, "%s:%ld:%08" PRIx32, host, (long)getpid(),
	    arc4random());
}

int64_t
follow_now_ms(void)
{
	struct timespec	 ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int64_t
follow_lost(struct follow *f, const char *why)
{
	int64_t	 pause_ms;

	if (f->lost_at_ms == 0) {
		f->lost_at_ms = follow_now_ms();
		f->pause_ms = PAUSE_MIN_MS;
		log_event(LOG_WARNING, "database fails, trying again",
		    "reason", why, NULL);
		notify_status("database fails, trying again", why);
	}
	pause_ms = f->pause_ms;
	f->pause_ms = pause_ms * 2 > PAUSE_MAX_MS ? PAUSE_MAX_MS :
	    pause_ms * 2;
	return pause_ms;
}

void
follow_back(struct follow *f)
{
	char	 s[32];

	notify_ready("working");
	if (f->lost_at_ms == 0)
		return;
	snprintf(s, sizeof(s), "%lld",
	    (long long)(follow_now_ms() - f->lost_at_ms));
	log_event(LOG_NOTICE, "database back", "after_ms", s, NULL);
	notify_status("working", NULL);
	f->lost_at_ms = 0;
}

void
follow_beat(struct db *db)
{
	if (follow_stop || db_version_is(db, db_int(db, 0, 1)) == 0)
		return;
	log_event(LOG_ERROR, "stopping", "reason", db_error(db), NULL);
	follow_code = db_exitcode(db);
	follow_stop = 1;
}

void
follow_pause(int64_t ms)
{
	int64_t	 now_ms = follow_now_ms(), end_ms = now_ms + ms;

	while (!follow_stop && now_ms < end_ms) {
		(void)poll(NULL, 0, notify_wait(end_ms - now_ms, now_ms));
		now_ms = follow_now_ms();
		notify_alive(now_ms);
	}
}

int
follow_db_wait(void *arg, int fd, int write, int timeout_ms)
{
	static int64_t	 stop_ms;	/* when we saw that we should */
	struct pollfd	 pfd = { .fd = fd };
	int64_t		 now_ms = follow_now_ms();

	(void)arg;
	notify_alive(now_ms);
	if (follow_stop && stop_ms == 0)
		stop_ms = now_ms;
	if (stop_ms != 0 && now_ms - stop_ms >= GIVE_UP_MS)
		return -1;
	pfd.events = write ? POLLIN | POLLOUT : POLLIN;
	(void)poll(&pfd, 1, notify_wait(timeout_ms, now_ms));
	return 0;
}
