/*
 * serve.h - an HTTP server for many connections in one thread: whole requests
 * in, answers out, in any order and at any time.
 *
 * What a client can do is bounded: the time for a head and for a body, as a
 * whole and not per read; the bytes of both; the memory of all requests that
 * are not answered yet; the number of connections.  When there are too many,
 * the one that has kept us waiting longest makes room for a new one, so slow
 * clients can't shut others out; nothing ever spins.
 *
 * Ownership: a struct serve_request belongs to the server, lives from take()
 * to serve_answer() and must be answered once, even if its client is gone.
 * Errors: NULL or -1 with errno.  Durations are in milliseconds.
 */
#ifndef SERVE_H
#define SERVE_H

#include <sys/socket.h>

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "http.h"

struct serve;

struct serve_request {
	struct http_request	 http;
	struct buf		 body;
	struct sockaddr_storage	 peer;
	void			*user;	/* for whoever answers; NULL at first */
	struct serve_conn	*conn;	/* the server's own */
};

struct serve_answer {
	int		 status;
	const char	*type;		/* of the body; NULL: text/plain */
	const void	*body;
	size_t		 len;		/* bytes */
	const char	*more;		/* header lines with CR LF, or NULL */
};

struct serve_conf {
	size_t	 max_body;		/* bytes of one request */
	size_t	 max_held;		/* bytes of all, about */
	size_t	 max_conn;
	int64_t	 head_ms, body_ms;	/* to send one, from its beginning */
	int64_t	 idle_ms;		/* between requests */
	int64_t	 send_ms;		/* to take an answer */
	void	*arg;
	/* A whole request. */
	void	 (*take)(void *arg, struct serve_request *);
	/* One that was answered already, since it was none or too large. */
	void	 (*refused)(void *arg, const struct sockaddr_storage *peer,
		    const struct http_error *);
};

struct serve *serve_new(const struct serve_conf *);
void	 serve_free(struct serve *);

/* Accept on this socket too; it is the server's from now on. */
int	 serve_listen(struct serve *, int fd);

/*
 * Wait up to timeout_ms (-1: no limit), or until a signal, and move all
 * connections on.  also (n of them, with POLLIN and POLLOUT as for poll(2))
 * are more descriptors to wait for: 1 when something is there, else 0.  -1:
 * epoll fails.
 */
int	 serve_wait(struct serve *, const struct pollfd *also, int n,
	    int timeout_ms);

void	 serve_answer(struct serve_request *, const struct serve_answer *);

/*
 * Accept no more, take what has arrived whole, close all that waits.  What is
 * taken is still to be answered: serve_open() says how many connections are.
 */
void	 serve_stop(struct serve *);
size_t	 serve_open(const struct serve *);

#endif /* SERVE_H */
