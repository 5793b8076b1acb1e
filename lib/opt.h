/*
 * opt.h - reading what people type: numbers, durations, names.  Pure.
 *
 * Errors: -1, with *why set to a static phrase that fits after the value:
 * "invalid", "too small", "too large", "too many".  Outputs are untouched then.
 */
#ifndef OPT_H
#define OPT_H

#include <stddef.h>
#include <stdint.h>

/*
 * A duration: digits and one of ms, s, m, h, d; a bare number is seconds.
 * Whole numbers only, no sign, no space.  min_ms <= *ms <= max_ms.
 */
int	 opt_duration(const char *, int64_t min_ms, int64_t max_ms,
	    int64_t *ms, const char **why);

/*
 * Durations with commas between; at most max of them are stored.  Returns
 * how many.
 */
int	 opt_durations(const char *, int64_t min_ms, int64_t max_ms,
	    int64_t *ms, int max, const char **why);

/* A whole number in [min, max]: digits, with a leading '-' if min < 0. */
int	 opt_int(const char *, int64_t min, int64_t max, int64_t *n,
	    const char **why);

/* A positive decimal such as 50 or 0.5, of at most 15 digits. */
int	 opt_rate(const char *, double max, double *rate, const char **why);

/* Is this valid UTF-8 (shortest forms, no surrogates, <= U+10FFFF)? */
int	 opt_utf8(const char *, size_t len);

/* Holds any byte below 0x20, or 0x7f? */
int	 opt_control(const char *, size_t len);

/*
 * A payload's limit in bytes: HOOK_MAX_PAYLOAD (1 to 64 MiB, a plain number)
 * or 256 KiB; -1 if bad.
 */
int	 opt_max_payload(size_t *bytes);

/*
 * Who is doing this: given (-u) if not NULL, else $SUDO_USER, $USER, the
 * name of the user id, or "unknown".  Those of the environment count only if
 * they are UTF-8 without control characters.  Lives until the next call.
 */
const char *opt_actor(const char *given);

#endif /* OPT_H */
