/*
 * serve_int.h - a connection of serve.h; for serve.c and serve_conn.c alone.
 */
#ifndef SERVE_INT_H
#define SERVE_INT_H

#include <sys/queue.h>

#include "serve.h"

/* What a connection waits for; each has its own list, oldest first. */
enum serve_state {
	SERVE_IDLE, SERVE_HEAD, SERVE_BODY, SERVE_BUSY, SERVE_SEND,
	SERVE_LINGER, SERVE_CLOSED
};
#define SERVE_STATES	(SERVE_CLOSED + 1)

/* What epoll points at begins with its kind. */
enum serve_kind { SERVE_CONN, SERVE_LISTENER, SERVE_EXTRA };

struct serve_conn {
	enum serve_kind		 kind;
	int			 fd;	/* -1: closed, freed after the round */
	TAILQ_ENTRY(serve_conn)	 link;
	struct serve		*serve;
	enum serve_state	 state;
	int64_t			 since_ms;
	int			 readable;	/* as far as we know */
	int			 ended;	/* its end has come; may be unread */
	int			 moving, again, keep;
	int			 blank;	/* an empty line was passed over */
	int			 bare;	/* HEAD: the answer has no body */
	struct buf		 in, out;
	size_t			 seen, sent, held, drained;
	struct http_chunks	 chunks;
	struct sockaddr_storage	 peer;
	struct serve_whole {
		struct serve_request	 r;
		char			*head;
	}			*request;	/* being read or answered */
};

TAILQ_HEAD(serve_list, serve_conn);

struct serve_listener {
	enum serve_kind		 kind;
	int			 fd;
	SLIST_ENTRY(serve_listener) link;
};

struct serve {
	struct serve_conf	 conf;
	enum serve_kind		 extra;
	int			 epoll, stopping, paused;
	int64_t			 now_ms, resume_ms;
	struct serve_list	 list[SERVE_STATES];
	SLIST_HEAD(, serve_listener) listener;
	size_t			 nconn, held, nagain;
	struct buf		 text;		/* of an answer */
	char			 date[40];
	int64_t			 date_s;
};

/* Read and answer as far as goes without waiting. */
void	 serve_move(struct serve_conn *);
/* Answer a request that is none, or late, and be rid of the connection. */
void	 serve_refuse(struct serve_conn *, const struct http_error *);
/* What of an answer is left. */
void	 serve_flush(struct serve_conn *);
void	 serve_state(struct serve_conn *, enum serve_state);
void	 serve_close(struct serve_conn *);

#endif /* SERVE_INT_H */
