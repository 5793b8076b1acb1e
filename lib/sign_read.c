/*
 * sign_read.c - where the parts of a signed message are.
 *
 * Strict where leniency could be read in two ways: a header or a timestamp
 * that comes twice is refused, not chosen from.
 */
#include <string.h>
#include <strings.h>

#include "scheme.h"
#include "sign.h"

const char	 SIGN_NO_HEADER[] = "no signature header";

static int	 find_names(const struct sign_scheme *,
		    const struct sign_message *, const struct scheme_names **,
		    const char **);
static int	 half_other(const struct sign_message *, const char *,
		    const char *);
static size_t	 count(const struct sign_message *, const char *,
		    const char **);
static int	 find_tagged(const struct sign_scheme *,
		    struct scheme_found *, const char **);
static int	 read_time(const char *, size_t, int64_t *);
static int	 no(const char **, const char *);

int
sign_read(const struct sign_scheme *s, const struct sign_message *m,
    const char **id, int64_t *at, const char **why)
{
	struct scheme_found	 f;

	if (scheme_find(s, m, &f, why) == 1)
		return 1;
	*id = f.id;
	*at = f.at;
	return 0;
}

int
scheme_find(const struct sign_scheme *s, const struct sign_message *m,
    struct scheme_found *f, const char **why)
{
	const struct scheme_names	*name;

	memset(f, 0, sizeof(*f));
	f->at = -1;
	if (find_names(s, m, &name, why) == 1)
		return 1;
	if (count(m, name->signature, &f->signature) > 1)
		return no(why, "two signature headers");
	if (name->id != NULL && count(m, name->id, &f->id) > 1)
		return no(why, "two id headers");
	if (name->timestamp != NULL &&
	    count(m, name->timestamp, &f->timestamp) > 1)
		return no(why, "two timestamp headers");
	if (*f->signature == '\0')
		return no(why, "signature header is empty");
	if (f->id != NULL && *f->id == '\0')
		f->id = NULL;
	if (f->id == NULL && strstr(s->content, "%i") != NULL)
		return no(why, "no id header");

	if (s->time_tag != NULL) {
		if (find_tagged(s, f, why) == 1)
			return 1;
	} else if (name->timestamp == NULL)
		return 0;
	else if (f->timestamp == NULL || *f->timestamp == '\0')
		return no(why, "no timestamp header");
	else
		f->timestamp_len = strlen(f->timestamp);
	if (read_time(f->timestamp, f->timestamp_len, &f->at) == -1)
		return no(why, "timestamp is not a number of seconds");
	return 0;
}

int
scheme_next(const struct sign_scheme *s, const char **p,
    struct scheme_element *e)
{
	const char	*sep;
	size_t		 len;

	for (;;) {
		*p += strspn(*p, s->list);
		if ((len = strcspn(*p, s->list)) == 0)
			return 0;
		e->tag = *p;
		*p += len;
		if ((sep = memchr(e->tag, s->sep, len)) == NULL)
			continue;
		e->tag_len = (size_t)(sep - e->tag);
		e->value = sep + 1;
		e->value_len = (size_t)(*p - e->value);
		return 1;
	}
}

int
scheme_has_tag(const struct scheme_element *e, const char *tag)
{
	return strlen(tag) == e->tag_len &&
	    memcmp(e->tag, tag, e->tag_len) == 0;
}

/* The first family whose signature header is there. */
static int
find_names(const struct sign_scheme *s, const struct sign_message *m,
    const struct scheme_names **name, const char **why)
{
	const struct scheme_names	*ours = &s->names[0];
	const struct scheme_names	*other = &s->names[1];
	const char			*v;

	if (count(m, ours->signature, &v) == 0) {
		if (other->signature == NULL ||
		    count(m, other->signature, &v) == 0)
			return no(why, SIGN_NO_HEADER);
		ours = &s->names[1];
		other = &s->names[0];
	}
	if (half_other(m, ours->id, other->id) ||
	    half_other(m, ours->timestamp, other->timestamp))
		return no(why, "headers of two families of names are mixed");
	*name = ours;
	return 0;
}

/* Is a header there under the other family's name only? */
static int
half_other(const struct sign_message *m, const char *ours, const char *other)
{
	const char	*v;

	return ours != NULL && other != NULL && count(m, ours, &v) == 0 &&
	    count(m, other, &v) > 0;
}

/* How often a header came; *value is the first. */
static size_t
count(const struct sign_message *m, const char *name, const char **value)
{
	size_t	 i, n = 0;

	for (i = 0; i < m->nheader; i++)
		if (strcasecmp(m->header[i].name, name) == 0 && n++ == 0)
			*value = m->header[i].value;
	return n;
}

/* The timestamp among the elements of the signature header. */
static int
find_tagged(const struct sign_scheme *s, struct scheme_found *f,
    const char **why)
{
	struct scheme_element	 e;
	const char		*p = f->signature;

	while (scheme_next(s, &p, &e)) {
		if (!scheme_has_tag(&e, s->time_tag))
			continue;
		if (f->timestamp != NULL)
			return no(why, "two timestamps in the signature");
		f->timestamp = e.value;
		f->timestamp_len = e.value_len;
	}
	if (f->timestamp == NULL)
		return no(why, "no timestamp in the signature");
	return 0;
}

/* Digits only, without leading zeros, up to the year 9999. */
static int
read_time(const char *s, size_t len, int64_t *at)
{
	int64_t	 n = 0;
	size_t	 i;

	if (len == 0 || s[0] == '0')
		return -1;
	for (i = 0; i < len; i++) {
		if (s[i] < '0' || s[i] > '9')
			return -1;
		n = n * 10 + (s[i] - '0');
		if (n > SIGN_TIME_MAX)
			return -1;
	}
	*at = n;
	return 0;
}

static int
no(const char **why, const char *what)
{
	*why = what;
	return 1;
}
