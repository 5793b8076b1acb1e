/*
 * arr.h - one-dimensional SQL arrays as binary parameters.
 *
 * A batch statement takes one array a column and unnests them.  Binary, since
 * the text form would have to quote every byte that a remote side chose.
 * Format: PostgreSQL, src/backend/utils/adt/arrayfuncs.c, array_recv().
 *
 * Ownership: a struct arr owns its bytes until arr_free(); what arr_arg()
 * gives points into them and lives until the next arr_ call on it.
 *
 * Errors: none to check at each call: a failed one is remembered, and
 * arr_failed() tells (out of memory, or over ARR_MAX bytes).
 */
#ifndef ARR_H
#define ARR_H

#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "db.h"

#define ARR_MAX		(256u << 20)	/* bytes */

enum arr_type {			/* the element types' pg_type.oid */
	ARR_BOOL = 16, ARR_BYTEA = 17, ARR_INT8 = 20, ARR_INT4 = 23,
	ARR_TEXT = 25, ARR_TIMESTAMPTZ = 1184
};

struct arr {
	enum arr_type	type;
	struct buf	bytes;
	size_t		n;		/* elements */
	int		nulls, failed;
};

void	 arr_init(struct arr *, enum arr_type);
void	 arr_reset(struct arr *);	/* forget the elements */
void	 arr_free(struct arr *);

void	 arr_null(struct arr *);
void	 arr_bool(struct arr *, int);
void	 arr_int4(struct arr *, int32_t);
/* For bigint[]; and timestamptz[], in microseconds since 2000-01-01. */
void	 arr_int8(struct arr *, int64_t);
/* For text[] and bytea[]; NULL is SQL null. */
void	 arr_bytes(struct arr *, const void *, size_t len);

int	 arr_failed(const struct arr *);
struct db_arg arr_arg(struct arr *);

#endif /* ARR_H */
