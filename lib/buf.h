/*
 * buf.h - growable bytes with a ceiling.
 *
 * Ownership: a struct buf owns s until buf_free().  s is NULL or holds len
 * bytes followed by a NUL that is not counted, so text may be used as a
 * string.  What is added must not lie in the buffer itself.  Memory outgrown
 * is overwritten before it is freed.  Knows nothing of this suite.
 *
 * Errors: -1 with errno ENOMEM, or EFBIG when max bytes would be exceeded;
 * the buffer then holds what it held before (buf_readall: what fitted).
 */
#ifndef BUF_H
#define BUF_H

#include <stddef.h>

struct buf {
	char	*s;
	size_t	 len;		/* bytes */
	size_t	 cap;		/* bytes allocated, or 0 */
	size_t	 max;		/* ceiling for len, in bytes */
};

#define BUF_INIT(maxbytes)	{ NULL, 0, 0, (maxbytes) }

#define BUF_CHECKED	__attribute__((__warn_unused_result__))

/* Append n bytes; a C string; formatted text. */
int	 buf_add(struct buf *, const void *, size_t n) BUF_CHECKED;
int	 buf_adds(struct buf *, const char *) BUF_CHECKED;
int	 buf_addf(struct buf *, const char *, ...) BUF_CHECKED
	    __attribute__((__format__(printf, 2, 3)));

/* Make room for n more bytes without changing len. */
int	 buf_room(struct buf *, size_t n) BUF_CHECKED;

/* Read a descriptor to its end. */
int	 buf_readall(struct buf *, int fd) BUF_CHECKED;

/*
 * Read the file at path to its end; errors are open(2)'s or the above.  "-" is
 * standard input, which is not opened again: another user's pipe can't be.
 */
int	 buf_readfile(struct buf *, const char *path) BUF_CHECKED;

/* Forget the content, keep the memory. */
void	 buf_reset(struct buf *);

/* Free; the buffer is empty and usable again. */
void	 buf_free(struct buf *);

/* The same for secrets: overwrite everything first. */
void	 buf_wipe(struct buf *);

#endif /* BUF_H */
