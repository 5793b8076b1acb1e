/*
 * message.h - an incoming message in a consumer's memory, and what its
 * handler is given of it.
 *
 * Ownership: a message owns what message_free() frees; a list is linked by
 * next.
 * Errors: NULL or -1 with errno.
 */
#ifndef MESSAGE_H
#define MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "buf.h"

#define MESSAGE_ENV_MAX	(64 * 1024)	/* bytes of all headers */
#define MESSAGE_VAR_MAX	(8 * 1024)	/* bytes of any other value */

struct message {
	struct message	*next;
	int64_t		 id, fence;
	int		 attempts;	/* this one too */
	int		 failures, takeovers;
	char		*key;		/* NULL or "": of none */
	char		*message_id, *event_type, *received_at;
	char		*headers;	/* NAME=value, a line each, or NULL */
	unsigned char	*body;
	size_t		 len;
	int		 is_json;
	int64_t		 until_ms;	/* it is ours until then, at least */
	/* what came of it: inbox_ack */
	const char	*outcome;
	int64_t		 pause_ms;
	int		 status, sig;	/* -1: none */
	char		*error;
	unsigned char	*tail;
	size_t		 tail_len;
	int		 acked;
};

/* Free a list. */
void	 message_free(struct message *);

/*
 * The environment of a handler: ours, without secrets and what is set here;
 * batch: of a list.  One block of memory, to be freed with free().
 */
char	**message_env(const struct message *, const char *source, int batch);

/* Append a line of NDJSON. */
int	 message_line(const struct message *, const char *source,
	    struct buf *) BUF_CHECKED;

/*
 * A handler's standard input: a file in memory, with the body or, batch, a
 * line for each of the list.  A descriptor, or -1.
 */
int	 message_input(const struct message *, const char *source, int batch);

/* A descriptor with these bytes to read. */
int	 message_file(const void *, size_t len);

#endif /* MESSAGE_H */
