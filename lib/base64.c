/*
 * base64.c - base64 and hex, read strictly.
 */
#include <openssl/evp.h>
#include <stdint.h>

#include "base64.h"

static ssize_t	 decode(const char *, size_t, int, unsigned char *, size_t);
static int	 sextet(unsigned char);
static int	 nibble(unsigned char);
static int	 between(int, int, int);

ssize_t
base64_decode(const char *s, size_t len, unsigned char *out, size_t max)
{
	return decode(s, len, 0, out, max);
}

ssize_t
base64_decode_lax(const char *s, size_t len, unsigned char *out, size_t max)
{
	return decode(s, len, 1, out, max);
}

ssize_t
hex_decode(const char *s, size_t len, unsigned char *out, size_t max)
{
	size_t	 i;
	int	 high, low;

	if (len % 2 != 0 || len / 2 > max)
		return -1;
	for (i = 0; i < len / 2; i++) {
		high = nibble((unsigned char)s[2 * i]);
		low = nibble((unsigned char)s[2 * i + 1]);
		if ((high | low) < 0)
			return -1;
		out[i] = (unsigned char)(high << 4 | low);
	}
	return (ssize_t)(len / 2);
}

int
base64_add(struct buf *b, const unsigned char *p, size_t n)
{
	size_t	 text = (n + 2) / 3 * 4;

	if (n > INT32_MAX / 2 || buf_room(b, text) == -1)
		return -1;
	EVP_EncodeBlock((unsigned char *)b->s + b->len, p, (int)n);
	b->len += text;
	return 0;
}

int
hex_add(struct buf *b, const unsigned char *p, size_t n)
{
	static const char	 digit[] = "0123456789abcdef";
	size_t			 i;

	if (n > SIZE_MAX / 2 || buf_room(b, 2 * n) == -1)
		return -1;
	for (i = 0; i < n; i++) {
		b->s[b->len++] = digit[p[i] >> 4];
		b->s[b->len++] = digit[p[i] & 15];
	}
	b->s[b->len] = '\0';
	return 0;
}

static ssize_t
decode(const char *s, size_t len, int lax, unsigned char *out, size_t max)
{
	uint32_t	 bits = 0;
	size_t		 i, n = 0, digits = len;
	int		 v, have = 0;

	while (digits > 0 && len - digits < 2 && s[digits - 1] == '=')
		digits--;
	if (digits % 4 == 1 || (len % 4 != 0 && !(lax && digits == len)))
		return -1;
	if (digits / 4 * 3 + digits % 4 * 3 / 4 > max)
		return -1;
	for (i = 0; i < digits; i++) {
		if ((v = sextet((unsigned char)s[i])) < 0)
			return -1;
		bits = bits << 6 | (uint32_t)v;
		if ((have += 6) >= 8) {
			have -= 8;
			out[n++] = (unsigned char)(bits >> have);
		}
	}
	if (!lax && (bits & ((1U << have) - 1)) != 0)
		return -1;
	return (ssize_t)n;
}

/* The value of a character, or -1; the same work for each of them. */
static int
sextet(unsigned char ch)
{
	int	 c = ch, v = -1;

	v += between(c, 'A', 'Z') & (c - 'A' + 1);
	v += between(c, 'a', 'z') & (c - 'a' + 27);
	v += between(c, '0', '9') & (c - '0' + 53);
	v += between(c, '+', '+') & 63;
	v += between(c, '/', '/') & 64;
	return v;
}

static int
nibble(unsigned char ch)
{
	int	 c = ch, v = -1;

	v += between(c, '0', '9') & (c - '0' + 1);
	v += between(c, 'a', 'f') & (c - 'a' + 11);
	v += between(c, 'A', 'F') & (c - 'A' + 11);
	return v;
}

/* All bits set if low <= c <= high, else none. */
static int
between(int c, int low, int high)
{
	return -(int)(((unsigned)(low - c - 1) & (unsigned)(c - high - 1)) >>
	    (sizeof(int) * 8 - 1));
}
