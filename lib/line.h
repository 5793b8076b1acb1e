/*
 * line.h - the lines of a descriptor, numbered, with a ceiling on each.
 *
 * Ownership: s lives until the next call.  It is NUL-terminated and has no
 * newline; the last line may lack its own.
 * Errors: -1 with errno: EFBIG for a line over max bytes, EILSEQ for one
 * that holds a NUL byte; number is that line's.
 */
#ifndef LINE_H
#define LINE_H

#include <stddef.h>

#include "buf.h"

struct line {
	char		*s;
	size_t		 len;		/* bytes */
	size_t		 number;	/* 1 is the first */
	int		 fd;
	int		 eof;
	size_t		 next;		/* where the rest begins in buf */
	struct buf	 buf;
};

void	 line_init(struct line *, int fd, size_t max);

/* 1: s is the next line; 0: there is none; -1. */
int	 line_next(struct line *) BUF_CHECKED;

void	 line_free(struct line *);

#endif /* LINE_H */
