#include <stdlib.h>
#include <string.h>

#include "counts.h"

static const char *const name[COUNT_MAX] = {
	[COUNT_STORED] = "stored",
	[COUNT_DUPLICATE] = "duplicate",
	[COUNT_HANDSHAKE] = "handshake",
	[COUNT_UNAUTHORIZED] = "unauthorized",
	[COUNT_REFUSED] = "refused",
	[COUNT_UNAVAILABLE] = "unavailable",
};

void
counts_init(struct counts *c)
{
	memset(c, 0, sizeof(*c));
	arr_init(&c->label, ARR_TEXT);
	arr_init(&c->outcome, ARR_TEXT);
	arr_init(&c->n, ARR_INT8);
}

void
counts_free(struct counts *c)
{
	arr_free(&c->label);
	arr_free(&c->outcome);
	arr_free(&c->n);
	free(c->source);
	free(c->delta);
}

static int
nothing(const struct source *src)
{
	size_t	 i;

	for (i = 0; i < COUNT_MAX; i++)
		if (src->count[i] != 0)
			return 0;
	return 1;
}

size_t
counts_collect(struct counts *c, const struct sources *s)
{
	struct source	*src;
	size_t		 i;

	free(c->source);
	free(c->delta);
	c->source = calloc(s->n + 1, sizeof(*c->source));
	c->delta = calloc(s->n + 1, sizeof(*c->delta));
	c->nsource = 0;
	if (c->source == NULL || c->delta == NULL)
		return 0;
	for (i = 0; i <= s->n; i++) {
		src = i < s->n ? s->all[i] : s->unknown;
		if (nothing(src))
			continue;
		memcpy(c->delta[c->nsource], src->count, sizeof(src->count));
		c->source[c->nsource++] = src;
	}
	return c->nsource;
}

int
counts_args(struct counts *c, struct db_arg arg[3])
{
	size_t	 i, j;

	arr_reset(&c->label);
	arr_reset(&c->outcome);
	arr_reset(&c->n);
	for (i = 0; i < c->nsource; i++)
		for (j = 0; j < COUNT_MAX; j++) {
			if (c->delta[i][j] == 0)
				continue;
			arr_bytes(&c->label, c->source[i]->name,
			    strlen(c->source[i]->name));
			arr_bytes(&c->outcome, name[j], strlen(name[j]));
			arr_int8(&c->n, c->delta[i][j]);
		}
	if (arr_failed(&c->label) || arr_failed(&c->outcome) ||
	    arr_failed(&c->n))
		return -1;
	arg[0] = arr_arg(&c->label);
	arg[1] = arr_arg(&c->outcome);
	arg[2] = arr_arg(&c->n);
	return 0;
}

void
counts_stored(struct counts *c)
{
	size_t	 j;

	while (c->nsource > 0) {
		c->nsource--;
		for (j = 0; j < COUNT_MAX; j++)
			c->source[c->nsource]->count[j] -=
			    c->delta[c->nsource][j];
	}
}
