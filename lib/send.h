/*
 * send.h - POST many requests at once, each within bounds, and hear what
 * came of it.  The only part that dials out.
 *
 * HTTP and HTTPS only, HTTP/1.1, no redirect, no decompression, no proxy from
 * the environment.  Every address is judged by addr_may() when its socket is
 * opened, so a name that changes its mind between check and use gains
 * nothing.  All bytes of an answer are hostile; what is kept is bounded.
 *
 * Ownership: a request's strings are borrowed until its answer is taken.  An
 * answer lives until the next send_ call.
 */
#ifndef SEND_H
#define SEND_H

#include <stddef.h>
#include <stdint.h>

#include "addr.h"

#define SEND_CONNECT_MS	5000		/* resolve, connect, TLS */
#define SEND_HEAD_MAX	16384		/* bytes, interim heads included */
#define SEND_INTERIM_MAX 100		/* 1xx answers before the final one */
#define SEND_BODY_MAX	65536		/* bytes read of an answer's body */
#define SEND_BODY_KEPT	1024		/* bytes */
#define SEND_HEADERS	40		/* header lines of a request */

struct sender;
struct pollfd;

struct send_request {
	const char	*url;
	const char	*header[SEND_HEADERS];	/* "Name: value" */
	size_t		 nheader;
	const void	*body;
	size_t		 body_len;		/* bytes */
	long		 timeout_ms;		/* whole attempt */
	int64_t		 now_s;			/* unix time at its start */
	void		*arg;			/* comes back in the answer */
};

struct answer {
	void		*arg;
	int		 status;	/* final one; 0: none came */
	int		 abort;		/* "webhook-delivery: abort" */
	int		 blocked;	/* no address that may be dialled */
	int64_t		 after_ms;	/* Retry-After, or -1 */
	const char	*error;	/* "phase: reason", or NULL */
	const unsigned char *body;	/* its first bytes */
	size_t		 body_len;
	int		 duration_ms;
};

/*
 * max requests at once; proxy and ca_file may be NULL.  NULL with *why on
 * failure, errno being EINVAL if it is one of these two that is no good.
 */
struct sender *send_open(size_t max, const struct addr_allow *,
	    const char *proxy, const char *ca_file, const char **why);
void	 send_close(struct sender *);

/* How many more may be started now. */
size_t	 send_room(const struct sender *);

/* Start one; -1 with errno ENOMEM, or EAGAIN without room. */
int	 send_post(struct sender *, const struct send_request *);

/*
 * Move bytes and wait for at most timeout_ms, or until an extra descriptor
 * is ready.  -1 on failure, which is a bug or lack of memory.
 */
int	 send_wait(struct sender *, struct pollfd *extra, unsigned nextra,
	    int timeout_ms);

/* The next finished one; NULL when there is none now. */
const struct answer *send_answer(struct sender *, int64_t now_s);

/* End one that is under way, without an answer; its arg, NULL: none left. */
void	*send_abort(struct sender *);

#endif /* SEND_H */
