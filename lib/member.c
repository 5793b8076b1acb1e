/*
 * member.c - one value out of a JSON text by its path.
 */
#include <stdint.h>
#include <string.h>

#include "member.h"
#include "object.h"

static int	 find_one(const char *, size_t, const char *, size_t,
		    struct member *);
static int	 same(const struct object_member *, const char *, size_t);
static int	 decode(const char *, size_t, struct buf *);
static int	 add_escape(const char **, const char *, struct buf *);
static int	 hex4(const char *, const char *, uint32_t *);
static int	 add_utf8(uint32_t, struct buf *);
static int	 is_word(const struct member *);
static int	 is_space(char);

int
member_find(const char *text, size_t len, const char *path,
    struct member *found)
{
	struct member	 in = { text, len };
	size_t		 n;
	int		 rc;

	do {
		path++;		/* the dot */
		n = strcspn(path, ".");
		if ((rc = find_one(in.s, in.len, path, n, found)) != 1)
			return rc;
		in = *found;
		path += n;
	} while (*path == '.');
	return 1;
}

int
member_text(const struct member *m, struct buf *out)
{
	size_t	 before = out->len;

	if (m->len >= 2 && m->s[0] == '"' && m->s[m->len - 1] == '"') {
		switch (decode(m->s + 1, m->len - 2, out)) {
		case 0:
			return 1;
		case 1:
			out->len = before;
			if (out->s != NULL)
				out->s[before] = '\0';
			return 0;
		default:
			return -1;
		}
	}
	if (!is_word(m))
		return 0;
	return buf_add(out, m->s, m->len) == -1 ? -1 : 1;
}

/* Read as an object whose names are left out: [1,2] is {"":1,"":2}. */
int
member_next(const struct member *array, const char **at, struct member *m)
{
	const char	*p = *at, *end = array->s + array->len;
	int		 first = p == NULL;

	if (first) {
		if (array->len < 2 || array->s[0] != '[' || end[-1] != ']')
			return -1;
		p = array->s + 1;
	}
	while (p < end && is_space(*p))
		p++;
	if (p == end)
		return -1;
	if (*p == ']')
		return p + 1 == end ? 0 : -1;
	if (!first) {
		if (*p++ != ',')
			return -1;
		while (p < end && is_space(*p))
			p++;
	}
	m->s = p;
	if ((p = object_skip(p, end)) == NULL || p == m->s)
		return -1;
	m->len = (size_t)(p - m->s);
	*at = p;
	return 1;
}

static int
find_one(const char *text, size_t len, const char *name, size_t n,
    struct member *found)
{
	struct object		 o;
	struct object_member	 m;
	int			 rc, have = 0;

	object_init(&o, text, len);
	while ((rc = object_next(&o, &m)) == 1) {
		if (!same(&m, name, n))
			continue;
		if (have++)
			return -1;
		found->s = m.value;
		found->len = m.value_len;
	}
	return rc == -1 ? -1 : have;
}

/* Is that the name of a member?  Ours are short and plain. */
static int
same(const struct object_member *m, const char *name, size_t n)
{
	struct buf	 key = BUF_INIT(SIZE_MAX - 1);
	int		 yes;

	if (memchr(m->key, '\\', m->key_len) == NULL)
		return m->key_len == n && memcmp(m->key, name, n) == 0;
	if (m->key_len > 6 * n)		/* six for a \u0000 */
		return 0;
	yes = decode(m->key, m->key_len, &key) == 0 && key.len == n &&
	    memcmp(key.s, name, n) == 0;
	buf_free(&key);
	return yes;
}

/* The inside of a string; 1 if it is none, -1 without memory. */
static int
decode(const char *s, size_t len, struct buf *out)
{
	const char	*end = s + len, *plain;
	int		 rc;

	while (s < end) {
		for (plain = s; s < end && *s != '\\'; s++)
			if (*s == '"' || (unsigned char)*s < ' ')
				return 1;
		if (s > plain && buf_add(out, plain, (size_t)(s - plain)) ==
		    -1)
			return -1;
		if (s < end && (rc = add_escape(&s, end, out)) != 0)
			return rc;
	}
	/* The empty string too has a NUL behind it. */
	return buf_room(out, 1) == -1 ? -1 : 0;
}

static int
add_escape(const char **at, const char *end, struct buf *out)
{
	static const char	 from[] = "\"\\/bfnrt";
	static const char	 to[] = "\"\\/\b\f\n\r\t";
	const char		*p = *at + 1, *known;
	uint32_t		 c, low;

	if (p == end)
		return 1;
	if (*p != 'u') {
		if (*p == '\0' || (known = strchr(from, *p)) == NULL)
			return 1;
		*at = p + 1;
		return buf_add(out, to + (known - from), 1);
	}
	if (hex4(++p, end, &c) == -1)
		return 1;
	p += 4;
	if (c >= 0xd800 && c < 0xdc00 && end - p >= 6 && p[0] == '\\' &&
	    p[1] == 'u' && hex4(p + 2, end, &low) == 0 && low >= 0xdc00 &&
	    low < 0xe000) {
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
		p += 6;
	}
	*at = p;
	return add_utf8(c >= 0xd800 && c < 0xe000 ? 0xfffd : c, out);
}

static int
hex4(const char *s, const char *end, uint32_t *value)
{
	static const char	 digit[] = "0123456789abcdef0123456789ABCDEF";
	const char		*d;
	int			 i;

	if (end - s < 4)
		return -1;
	for (*value = 0, i = 0; i < 4; i++) {
		if (s[i] == '\0' || (d = strchr(digit, s[i])) == NULL)
			return -1;
		*value = *value << 4 | (uint32_t)((d - digit) % 16);
	}
	return 0;
}

static int
add_utf8(uint32_t c, struct buf *out)
{
	unsigned char	 b[4];
	size_t		 n;

	if (c < 0x80) {
		b[0] = (unsigned char)c;
		n = 1;
	} else if (c < 0x800) {
		b[0] = (unsigned char)(0xc0 | c >> 6);
		n = 2;
	} else if (c < 0x10000) {
		b[0] = (unsigned char)(0xe0 | c >> 12);
		n = 3;
	} else {
		b[0] = (unsigned char)(0xf0 | c >> 18);
		n = 4;
	}
	for (size_t i = 1; i < n; i++)
		b[i] = (unsigned char)(0x80 | (c >> 6 * (n - 1 - i) & 0x3f));
	return buf_add(out, b, n);
}

/* A number, true or false, by the letters that these are made of. */
static int
is_word(const struct member *m)
{
	size_t	 i;

	if (m->len == 4 && memcmp(m->s, "true", 4) == 0)
		return 1;
	if (m->len == 5 && memcmp(m->s, "false", 5) == 0)
		return 1;
	for (i = 0; i < m->len; i++)
		if (m->s[i] == '\0' || strchr("0123456789+-.eE", m->s[i]) ==
		    NULL)
			return 0;
	return m->len > 0;
}

static int
is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}
