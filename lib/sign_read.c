/*
 * sign_read.c - where the parts of a signed message are.
 *
 * Strict where leniency could be read in two ways: a header, a member or a
 * timestamp that comes twice is refused, not chosen from.
 */
#include <string.h>
#include <strings.h>

#include "member.h"
#include "sign_int.h"

const char	 SIGN_NO_HEADER[] = "no signature header";

static const char	*const bad_time[] = {
	[SCHEME_SECONDS] = "timestamp is not a number of seconds",
	[SCHEME_MS] = "timestamp is not a number of milliseconds",
	[SCHEME_RFC3339] = "timestamp is not like 2025-01-31T12:00:00Z",
	[SCHEME_HTTP_DATE] =
	    "timestamp is not like Fri, 31 Jan 2025 12:00:00 GMT",
};

static int	 find_names(const struct sign_scheme *,
		    const struct sign_message *, const struct scheme_names **,
		    const char **);
static int	 half_other(const struct sign_message *, const char *,
		    const char *);
static int	 is_between(const struct sign_scheme *, char);
static size_t	 count(const struct sign_message *, const char *,
		    struct scheme_part *);
static size_t	 count_member(const struct sign_message *, const char *,
		    struct scheme_part *);
static int	 find_tagged(const struct sign_scheme *,
		    const struct scheme_part *, const char *,
		    struct scheme_part *);
static int	 find_time(const struct sign_scheme *,
		    const struct sign_message *, const char *,
		    struct scheme_found *, const char **);
static int	 no(const char **, const char *);

int
sign_read(const struct sign_scheme *s, const struct sign_message *m,
    const char **id, int64_t *at, const char **why)
{
	struct scheme_found	 f;

	if (scheme_find(s, m, &f, why) == 1)
		return 1;
	*id = f.id_is_header ? f.id.p : NULL;
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
	if (f->signature.len == 0)
		return no(why, "signature header is empty");
	if (f->id.len == 0)
		f->id.p = NULL;
	f->id_is_header = f->id.p != NULL && *name->id != '.';
	if (f->id.p == NULL && strstr(s->content, "%i") != NULL)
		return no(why, "no id header");
	if (s->names_tag != NULL &&
	    find_tagged(s, &f->signature, s->names_tag, &f->names) > 1)
		return no(why, "two lists of headers in the signature");
	return find_time(s, m, name->timestamp, f, why);
}

size_t
scheme_header(const struct sign_message *m, const char *name, size_t len,
    const char **value)
{
	const char	*h;
	size_t		 i, n = 0;

	for (i = 0; i < m->nheader; i++) {
		h = m->header[i].name;
		if (len > 0 && (*h | 32) == (*name | 32) &&
		    strncasecmp(h, name, len) == 0 && h[len] == '\0' &&
		    n++ == 0)
			*value = m->header[i].value;
	}
	return n;
}

int
scheme_next(const struct sign_scheme *s, struct scheme_part *rest,
    struct scheme_element *e)
{
	const char	*p = rest->p, *end = p + rest->len, *sep;

	while (p < end) {
		e->tag = p;
		if (s->list == NULL) {
			e->tag_len = 0;
			e->value = p;
			e->value_len = rest->len;
			rest->len = 0;
			return 1;
		}
		while (p < end && !is_between(s, *p))
			p++;
		sep = memchr(e->tag, s->sep, (size_t)(p - e->tag));
		if (sep != NULL) {
			e->tag_len = (size_t)(sep - e->tag);
			e->value = sep + 1;
			e->value_len = (size_t)(p - e->value);
		}
		p += p < end;
		rest->p = p;
		rest->len = (size_t)(end - p);
		if (sep != NULL)
			return 1;
	}
	return 0;
}

/* Of a header that is no list the tag is what it begins with. */
int
scheme_has_tag(const struct sign_scheme *s, struct scheme_element *e,
    const char *tag)
{
	size_t	 n = strlen(tag);

	if (s->list != NULL)
		return n == e->tag_len && memcmp(e->tag, tag, n) == 0;
	if (e->value_len < n || memcmp(e->value, tag, n) != 0)
		return 0;
	e->value += n;
	e->value_len -= n;
	return 1;
}

