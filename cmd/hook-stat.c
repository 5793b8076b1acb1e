/*
 * hook-stat: is it well, and if not, who?  Once, again and again on a screen,
 * or for Prometheus.
 *
 * It changes nothing, needs the role webhook_viewer only, and reads little
 * however much there is: totals are counters that the programs keep, or
 * bounded looks (sql/query/stat-*.sql).
 */
#include <sys/stat.h>

#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "config.h"
#include "db_async.h"
#include "follow.h"
#include "hide.h"
#include "listen.h"
#include "log.h"
#include "notify.h"
#include "opt.h"
#include "screen.h"
#include "serve.h"
#include "status.h"

#define MAX_TEXT	(64 * 1024 * 1024)	/* bytes */
#define CACHE_MS	1000	/* several scrapers cost what one does */
#define LISTEN_MAX	16
#define SERVE_MS	10000	/* a client's time for a request */

enum form { AUTO, TABLE, JSON, PROM };

static const char	*conninfo, *out_path, *listen_at[LISTEN_MAX];
static size_t		 nlisten;
static enum form	 form;
static int64_t		 every_ms;	/* 0: once */
static int		 name_subs;
static struct db	 db = DB_INIT;
static struct status	 status;
static struct buf	 text = BUF_INIT(MAX_TEXT);

static void	 options(int, char *[]);
static int	 print(void);
static int	 put_file(void);
static int	 refresh(void);
static int	 render(void);
static int	 serve(void);
static void	 take(void *, struct serve_request *);
static _Noreturn void usage(int);
static int	 watch(void);

int
main(int argc, char *argv[])
{
	int	 rc;

	options(argc, argv);
	follow_signals();
	db.wait = follow_db_wait;
	if (nlisten > 0)
		rc = serve();
	else if (every_ms > 0)
		rc = watch();
	else if (refresh() == -1)
		errx(db_exitcode(&db), "%s", db_error(&db));
	else
		rc = print();
	status_free(&status);
	db_close(&db);
	buf_free(&text);
	return rc;
}

static void
options(int argc, char *argv[])
{
	const char	*why;
	int		 ch;

	while ((ch = getopt(argc, argv, "O:Vd:hl:o:sw:")) != -1)
		switch (ch) {
		case 'O':
			out_path = optarg;
			break;
		case 'V':
			puts(VERSION);
			exit(EX_OK);
		case 'd':
			conninfo = hide_arg(optarg);
			break;
		case 'h':
			usage(EX_OK);
		case 'l':
			if (nlisten == LISTEN_MAX)
				errx(EX_USAGE, "-l %s: too many", optarg);
			listen_at[nlisten++] = optarg;
			break;
		case 'o':
			form = strcmp(optarg, "table") == 0 ? TABLE :
			    strcmp(optarg, "json") == 0 ? JSON :
			    strcmp(optarg, "prom") == 0 ? PROM : AUTO;
			if (form == AUTO)
				errx(EX_USAGE, "-o %s: not table, json or"
				    " prom", optarg);
			break;
		case 's':
			name_subs = 1;
			break;
		case 'w':
			if (opt_duration(optarg, 100, 86400000, &every_ms,
			    &why) == -1)
				errx(EX_USAGE, "-w %s: %s", optarg, why);
			break;
		default:
			usage(EX_USAGE);
		}
	if (optind != argc || (nlisten > 0 && (every_ms > 0 ||
	    out_path != NULL || (form != AUTO && form != PROM))))
		usage(EX_USAGE);
	if (nlisten > 0)
		form = PROM;
	else if (form == AUTO)
		form = isatty(STDOUT_FILENO) && out_path == NULL ? TABLE :
		    JSON;
	if (name_subs && form != PROM)
		usage(EX_USAGE);
	if (form == PROM)
		status.subs = STATUS_SUBS_MAX;
}

/* Read all of it anew into text; connects where that is needed. */
static int
refresh(void)
{
	unsigned int	 parts = STATUS_SCREEN;

	if (form == PROM) {
		parts = STATUS_PART(STATUS_SOURCES) |
		    STATUS_PART(STATUS_TABLES) | STATUS_PART(STATUS_COUNTERS);
		if (name_subs)
			parts |= STATUS_PART(STATUS_SUBS);
	}
	if (db.conn == NULL && (db_open(&db, conninfo, "hook-stat") == -1 ||
	    status_session(&db) == -1))
		return -1;
	if (status_read(&status, &db, parts) == -1)
		return -1;
	if (render() == -1)
		err(EX_TEMPFAIL, NULL);
	return 0;
}

static int
render(void)
{
	FILE	*f;
	char	*s = NULL;
	size_t	 len;
	int	 rc;

	buf_reset(&text);
	if (form == JSON)
		return status_json(&status, &text);
	if (form == PROM)
		return status_prom(&status, &text);
	if ((f = open_memstream(&s, &len)) == NULL)
		return -1;
	rc = status_table(&status, f);
	if (fclose(f) == EOF || rc == -1)
		rc = -1;
	else
		rc = buf_add(&text, s, len);
	free(s);
	return rc;
}

static int
print(void)
{
	if (out_path != NULL)
		return put_file();
	if (fwrite(text.s, 1, text.len, stdout) != text.len ||
	    fflush(stdout) == EOF)
		err(EX_TEMPFAIL, "standard output");
	return EX_OK;
}

