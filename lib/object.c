#include <string.h>

#include "object.h"

static int	 is(struct object *, char);
static int	 skip_string(struct object *);
static int	 skip_value(struct object *);
static void	 space(struct object *);

void
object_init(struct object *o, const char *s, size_t len)
{
	o->p = s;
	o->end = s + len;
	o->begun = 0;
}

int
object_next(struct object *o, struct object_member *m)
{
	space(o);
	if (!o->begun && !is(o, '{'))
		return -1;
	space(o);
	if (is(o, '}')) {
		space(o);
		return o->p == o->end ? 0 : -1;
	}
	if (o->begun && !is(o, ','))
		return -1;
	o->begun = 1;

	space(o);
	m->key = o->p + 1;
	if (skip_string(o) == -1)
		return -1;
	m->key_len = (size_t)(o->p - 1 - m->key);
	space(o);
	if (!is(o, ':'))
		return -1;
	space(o);
	m->value = o->p;
	if (skip_value(o) == -1)
		return -1;
	m->value_len = (size_t)(o->p - m->value);
	return m->value_len > 0 ? 1 : -1;
}

const char *
object_skip(const char *s, const char *end)
{
	struct object	 o = { s, end, 1 };

	return skip_value(&o) == -1 ? NULL : o.p;
}

/* Is this the next byte?  Then step over it. */
static int
is(struct object *o, char c)
{
	if (o->p == o->end || *o->p != c)
		return 0;
	o->p++;
	return 1;
}

static void
space(struct object *o)
{
	while (o->p < o->end && memchr(" \t\r\n", *o->p, 4) != NULL)
		o->p++;
}

static int
skip_string(struct object *o)
{
	if (!is(o, '"'))
		return -1;
	for (; o->p < o->end; o->p++) {
		if (*o->p == '"') {
			o->p++;
			return 0;
		}
		if (*o->p == '\\' && ++o->p == o->end)
			break;
	}
	return -1;
}

/* A string, brackets with all within, or a word of anything else. */
static int
skip_value(struct object *o)
{
	size_t	 depth = 0;

	do {
		if (o->p == o->end)
			return depth == 0 ? 0 : -1;
		switch (*o->p) {
		case '"':
			if (skip_string(o) == -1)
				return -1;
			break;
		case '{':
		case '[':
			depth++;
			o->p++;
			break;
		case '}':
		case ']':
			if (depth == 0)
				return 0;
			depth--;
			o->p++;
			break;
		case ',':
		case ' ':
		case '\t':
		case '\r':
		case '\n':
			if (depth == 0)
				return 0;
			/* FALLTHROUGH */
		default:
			o->p++;
		}
	} while (1);
}
