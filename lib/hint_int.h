/*
 * hint_int.h - the parts of a guess; for the files hint*.c alone.
 */
#ifndef HINT_INT_H
#define HINT_INT_H

#include "hint.h"

/* Is it good with this change?  The time is not looked at. */
int	 hint_good(const struct hint *);

/* What would have made it good, without a ": "; NULL: none of these. */
const char *hint_body(const struct hint *);
const char *hint_url(const struct hint *);
const char *hint_secret(const struct hint *);

/* What is odd about how the signature or the time is written; NULL. */
const char *hint_form(const struct hint *);
const char *hint_time(const struct hint *);

#endif /* HINT_INT_H */
