/*
 * subkey.h - the secrets of a subscription: made, sealed, stored, shown.
 *
 * A secret in clear is only ever in a caller's buffer, which it wipes.
 * Errors: -1 with one line in why and the sysexits code to leave with in code.
 */
#ifndef SUBKEY_H
#define SUBKEY_H

#include "buf.h"
#include "db.h"
#include "seal.h"

struct subkey {
	struct seal	 seal;
	int		 code;
	char		 why[256];
};

#define SUBKEY_INIT	{ { { 0 }, 0 }, 0, "" }

/* Load HOOK_KEY_FILE, if there is one; before the others. */
int	 subkey_load(struct subkey *) DB_CHECKED;
void	 subkey_wipe(struct subkey *);

/* Append the secret in the file at path; path NULL: make one. */
int	 subkey_make(struct subkey *, const char *path, int ed25519,
	    struct buf *secret) DB_CHECKED;

/* Store it for a subscription, sealed where there is a key. */
int	 subkey_store(struct subkey *, struct db *, const char *id,
	    const char *secret) DB_CHECKED;

/*
 * Append "secret":"..." for out_row_more(), and "public_key":"..." where it
 * has one.
 */
int	 subkey_json(struct subkey *, const char *secret, struct buf *)
	    DB_CHECKED;

/*
 * Append "secrets":[...] of a subscription, newest first; the secrets
 * themselves only with reveal.
 */
int	 subkey_list(struct subkey *, struct db *, const char *id, int reveal,
	    struct buf *) DB_CHECKED;

#endif /* SUBKEY_H */
