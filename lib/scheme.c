/*
 * scheme.c - the table of schemes.  A new one is a row.
 */
#include <string.h>

#include "scheme.h"
#include "sign.h"

static const struct sign_scheme table[] = {
	[SCHEME_STANDARD] = {
		.name = "standard_webhooks",
		.also = "standard",
		.names = {
			{ "webhook-id", "webhook-timestamp",
			    "webhook-signature" },
			{ "svix-id", "svix-timestamp", "svix-signature" },
		},
		.content = "%i.%t.%b",
		.list = " ",
		.sep = ',',
		.kind = {
			{ "v1", SCHEME_HMAC_SHA256, SCHEME_BASE64 },
			{ "v1a", SCHEME_ED25519, SCHEME_BASE64 },
		},
		.secret = SCHEME_SECRET_WH,
		.tolerance = 300,
	},
	[SCHEME_LEGACY] = {	/* what hook-sub -L adds */
		.name = "hookutils_legacy",
		.also = "legacy",
		.names = {
			{ "x-webhook-id", NULL, "x-webhook-signature" },
		},
		.content = "%t.%b",
		.list = ", ",
		.sep = '=',
		.time_tag = "t",
		.kind = {
			{ "v1", SCHEME_HMAC_SHA256, SCHEME_HEX },
		},
		.secret = SCHEME_SECRET_TEXT,
		.tolerance = 300,
	},
};

#define NELEM(a)	(sizeof(a) / sizeof((a)[0]))

static int	 same(const char *, const char *);

const struct sign_scheme *
sign_scheme(const char *name)
{
	size_t	 i;

	for (i = 0; i < NELEM(table); i++)
		if (same(name, table[i].name) ||
		    (table[i].also != NULL && same(name, table[i].also)))
			return &table[i];
	return NULL;
}

const struct sign_scheme *
sign_scheme_at(size_t n)
{
	return n < NELEM(table) ? &table[n] : NULL;
}

const char *
sign_scheme_name(const struct sign_scheme *s)
{
	return s->name;
}

int64_t
sign_scheme_tolerance(const struct sign_scheme *s)
{
	return s->tolerance;
}

const struct scheme_kind *
scheme_kind_of(const struct sign_scheme *s, const struct sign_key *key)
{
	size_t	 i;

	for (i = 0; i < SCHEME_KINDS && s->kind[i].tag != NULL; i++)
		if (s->kind[i].alg == key->alg)
			return &s->kind[i];
	return NULL;
}

size_t
scheme_sig_len(enum scheme_alg alg)
{
	return alg == SCHEME_ED25519 ? 64 : 32;
}

/* Equal names, '-' being '_'? */
static int
same(const char *a, const char *b)
{
	for (; *a != '\0' && *b != '\0'; a++, b++)
		if ((*a == '-' ? '_' : *a) != *b)
			return 0;
	return *a == *b;
}
