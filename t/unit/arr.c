/* arr: the bytes of an SQL array, whatever is put in. */
#include <stdlib.h>

#include "arr.h"
#include "tap.h"

static void
same(struct arr *a, const char *want, size_t len, const char *name)
{
	struct db_arg	 got = arr_arg(a);

	ok(got.val != NULL && got.len == (int)len &&
	    memcmp(got.val, want, len) == 0, name);
}

#define SAME(a, want, name)	same(a, want, sizeof(want) - 1, name)

int
main(void)
{
	struct arr	 a;

	arr_init(&a, ARR_INT8);
	SAME(&a, "\0\0\0\0" "\0\0\0\0" "\0\0\0\24",
	    "no element is no dimension");
	arr_int8(&a, 1);
	arr_int8(&a, INT64_MIN);
	SAME(&a, "\0\0\0\1" "\0\0\0\0" "\0\0\0\24" "\0\0\0\2" "\0\0\0\1"
	    "\0\0\0\10" "\0\0\0\0\0\0\0\1"
	    "\0\0\0\10" "\200\0\0\0\0\0\0\0", "two bigints");
	SAME(&a, "\0\0\0\1" "\0\0\0\0" "\0\0\0\24" "\0\0\0\2" "\0\0\0\1"
	    "\0\0\0\10" "\0\0\0\0\0\0\0\1"
	    "\0\0\0\10" "\200\0\0\0\0\0\0\0", "... asked for twice");
	arr_reset(&a);
	a.type = ARR_TEXT;
	arr_bytes(&a, "a\"\\{,}", 6);
	arr_bytes(&a, NULL, 0);
	arr_bytes(&a, "", 0);
	SAME(&a, "\0\0\0\1" "\0\0\0\1" "\0\0\0\31" "\0\0\0\3" "\0\0\0\1"
	    "\0\0\0\6" "a\"\\{,}" "\377\377\377\377" "\0\0\0\0",
	    "texts, null and empty, nothing quoted");
	is_int((int64_t)a.n, 3, "... are counted");
	arr_reset(&a);
	a.type = ARR_BYTEA;
	arr_bytes(&a, "\0\377", 2);
	SAME(&a, "\0\0\0\1" "\0\0\0\0" "\0\0\0\21" "\0\0\0\1" "\0\0\0\1"
	    "\0\0\0\2" "\0\377", "any bytes; the null before is forgotten");
	arr_reset(&a);
	a.type = ARR_INT4;
	arr_int4(&a, -2);
	arr_null(&a);
	SAME(&a, "\0\0\0\1" "\0\0\0\1" "\0\0\0\27" "\0\0\0\2" "\0\0\0\1"
	    "\0\0\0\4" "\377\377\377\376" "\377\377\377\377", "integers");
	arr_reset(&a);
	a.type = ARR_BOOL;
	arr_bool(&a, 7);
	arr_bool(&a, 0);
	SAME(&a, "\0\0\0\1" "\0\0\0\0" "\0\0\0\20" "\0\0\0\2" "\0\0\0\1"
	    "\0\0\0\1" "\1" "\0\0\0\1" "\0", "booleans");
	ok(!arr_failed(&a), "none of that failed");

	arr_reset(&a);
	a.type = ARR_TEXT;
	arr_bytes(&a, "x", (size_t)ARR_MAX + 1);
	ok(arr_failed(&a) && arr_arg(&a).val == NULL,
	    "too long for an array is a failure, remembered");
	arr_bytes(&a, "x", 1);
	ok(arr_failed(&a), "... whatever follows");
	arr_reset(&a);
	arr_bytes(&a, "x", 1);
	ok(!arr_failed(&a) && arr_arg(&a).val != NULL, "... until a reset");
	arr_free(&a);
	return done_testing();
}
