/*
 * object.h - the members of a JSON object as they stand in its text.
 *
 * For what must keep its bytes: PostgreSQL's json -> operator fails on a
 * value with \u0000 or half a surrogate pair, though json itself takes it.
 * This only finds where a member begins and ends.  That a value is JSON is
 * for PostgreSQL to say; whatever is not an object of things of that shape is
 * refused here, and nothing outside the given bytes is read.
 */
#ifndef OBJECT_H
#define OBJECT_H

#include <stddef.h>

struct object {
	const char	*p, *end;	/* what is left */
	int		 begun;
};

/* Both point into the text; a key is without its quotes, as it is spelt. */
struct object_member {
	const char	*key, *value;
	size_t		 key_len, value_len;
};

void	 object_init(struct object *, const char *, size_t);

/* 1 the next member; 0 no more, and the text ends there; -1 no object. */
int	 object_next(struct object *, struct object_member *);

/* Where the value that begins at s ends; NULL: nothing ends before end. */
const char *object_skip(const char *s, const char *end);

#endif /* OBJECT_H */
