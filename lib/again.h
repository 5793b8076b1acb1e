/*
 * again.h - ids of messages that have none, where an equal body may be
 * another message (message_anew()).
 *
 * What comes within AGAIN_MS of the first is that one, sent twice; later it
 * is one of its own, whatever became of the first.
 */
#ifndef AGAIN_H
#define AGAIN_H

#include "buf.h"

#define AGAIN_MS	2000

/*
 * Append to the id of a source's message, the digest of its body, what tells
 * it from those before.
 */
int	 again_id(const char *source, struct buf *id) BUF_CHECKED;

#endif /* AGAIN_H */
