/*
 * secret.h - secrets that people hand over: in a file, or in HOOK_SECRET.
 *
 * Errors: -1 or NULL with *why, a phrase that names no secret and lives
 * until the next call; put the file's name, or HOOK_SECRET, before it.
 */
#ifndef SECRET_H
#define SECRET_H

#include "buf.h"
#include "sign.h"

#define SECRET_MAX	4096		/* bytes in a file */

/*
 * Append the text of the file at path; of HOOK_SECRET where path is NULL.
 * Line ends behind it are left out.  Wipe out after.
 */
int	 secret_read(const char *path, struct buf *out, const char **why)
	    BUF_CHECKED;

/* The key in there; sign_key()'s other arguments and errors. */
struct sign_key *secret_key(const char *path, const struct sign_scheme *,
	    int for_signing, const char **why);

#endif /* SECRET_H */
