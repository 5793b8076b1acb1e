/*
 * sink.h - a scripted HTTP/1.1 server for the tests.
 *
 * Never installed, only loopback, trusts its rules.  main.c holds the loop
 * and the log, rule.c reads rules, serve.c is one connection,
 * wire.c its bytes.
 */
#ifndef SINK_H
#define SINK_H

#include <sys/types.h>

#include <stddef.h>
#include <stdint.h>

#define MAX_IN		(64u << 20)	/* bytes of one request */

/* What happens when all of an answer is sent; or at once, if it is empty. */
enum then { THEN_KEEP, THEN_CLOSE, THEN_RST, THEN_HANG };

struct answer {
	char		*bytes;		/* head and body */
	size_t		 len;
	int		 status;	/* for the log; 0: none sent */
	int		 delay_ms;
	size_t		 slow_from;	/* these bytes of it go in steps */
	size_t		 slow_to;
	size_t		 step;
	int		 tick_ms;	/* pause after each step */
	const char	*fill;		/* then this, again and again */
	size_t		 fill_len;
	uint64_t	 fill_bytes;	/* in all; UINT64_MAX: for ever */
	int		 fill_ms;	/* pause after each fill_len bytes */
	int		 early;		/* do not wait for the body */
	int		 idle_ms;	/* of the connection afterwards; 0: - */
	enum then	 then;
};

/* One counter of a hash by name; main.c owns them, they are never freed. */
struct count {
	struct count	*next;
	char		*name;
	long		 total;
	long		 now;		/* in flight */
	long		 most;
	int		 is_path;
};

/* rule.c */
int	 rules_load(const char *text, const char **why);	/* -1: bad */
const struct answer *rules_match(const char *path, const char *id,
	    const struct count *, int reused);

/* main.c */
extern const char	*dir;		/* of the log and the requests */
extern int		 quiet;		/* keep nothing but the counters */
extern int		 idle_ms;	/* of every connection; 0: for ever */
struct count *count_get(const char *name);
void	 count_reset(void);
char	*stats_text(void);
void	 save(long n, const char *what, const char *bytes, size_t len);
void	 say(const char *fmt, ...) __attribute__((__format__(printf, 1, 2)));
int64_t	 now_us(void);			/* monotonic */
int64_t	 clock_us(void);		/* CLOCK_REALTIME */

/* wire.c; bytes, 0 at the end, -1 when it would block */
struct ssl_st;
struct ssl_ctx_st;
ssize_t	 wire_read(int fd, struct ssl_st *, char *, size_t);
ssize_t	 wire_write(int fd, struct ssl_st *, const char *, size_t);
int	 wire_shake(struct ssl_st *, short *want);	/* 1 done, 0, -1 */

/* serve.c */
struct conn;
struct conn *conn_new(int fd, struct ssl_ctx_st *);
int	 conn_fd(const struct conn *);
short	 conn_want(const struct conn *);	/* poll(2) events */
int64_t	 conn_wake_us(const struct conn *);	/* or INT64_MAX */
/* Is the peer gone in the middle of our answer? */
int	 conn_gone(struct conn *, short revents);
/* Go on; -1 when it is over and freed. */
int	 conn_step(struct conn *, short revents);
void	 conn_drop(struct conn *);

#endif /* SINK_H */
