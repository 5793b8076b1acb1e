/*
 * pace: commit events at a pace.
 *
 *	pace [-b batch] [-c connections] [-g mean-gap-ms | -r rate] [-k kinds]
 *	    [-n transactions] [-t type]
 *
 * With -g the gaps are random, uniform in (0, 2 x mean); with -r, transactions
 * a second, they are even, and one that is late is made at once.  With -k the
 * type has a number from 1 to kinds behind it, in turns.  Prints a line an
 * event, in no order: its id, and microseconds since 1970 when its commit was
 * known; with -b, that many in a transaction, nothing.  The database is that
 * of the PG* environment.
 */
#include <err.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include <libpq-fe.h>

#define CONNS	64
#define INSERT	"insert into webhook_outbox (event_type, payload) values" \
		" ($1, $2) returning event_id"
#define MANY	"insert into webhook_outbox (event_type, payload) select" \
		" $1::text, $2::json from generate_series(1, $3::integer)"

static int64_t		 n = 500, nconn = 1, kinds;
static double		 gap_ms, rate;
static const char	*type = "bench.event", *batch;
static char		 payload[301];
static struct timespec	 start;

static int64_t
micros(clockid_t clock)
{
	struct timespec	 ts;

	clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* Until the i-th event is to be made. */
static void
wait_for_turn(int64_t i)
{
	struct timespec	 ts = start;
	double		 ns;

	if (rate > 0) {
		ns = (double)ts.tv_nsec + (double)i / rate * 1e9;
		ts.tv_sec += (time_t)(ns / 1e9);
		ts.tv_nsec = (long)(ns - (double)(int64_t)(ns / 1e9) * 1e9);
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
	} else if (gap_ms > 0) {
		ns = gap_ms * 2e6 * (double)arc4random() / 4294967296.0;
		ts.tv_sec = (time_t)(ns / 1e9);
		ts.tv_nsec = (long)ns % 1000000000;
		nanosleep(&ts, NULL);
	}
}

static void *
produce(void *arg)
{
	int64_t		 i = (int64_t)(intptr_t)arg;
	const char	*v[3] = { type, payload, batch };
	char		 kind[128];
	PGconn		*c;
	PGresult	*r;

	c = PQconnectdb("application_name=pace");
	if (PQstatus(c) != CONNECTION_OK)
		errx(EX_TEMPFAIL, "%s", PQerrorMessage(c));
	PQclear(PQprepare(c, "insert", batch != NULL ? MANY : INSERT, 0, NULL));
	for (; i < n; i += nconn) {
		wait_for_turn(i);
		if (kinds > 0) {
			snprintf(kind, sizeof(kind), "%s%" PRId64, type,
			    i % kinds + 1);
			v[0] = kind;
		}
		r = PQexecPrepared(c, "insert", batch != NULL ? 3 : 2, v,
		    NULL, NULL, 0);
		if (PQresultStatus(r) == PGRES_TUPLES_OK)
			printf("%s %" PRId64 "\n", PQgetvalue(r, 0, 0),
			    micros(CLOCK_REALTIME));
		else if (PQresultStatus(r) != PGRES_COMMAND_OK)
			errx(EX_TEMPFAIL, "%s", PQerrorMessage(c));
		PQclear(r);
	}
	PQfinish(c);
	return NULL;
}

int
main(int argc, char *argv[])
{
	pthread_t	 thread[CONNS];
	int64_t		 i;
	int		 ch;

	while ((ch = getopt(argc, argv, "b:c:g:k:n:r:t:")) != -1)
		switch (ch) {
		case 'b':
			batch = optarg;
			break;
		case 'c':
			nconn = strtoll(optarg, NULL, 10);
			break;
		case 'g':
			gap_ms = strtod(optarg, NULL);
			break;
		case 'k':
			kinds = strtoll(optarg, NULL, 10);
			break;
		case 'n':
			n = strtoll(optarg, NULL, 10);
			break;
		case 'r':
			rate = strtod(optarg, NULL);
			break;
		case 't':
			type = optarg;
			break;
		default:
			exit(EX_USAGE);
		}
	if (optind != argc || n < 1 || nconn < 1 || nconn > CONNS)
		errx(EX_USAGE, "usage: pace [-b batch] [-c connections]"
		    " [-g gap-ms] [-k kinds] [-n transactions] [-r rate]"
		    " [-t type]");
	memset(payload, 'x', 300);
	memcpy(payload, "{\"data\":\"", 9);
	memcpy(payload + 298, "\"}", 2);
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (i = 0; i < nconn; i++)
		if (pthread_create(&thread[i], NULL, produce,
		    (void *)(intptr_t)i) != 0)
			errx(EX_TEMPFAIL, "no thread");
	for (i = 0; i < nconn; i++)
		pthread_join(thread[i], NULL);
	if (fflush(stdout) == EOF)
		err(EX_TEMPFAIL, "standard output");
	return 0;
}
