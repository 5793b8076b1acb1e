/*
 * xfer.h - one request under way and what has come of it so far: the inside
 * of send.c; nobody else calls it.
 *
 * What libcurl hands over is a remote side's: it is counted before it is
 * looked at, and only printable ASCII gets into a reason.
 */
#ifndef XFER_H
#define XFER_H

#include <curl/curl.h>

#include "send.h"

#define XFER_ERROR_MAX	512		/* bytes of a recorded reason */

struct xfer {
	CURL			*easy;
	struct sender		*sender;
	struct xfer		*next;		/* in free, or in running */
	struct xfer		*prev;
	struct send_request	 req;
	struct curl_slist	 list[SEND_HEADERS];
	char			 curl_why[CURL_ERROR_SIZE];
	char			 error[XFER_ERROR_MAX];
	char			 address[64];	/* refused, or "" */
	int			 dialled;	/* sockets that were opened */
	int			 tls;		/* its handshake has begun */
	int			 proxied, resent;
	int64_t			 begun_ms;	/* CLOCK_MONOTONIC */
	/* the answer */
	int			 status, interims;
	int			 abort, head_done, too_much;
	char			 moved[256];	/* Location */
	char			 after[64];	/* Retry-After, or "" */
	unsigned char		 body[SEND_BODY_KEPT];
	size_t			 body_len, body_seen, head_seen;
};

/* Forget the last answer. */
void	 xfer_reset(struct xfer *);

/* For CURLOPT_HEADERFUNCTION and CURLOPT_WRITEFUNCTION. */
size_t	 xfer_head(char *, size_t, size_t, void *);
size_t	 xfer_body(char *, size_t, size_t, void *);

/*
 * The request was sent on a used connection that the peer closed before one
 * byte of an answer: that says nothing about the endpoint.
 */
int	 xfer_unheard(const struct xfer *, CURLcode);

/* No socket could be opened, since all addresses are forbidden. */
int	 xfer_blocked(const struct xfer *);

/* It is over: make it a status, or none and the reason why. */
void	 xfer_judge(struct xfer *, CURLcode);

#endif /* XFER_H */
