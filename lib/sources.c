#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "secret.h"
#include "sources.h"

/* Columns of source_load. */
enum {
	ID, NAME, SCHEME, TOLERANCE, PUBLIC_URL, UNPACK, SECRET, PURPOSE,
	EXPIRES
};

static void	 forget(struct source *);
static struct source *get(struct sources *, const char *);
static size_t	 place(const struct sources *, const char *, size_t, int *);
static int	 put_secret(struct source *, const struct db *, int,
		    const struct seal *);
static int	 settings(struct source *, const struct db *, int);

int
sources_init(struct sources *s)
{
	struct buf	 secret = BUF_INIT(SECRET_MAX);
	const char	*why;
	int		 rc = -1;

	memset(s, 0, sizeof(*s));
	if ((s->unknown = calloc(1, sizeof(*s->unknown))) == NULL ||
	    (s->unknown->name = strdup("")) == NULL)
		return -1;
	s->unknown->scheme = sign_scheme("standard_webhooks");
	s->unknown->tolerance = SIGN_NO_TOLERANCE;
	if (sign_new_secret(0, &secret) == 0 &&
	    (s->unknown->key[0] = sign_key(s->unknown->scheme, secret.s, 0,
	    &why)) != NULL) {
		s->unknown->nkey = 1;
		rc = 0;
	}
	buf_wipe(&secret);
	return rc;
}

void
sources_free(struct sources *s)
{
	size_t	 i;

	for (i = 0; i < s->n; i++) {
		forget(s->all[i]);
		free(s->all[i]->name);
		free(s->all[i]);
	}
	free(s->all);
	if (s->unknown != NULL) {
		forget(s->unknown);
		free(s->unknown->name);
		free(s->unknown);
	}
	memset(s, 0, sizeof(*s));
}

int
sources_load(struct sources *s, const struct db *db,
    const struct seal *seal, const struct source **broken)
{
	struct source	*src = NULL;
	const char	*was = NULL;
	unsigned int	 generation = s->generation + 1;
	int		 i, rows = db_rows(db);

	*broken = NULL;
	if (generation == 0)
		generation = 1;
	/* First all that can fail without having changed anything. */
	for (i = 0; i < rows; i++)
		if (get(s, db_col(db, i, NAME)) == NULL)
			return -1;
	for (i = 0; i < rows; i++) {
		if (i == 0 || strcmp(db_col(db, i, NAME), src->name) != 0) {
			src = get(s, db_col(db, i, NAME));
			was = src->broken;
			forget(src);
			src->generation = generation;
			if (settings(src, db, i) == -1)
				src->broken = "out of memory";
		}
		if (put_secret(src, db, i, seal) == -1 && was == NULL &&
		    *broken == NULL)
			*broken = src;
	}
	s->generation = generation;
	for (i = 0; i < (int)s->n; i++)
		if (s->all[i]->generation != generation)
			forget(s->all[i]);
	return 0;
}

struct source *
sources_find(const struct sources *s, const char *name, size_t len)
{
	int	 found;
	size_t	 i = place(s, name, len, &found);

	return found && s->all[i]->generation == s->generation ? s->all[i] :
	    s->unknown;
}

size_t
source_keys(const struct source *src, int64_t now, struct sign_key **key)
{
	size_t	 i, n = 0;

	for (i = 0; i < src->nkey; i++)
		if (src->expires[i] == 0 || src->expires[i] > now)
			key[n++] = src->key[i];
	return n;
}

size_t
source_words(const struct source *src, int64_t now, char **word)
{
	size_t	 i, n = 0;

	for (i = 0; i < src->nword; i++)
		if (src->word_expires[i] == 0 || src->word_expires[i] > now)
			word[n++] = src->word[i];
	return n;
}

const char *
source_context(const char *id)
{
	static char	 text[40];

	snprintf(text, sizeof(text), "source %s", id);
	return text;
}

/* Where a name is, or would be. */
static size_t
place(const struct sources *s, const char *name, size_t len, int *found)
{
	size_t	 from = 0, to = s->n, mid;
	int	 diff;

	*found = 0;
	while (from < to) {
		mid = (from + to) / 2;
		diff = strncmp(s->all[mid]->name, name, len);
		if (diff == 0 && s->all[mid]->name[len] != '\0')
			diff = 1;
		if (diff == 0) {
			*found = 1;
			return mid;
		}
		if (diff < 0)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

/* The source of that name, made if need be; NULL without memory. */
static struct source *
get(struct sources *s, const char *name)
{
	struct source	**all, *src;
	int		  found;
	size_t		  i = place(s, name, strlen(name), &found);

	if (found)
		return s->all[i];
	all = reallocarray(s->all, s->n + 1, sizeof(*all));
	if (all == NULL)
		return NULL;
	s->all = all;
	if ((src = calloc(1, sizeof(*src))) == NULL ||
	    (src->name = strdup(name)) == NULL) {
		free(src);
		return NULL;
	}
	memmove(all + i + 1, all + i, (s->n - i) * sizeof(*all));
	all[i] = src;
	s->n++;
	return src;
}

static int
settings(struct source *src, const struct db *db, int i)
{
	const char	*url = db_col(db, i, PUBLIC_URL);

	src->scheme = sign_scheme(db_col(db, i, SCHEME));
	if (src->scheme == NULL)
		src->broken = "no such scheme";
	else if (db_col(db, i, TOLERANCE) == NULL)
		src->tolerance = sign_scheme_tolerance(src->scheme);
	else
		src->tolerance = db_int(db, i, TOLERANCE);
	src->unpack = *db_col(db, i, UNPACK) == 't';
	return url != NULL && (src->public_url = strdup(url)) == NULL ? -1 : 0;
}

/* The secret of a row; -1 if the source is broken. */
static int
put_secret(struct source *src, const struct db *db, int i,
    const struct seal *seal)
{
	struct buf	 text = BUF_INIT(SECRET_MAX);
	const char	*stored = db_col(db, i, SECRET), *why;
	int64_t		 expires = db_int(db, i, EXPIRES);

	if (src->scheme == NULL)
		return -1;
	if (stored == NULL) {
		src->broken = "no secret";
	} else if (seal_open(seal, source_context(db_col(db, i, ID)), stored,
	    &text, &why) == -1) {
		src->broken = why;
	} else if (strcmp(db_col(db, i, PURPOSE), "signature") != 0) {
		if (src->nword < SOURCE_WORDS && (src->word[src->nword] =
		    strdup(text.s == NULL ? "" : text.s)) != NULL)
			src->word_expires[src->nword++] = expires;
	} else if (src->nkey < SOURCE_KEYS) {
		src->key[src->nkey] = sign_key(src->scheme,
		    text.s == NULL ? "" : text.s, 0, &why);
		if (src->key[src->nkey] == NULL)
			src->broken = why;
		else
			src->expires[src->nkey++] = expires;
	}
	buf_wipe(&text);
	return src->broken != NULL ? -1 : 0;
}

static void
forget(struct source *src)
{
	size_t	 i;

	for (i = 0; i < src->nkey; i++)
		sign_key_free(src->key[i]);
	for (i = 0; i < src->nword; i++)
		freezero(src->word[i], strlen(src->word[i]) + 1);
	free(src->public_url);
	src->public_url = NULL;
	src->nkey = src->nword = 0;
	src->broken = NULL;
}
