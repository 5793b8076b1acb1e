/*
 * Lines of events: where their members are, and what may be a field; and text
 * of any kind as a JSON string.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "events.h"
#include "object.h"
#include "opt.h"
#include "out.h"

int	 LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static void
members(const char *s, size_t len)
{
	struct object		 o;
	struct object_member	 m;
	const char		*last = s;
	int			 rc;

	object_init(&o, s, len);
	while ((rc = object_next(&o, &m)) == 1) {
		if (m.key <= last || m.key[-1] != '"' ||
		    m.key[m.key_len] != '"' || m.value_len == 0 ||
		    m.value < m.key + m.key_len + 2 ||
		    m.value + m.value_len > s + len)
			abort();
		last = m.value + m.value_len - 1;
	}
	if (rc == 0 && (o.p != s + len || memchr(s, '}', len) == NULL))
		abort();
}

/* What out_string() makes is one line, valid UTF-8, and ends where it does. */
static void
string(const char *s, size_t len)
{
	struct buf		 b = BUF_INIT(1 << 20);
	struct object		 o;
	struct object_member	 m;

	if (buf_adds(&b, "{\"a\":") == -1 || out_string(&b, s, len) == -1 ||
	    buf_adds(&b, "}") == -1)
		abort();
	if (!opt_utf8(b.s, b.len) || opt_control(b.s, b.len))
		abort();
	object_init(&o, b.s, b.len);
	if (object_next(&o, &m) != 1 || m.value_len != b.len - 6 ||
	    object_next(&o, &m) != 0)
		abort();
	buf_free(&b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char	*s = (const char *)data;
	int		 i;

	if (size == 0)
		return 0;
	members(s, size);
	string(s, size);
	for (i = 0; i < EVENT_FIELDS; i++)
		if (event_bad((enum event_field)i, s, size) == NULL &&
		    (!opt_utf8(s, size) || opt_control(s, size)))
			abort();
	if (event_payload_bad(s, size) == NULL && !opt_utf8(s, size))
		abort();
	return 0;
}
