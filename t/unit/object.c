/* object: members are found where they stand; what is no object is refused. */
#include <stdlib.h>

#include "object.h"
#include "tap.h"

/* key=value;key=value; of a text, or ! where it is refused. */
static const char *
members(const char *s)
{
	static char		 all[1024];
	struct object		 o;
	struct object_member	 m;
	char			*copy;
	size_t			 len = strlen(s), used = 0;
	int			 rc;

	/* Just so large, so that a sanitizer sees a step too far. */
	if ((copy = malloc(len == 0 ? 1 : len)) == NULL)
		abort();
	memcpy(copy, s, len);
	all[0] = '\0';
	object_init(&o, copy, len);
	while ((rc = object_next(&o, &m)) == 1)
		used += (size_t)snprintf(all + used, sizeof(all) - used,
		    "%.*s=%.*s;", (int)m.key_len, m.key, (int)m.value_len,
		    m.value);
	if (rc == -1)
		strcpy(all + used, "!");
	free(copy);
	return all;
}

int
main(void)
{
	static const struct {
		const char	*text, *want, *name;
	} t[] = {
		{ "{}", "", "an empty object" },
		{ " { } \r\n", "", "space around" },
		{ "{\"a\":1}", "a=1;", "a number" },
		{ "{\"a\" : -1.0E+2 , \"b\":null}", "a=-1.0E+2;b=null;",
		    "its spelling stays, space around it goes" },
		{ "{\"a\":\"x\\\"}\\\\\",\"b\":\"\"}",
		    "a=\"x\\\"}\\\\\";b=\"\";", "quotes and escapes" },
		{ "{\"a\":{\"b\": [1, {\"]\":2}] },\"c\":[]}",
		    "a={\"b\": [1, {\"]\":2}] };c=[];", "things in things" },
		{ "{\"a\":\"\\u0000\\ud800\"}", "a=\"\\u0000\\ud800\";",
		    "escapes that are no text" },
		{ "{\"a\":1,\"a\":2}", "a=1;a=2;", "a key twice" },
		{ "{\"\\u0061\":1}", "\\u0061=1;", "a key as it is spelt" },
		{ "{\"\":1}", "=1;", "an empty key" },
		{ "", "!", "nothing" },
		{ "[1]", "!", "an array" },
		{ "\"a\"", "!", "a string" },
		{ "{", "!", "an open object" },
		{ "{\"a", "!", "an open key" },
		{ "{\"a\\", "!", "an open escape" },
		{ "{\"a\"", "!", "no colon" },
		{ "{\"a\":", "!", "no value" },
		{ "{\"a\":}", "!", "no value before the end" },
		{ "{\"a\":,\"b\":1}", "!", "no value before the next" },
		{ "{\"a\":1", "a=1;!", "no end" },
		{ "{\"a\":[1}", "a=[1};!", "an open array" },
		{ "{\"a\":1,}", "a=1;!", "a comma too many" },
		{ "{,\"a\":1}", "!", "a comma too early" },
		{ "{\"a\":1 \"b\":2}", "a=1;!", "no comma" },
		{ "{\"a\":1 2}", "a=1;!", "two values" },
		{ "{\"a\":1}}", "a=1;!", "something behind it" },
		{ "{\"a\":1} {}", "a=1;!", "two objects" },
		{ "{a:1}", "!", "a key without quotes" }
	};
	size_t	 i;

	for (i = 0; i < sizeof(t) / sizeof(*t); i++)
		is(members(t[i].text), t[i].want, t[i].name);
	return done_testing();
}
