/*
 * log.c - one line an event on standard error.
 *
 * A line goes out in one write, so lines of several processes on one pipe
 * are never mixed.  Writing fails in silence: there is nobody to tell.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "log.h"

#define MAX_LINE	4096	/* bytes, newline included */

struct text {
	char	 s[MAX_LINE];
	size_t	 len;
	int	 full;
};

static void	 put(struct text *, const char *, size_t);
static void	 put_value(struct text *, const char *);
static int	 plain(const char *);

void
log_event(enum log_level level, const char *message, ...)
{
	static const char *const name[] = {
		"error", "warning", "notice", "info"
	};
	struct text	 t;
	const char	*key, *value;
	va_list		 ap;
	ssize_t		 n;

	t.len = 0;
	t.full = 0;
	put(&t, name[level], strlen(name[level]));
	put(&t, " ", 1);
	put(&t, message, strlen(message));
	va_start(ap, message);
	while ((key = va_arg(ap, const char *)) != NULL) {
		if ((value = va_arg(ap, const char *)) == NULL)
			continue;
		put(&t, " ", 1);
		put(&t, key, strlen(key));
		put(&t, "=", 1);
		put_value(&t, value);
	}
	va_end(ap);
	t.s[t.len++] = '\n';
	n = write(STDERR_FILENO, t.s, t.len);
	(void)n;
}

/* Append n bytes that belong together, all of them or none. */
static void
put(struct text *t, const char *s, size_t n)
{
	if (t->full || n > sizeof(t->s) - 1 - t->len) {
		t->full = 1;
		return;
	}
	memcpy(t->s + t->len, s, n);
	t->len += n;
}

static void
put_value(struct text *t, const char *s)
{
	char	 hex[5];

	if (plain(s)) {
		put(t, s, strlen(s));
		return;
	}
	put(t, "\"", 1);
	for (; *s != '\0'; s++) {
		if (*s == '"' || *s == '\\') {
			put(t, "\\", 1);
			put(t, s, 1);
		} else if (*s >= ' ' && *s <= '~') {
			put(t, s, 1);
		} else {
			snprintf(hex, sizeof(hex), "\\x%02x",
			    (unsigned char)*s);
			put(t, hex, 4);
		}
	}
	put(t, "\"", 1);
}

static int
plain(const char *s)
{
	if (*s == '\0')
		return 0;
	for (; *s != '\0'; s++)
		if (*s <= ' ' || *s > '~' || strchr("\"\\=", *s) != NULL)
			return 0;
	return 1;
}