/* Whoever reads the file sees the old text or the new, never a part. */
static int
put_file(void)
{
	char	*tmp;
	FILE	*f = NULL;
	int	 fd;

	if (asprintf(&tmp, "%s.XXXXXX", out_path) == -1)
		err(EX_TEMPFAIL, NULL);
	if ((fd = mkstemp(tmp)) == -1)
		err(EX_UNAVAILABLE, "%s", tmp);
	if (fchmod(fd, 0644) == -1 || (f = fdopen(fd, "w")) == NULL ||
	    fwrite(text.s, 1, text.len, f) != text.len || fclose(f) == EOF ||
	    rename(tmp, out_path) == -1) {
		warn("%s", out_path);
		unlink(tmp);
		return EX_TEMPFAIL;
	}
	free(tmp);
	return EX_OK;
}

/* Again and again, through outages of the database. */
static int
watch(void)
{
	int	 key = 0, rc = EX_OK, screen = form == TABLE &&
		    out_path == NULL && screen_open();

	while (!follow_stop && key != 'q') {
		notify_alive(follow_now_ms());
		if (refresh() == -1) {
			if (db_exitcode(&db) != EX_TEMPFAIL) {
				screen_close();
				errx(db_exitcode(&db), "%s", db_error(&db));
			}
			buf_reset(&text);
			if (buf_addf(&text, "%s\n", db_error(&db)) == -1)
				err(EX_TEMPFAIL, NULL);
			db_close(&db);
			if (!screen)
				warnx("%s", text.s);
		} else {
			notify_ready("working");
			if (!screen && (rc = print()) != EX_OK)
				break;
		}
		do {
			if (screen && screen_draw(text.s) == -1)
				break;
			if (!screen) {
				follow_pause(every_ms);
				break;
			}
			key = screen_wait((int)every_ms);
		} while (key == 'r' && !follow_stop);
	}
	screen_close();
	notify_stopping();
	return rc;
}

static int
serve(void)
{
	struct serve_conf	 conf = { 0 };
	struct serve		*server;
	const char		*why;
	char			 name[80];
	int64_t			 now_ms;
	size_t			 i;
	int			 fd;

	conf.max_body = 1024;
	conf.max_held = 1024 * 1024;
	conf.max_conn = 64;
	conf.head_ms = conf.body_ms = conf.send_ms = SERVE_MS;
	conf.idle_ms = 6 * SERVE_MS;
	conf.take = take;
	if ((server = serve_new(&conf)) == NULL)
		err(EX_TEMPFAIL, "epoll");
	for (i = 0; i < nlisten; i++) {
		if ((fd = listen_on(listen_at[i], &why)) == -1)
			errx(strncmp(why, "not ", 4) == 0 ? EX_USAGE :
			    EX_UNAVAILABLE, "-l %s: %s", listen_at[i], why);
		if (serve_listen(server, fd) == -1)
			err(EX_UNAVAILABLE, "listen");
		listen_name(fd, name);
		log_event(LOG_NOTICE, "listening", "address", name, NULL);
	}
	notify_ready("listening");
	while (!follow_stop) {
		now_ms = follow_now_ms();
		notify_alive(now_ms);
		if (serve_wait(server, NULL, 0, notify_wait(SERVE_MS,
		    now_ms)) == -1)
			err(EX_TEMPFAIL, "epoll");
	}
	notify_stopping();
	serve_stop(server);
	serve_free(server);
	return EX_OK;
}

static void
answer(struct serve_request *r, int status_code, const char *type,
    const char *body)
{
	serve_answer(r, &(struct serve_answer){ .status = status_code,
	    .type = type, .body = body, .len = strlen(body) });
}

/* The text of a second ago will do; without the database there is none. */
static void
take(void *arg, struct serve_request *r)
{
	static struct follow	 life;
	static int64_t		 read_at_ms;
	const char		*path = r->http.target;
	size_t			 len = strcspn(path, "?");
	int64_t			 now_ms = follow_now_ms();

	(void)arg;
	if (strcmp(r->http.method, "GET") != 0) {
		serve_answer(r, &(struct serve_answer){ .status = 405,
		    .more = "Allow: GET\r\n" });
		return;
	}
	if (len == 8 && strncmp(path, "/healthz", len) == 0) {
		answer(r, 200, NULL, "ok\n");
		return;
	}
	if ((len != 8 || strncmp(path, "/metrics", len) != 0) &&
	    (len != 7 || strncmp(path, "/readyz", len) != 0)) {
		answer(r, 404, NULL, "not found\n");
		return;
	}
	if (read_at_ms == 0 || now_ms - read_at_ms >= CACHE_MS) {
		read_at_ms = 0;
		if (refresh() == -1) {
			(void)follow_lost(&life, db_error(&db));
			db_close(&db);
			answer(r, 503, NULL, "no database\n");
			return;
		}
		follow_back(&life);
		read_at_ms = follow_now_ms();
	}
	if (len == 7)
		answer(r, 200, NULL, "ok\n");
	else
		answer(r, 200, "text/plain; version=0.0.4; charset=utf-8",
		    text.s);
}

static _Noreturn void
usage(int code)
{
	fprintf(code == EX_OK ? stdout : stderr, "usage: %s [-hsV]"
	    " [-d conninfo] [-l address:port]... [-O file]"
	    " [-o table|json|prom] [-w interval]\n", getprogname());
	exit(code);
}
