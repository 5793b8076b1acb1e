#include <arpa/inet.h>
#include <endian.h>
#include <string.h>

#include "arr.h"

#define HEAD	20	/* bytes: dimensions, nulls, type, length, bound */

static void	 put(struct arr *, const void *, uint32_t);

void
arr_init(struct arr *a, enum arr_type type)
{
	memset(a, 0, sizeof(*a));
	a->type = type;
	a->bytes.max = ARR_MAX;
	arr_reset(a);
}

void
arr_reset(struct arr *a)
{
	static const char	 head[HEAD];

	buf_reset(&a->bytes);
	a->n = 0;
	a->nulls = 0;
	a->failed = buf_add(&a->bytes, head, HEAD) == -1;
}

void
arr_free(struct arr *a)
{
	buf_free(&a->bytes);
}

static void
put(struct arr *a, const void *val, uint32_t len)
{
	uint32_t	 n = htonl(len);

	if (a->failed || buf_add(&a->bytes, &n, sizeof(n)) == -1 ||
	    buf_add(&a->bytes, val, len) == -1)
		a->failed = 1;
	a->n++;
}

void
arr_null(struct arr *a)
{
	uint32_t	 n = htonl(UINT32_MAX);

	if (a->failed || buf_add(&a->bytes, &n, sizeof(n)) == -1)
		a->failed = 1;
	a->n++;
	a->nulls = 1;
}

void
arr_bool(struct arr *a, int v)
{
	char	 c = v != 0;

	put(a, &c, sizeof(c));
}

void
arr_int4(struct arr *a, int32_t v)
{
	uint32_t	 n = htonl((uint32_t)v);

	put(a, &n, sizeof(n));
}

void
arr_int8(struct arr *a, int64_t v)
{
	uint64_t	 n = htobe64((uint64_t)v);

	put(a, &n, sizeof(n));
}

void
arr_bytes(struct arr *a, const void *s, size_t len)
{
	if (s == NULL)
		arr_null(a);
	else if (len > ARR_MAX)
		a->failed = 1;
	else
		put(a, s, (uint32_t)len);
}

int
arr_failed(const struct arr *a)
{
	return a->failed;
}

struct db_arg
arr_arg(struct arr *a)
{
	uint32_t	 head[HEAD / 4];

	head[0] = htonl(a->n > 0);
	head[1] = htonl((uint32_t)a->nulls);
	head[2] = htonl((uint32_t)a->type);
	head[3] = htonl((uint32_t)a->n);
	head[4] = htonl(1);
	if (a->failed)
		return (struct db_arg){ NULL, 0 };
	memcpy(a->bytes.s, head, HEAD);
	/* Without elements there is no dimension: twelve bytes. */
	return (struct db_arg){ a->bytes.s,
	    a->n > 0 ? (int)a->bytes.len : 12 };
}
