/*
 * sources.h - whom hook-receive takes messages from, in memory.
 *
 * Ownership: a struct source lives as long as its struct sources, so that
 * requests may point at it; one that was removed is only not found any more.
 * Errors: -1 without memory; what was there before stays.
 */
#ifndef SOURCES_H
#define SOURCES_H

#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "db.h"
#include "seal.h"
#include "sign.h"

#define SOURCE_KEYS	16	/* live secrets of one source */
#define SOURCE_WORDS	4	/* handshake words */

enum source_count {		/* what came of a request */
	COUNT_STORED, COUNT_DUPLICATE, COUNT_HANDSHAKE,
	COUNT_UNAUTHORIZED, COUNT_REFUSED, COUNT_UNAVAILABLE, COUNT_MAX
};

struct source {
	char			*name;		/* "": all that is unknown */
	const struct sign_scheme *scheme;
	int64_t			 tolerance;	/* seconds, or off */
	char			*public_url;	/* or NULL */
	int			 unpack;
	const char		*broken;	/* why a key is missing */
	size_t			 nkey, nword;
	struct sign_key		*key[SOURCE_KEYS];
	int64_t			 expires[SOURCE_KEYS];	/* unix seconds */
	char			*word[SOURCE_WORDS];
	int64_t			 word_expires[SOURCE_WORDS];
	unsigned int		 generation;	/* of the last load with it */
	int64_t			 count[COUNT_MAX];	/* not yet stored */
};

struct sources {
	struct source	**all;		/* by name */
	size_t		  n;
	unsigned int	  generation;	/* 0: never loaded */
	struct source	 *unknown;	/* no secret is good for it */
};

int	 sources_init(struct sources *) DB_CHECKED;
void	 sources_free(struct sources *);

/*
 * Take over the rows of source_load.  *broken becomes one source that is
 * broken now and was not so before, or NULL.
 */
int	 sources_load(struct sources *, const struct db *,
	    const struct seal *, const struct source **broken) DB_CHECKED;

/* The source of that name; the unknown one if there is none. */
struct source *sources_find(const struct sources *, const char *name,
	    size_t len);

/* The keys that are live at now, in key[SOURCE_KEYS]: how many. */
size_t	 source_keys(const struct source *, int64_t now,
	    struct sign_key **key);
/* Its handshake words likewise, in word[SOURCE_WORDS]. */
size_t	 source_words(const struct source *, int64_t now, char **word);

/* What a secret is sealed for; a text that lives until the next call. */
const char *source_context(const char *id);

#endif /* SOURCES_H */
