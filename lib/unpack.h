/*
 * unpack.h - a request body out of its content coding, with zlib.
 *
 * For senders that sign what they had before compressing.  However little
 * came, no more than out->max bytes are made of it.
 */
#ifndef UNPACK_H
#define UNPACK_H

#include "buf.h"
#include "http.h"

/*
 * coding is the value of Content-Encoding.  1 unpacked; 0 it was not packed
 * (NULL, "identity"); -1: 415 a coding that is not known, 400 a body that is
 * not of it, 413 too large, 503 without memory.
 */
int	 unpack(const char *coding, const void *, size_t len,
	    struct buf *out, struct http_error *) BUF_CHECKED;

#endif /* UNPACK_H */
