/*
 * member.h - one value out of a JSON text by its path, from hostile bytes.
 *
 * A path is ".name" once or more: ".data.object.id".  Names are compared as
 * JSON reads them ("\u0069d" is id), and one that stands twice in its object
 * is an error: whoever reads the text after us might take the other.  Nested
 * as deep as may be, nothing recurses; time grows with length times the
 * path's names.  The rest of the text need not be JSON.
 */
#ifndef MEMBER_H
#define MEMBER_H

#include <stddef.h>

#include "buf.h"

struct member {
	const char	*s;		/* in the text, as it is spelt */
	size_t		 len;
};

/* 1 found; 0 not there; -1 no object there, or a name twice. */
int	 member_find(const char *text, size_t len, const char *path,
	    struct member *);

/*
 * Append a value: a string as JSON reads it (\u0000 is a NUL byte, half a
 * surrogate pair U+FFFD), a number, true or false as spelt.  1; 0 for null,
 * an object, an array or what is no value; -1 without memory or room.
 */
int	 member_text(const struct member *, struct buf *out) BUF_CHECKED;

/* The next value of an array; *at is NULL at first.  1; 0 no more; -1. */
int	 member_next(const struct member *array, const char **at,
	    struct member *);

#endif /* MEMBER_H */
