/*
 * parcel.h - an incoming message in a consumer's memory, and what its
 * handler is given of it.
 *
 * Ownership: a message owns what parcel_free() frees; a list is linked by
 * next.
 * Errors: NULL or -1 with errno.
 */
#ifndef PARCEL_H
#define PARCEL_H

#include <stddef.h>
#include <stdint.h>

#include "buf.h"

#define PARCEL_ENV_MAX	(64 * 1024)	/* bytes of all headers */
#define PARCEL_VAR_MAX	(8 * 1024)	/* bytes of any other value */

struct parcel {
	struct parcel	*next;
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
void	 parcel_free(struct parcel *);

/*
 * The environment of a handler: ours, without secrets and what is set here;
 * batch: of a list.  One block of memory, to be freed with free().
 */
char	**parcel_env(const struct parcel *, const char *source, int batch);

/* Append a line of NDJSON. */
int	 parcel_line(const struct parcel *, const char *source,
	    struct buf *) BUF_CHECKED;

/*
 * A handler's standard input: a file in memory, with the body or, batch, a
 * line for each of the list.  A descriptor, or -1.
 */
int	 parcel_input(const struct parcel *, const char *source, int batch);

/* A descriptor with these bytes to read. */
int	 parcel_file(const void *, size_t len);

#endif /* PARCEL_H */
