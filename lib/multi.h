/*
 * multi.h - a libcurl multi handle driven by epoll: only the transfers whose
 * sockets are ready are looked at, however many there are.
 *
 * Measured with 64 and 1,000 in flight against curl_multi_poll() and
 * curl_multi_perform(), which look at all of them each time: see hook(7).
 *
 * Times are CLOCK_MONOTONIC milliseconds.
 */
#ifndef MULTI_H
#define MULTI_H

#include <stddef.h>
#include <stdint.h>

struct pollfd;
struct multi_socket;

struct multi {
	void	*curl;			/* CURLM */
	int	 epoll;			/* descriptor, or -1 */
	int	 running;		/* transfers, as of the last look */
	int64_t	 timer_ms;		/* libcurl's next turn; -1 never */
	struct multi_socket *socket;	/* by descriptor */
	int	 nsocket;		/* allocated */
	int	*changed;		/* to be told to the kernel */
	int	 nchanged;
};

#define MULTI_INIT	{ .epoll = -1, .timer_ms = -1 }

/* -1: no memory or descriptor. */
int	 multi_open(struct multi *);
void	 multi_close(struct multi *);

/*
 * For CURLOPT_OPENSOCKETFUNCTION and CURLOPT_CLOSESOCKETFUNCTION: a socket
 * that these know of is left in the kernel's set between two transfers, which
 * saves two system calls for each.
 */
void	 multi_opened(struct multi *, int fd);
void	 multi_closed(struct multi *, int fd);

/*
 * Move bytes and wait for at most timeout_ms, or until an extra descriptor
 * is ready, or at once if fewer than busy transfers are still running.
 * -1: libcurl fails, which is a bug or lack of memory.
 */
int	 multi_wait(struct multi *, size_t busy, struct pollfd *extra,
	    unsigned nextra, int timeout_ms);

#endif /* MULTI_H */
