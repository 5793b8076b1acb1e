/*
 * seal.h - secrets at rest: AES-256-GCM under the key in HOOK_KEY_FILE, or
 * where that is not set in the credential hook.key of a systemd unit.
 *
 * The file holds 32 bytes as 64 hex digits or base64, or 32 raw bytes.
 * Nobody but its owner may have access to it; if that is root, its group may
 * read it.  A sealed text is "sealed:v1:" base64(12-byte nonce, ciphertext,
 * 16-byte tag); context (the subscription's id) is authenticated with it, so
 * that a sealed secret moved to another row does not open.
 *
 * Errors: -1 with *why, a static phrase; seal_load()'s fits after
 * "HOOK_KEY_FILE: ".  Nothing was appended then.
 */
#ifndef SEAL_H
#define SEAL_H

#include "buf.h"

#define SEAL_KEY	32		/* bytes */
#define SEAL_PREFIX	"sealed:v1:"

struct seal {
	unsigned char	key[SEAL_KEY];
	int		set;		/* 0: no HOOK_KEY_FILE */
};

/* Load the key; neither variable nor credential leaves set 0: no error. */
int	 seal_load(struct seal *, const char **why);
void	 seal_wipe(struct seal *);

/* Append the sealed text; without a key the plain text. */
int	 seal_close(const struct seal *, const char *context,
	    const char *plain, struct buf *out, const char **why);

/* Append the plain text of a stored one, sealed or not.  Wipe out after. */
int	 seal_open(const struct seal *, const char *context,
	    const char *stored, struct buf *out, const char **why);

#endif /* SEAL_H */