/* Not strchr(): it is asked of every byte. */
static int
is_between(const struct sign_scheme *s, char c)
{
	const char	*p;

	for (p = s->list; *p != '\0'; p++)
		if (*p == c)
			return 1;
	return 0;
}

/* The first family whose signature is there. */
static int
find_names(const struct sign_scheme *s, const struct sign_message *m,
    const struct scheme_names **name, const char **why)
{
	const struct scheme_names	*ours = &s->names[0];
	const struct scheme_names	*other = &s->names[1];
	struct scheme_part		 v;

	if (count(m, ours->signature, &v) == 0) {
		if (*ours->signature == '.')
			return no(why,
			    "no signature in the body, or two, or no JSON");
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
	struct scheme_part	 v;

	return ours != NULL && other != NULL && count(m, ours, &v) == 0 &&
	    count(m, other, &v) > 0;
}

/* How often a header or member came; *value is the first. */
static size_t
count(const struct sign_message *m, const char *where,
    struct scheme_part *value)
{
	const char	*text;
	size_t		 n;

	if (*where == '.')
		return count_member(m, where, value);
	if ((n = scheme_header(m, where, strlen(where), &text)) > 0) {
		value->p = text;
		value->len = strlen(text);
	}
	return n;
}

/*
 * One that comes twice is none.  What is no plain text or number is as good
 * as an empty one.
 */
static size_t
count_member(const struct sign_message *m, const char *path,
    struct scheme_part *value)
{
	struct member	 found;

	value->p = "";
	value->len = 0;
	if (m->body_len == 0 ||
	    member_find(m->body, m->body_len, path, &found) != 1)
		return 0;
	if (found.len >= 2 && *found.s == '"') {
		found.s++;
		found.len -= 2;
	}
	if (memchr(found.s, '\\', found.len) == NULL) {
		value->p = found.s;
		value->len = found.len;
	}
	return 1;
}

/* How often a tag stands among the elements; *value is the first. */
static int
find_tagged(const struct sign_scheme *s, const struct scheme_part *list,
    const char *tag, struct scheme_part *value)
{
	struct scheme_element	 e;
	struct scheme_part	 rest = *list;
	int			 n = 0;

	while (scheme_next(s, &rest, &e)) {
		if (!scheme_has_tag(s, &e, tag) || n++ > 0)
			continue;
		value->p = e.value;
		value->len = e.value_len;
	}
	return n;
}

/*
 * The timestamp, among the elements of the signature or where it stands.  One
 * that is not signed on its own is missed only by who judges the time.
 */
static int
find_time(const struct sign_scheme *s, const struct sign_message *m,
    const char *where, struct scheme_found *f, const char **why)
{
	const char	*bad = NULL;
	size_t		 n;

	if (s->time_tag == NULL && where == NULL)
		return 0;
	if (s->time_tag != NULL) {
		n = (size_t)find_tagged(s, &f->signature, s->time_tag,
		    &f->timestamp);
		if (n > 1)
			return no(why, "two timestamps in the signature");
		if (n == 0)
			return no(why, "no timestamp in the signature");
	} else {
		n = count(m, where, &f->timestamp);
		if (n > 1)
			bad = "two timestamp headers";
		else if (n == 0 || f->timestamp.len == 0)
			bad = *where == '.' ? "no timestamp in the body" :
			    "no timestamp header";
	}
	if (bad == NULL && scheme_time_read(s->clock, f->timestamp.p,
	    f->timestamp.len, &f->at) == -1)
		bad = bad_time[s->clock];
	if (bad == NULL)
		return 0;
	f->at = -1;
	f->no_time = bad;
	return scheme_signs(s, 't') ? no(why, bad) : 0;
}

static int
no(const char **why, const char *what)
{
	*why = what;
	return 1;
}
