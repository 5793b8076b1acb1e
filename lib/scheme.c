/*
 * scheme.c - the table of schemes.  A new one is a row; hook-signature(5)
 * prints it, and t/310-verify.t holds the two equal.
 */
#include <string.h>

#include "scheme.h"
#include "sign.h"
#include "sign_int.h"

#define HEADER(header)	.names = { { NULL, NULL, header } }
#define KIND(tag, alg, code)						\
	.kind = { { tag, SCHEME_##alg, SCHEME_##code, NULL } }
#define TEXT(tolerance_s)						\
	.secret = SCHEME_SECRET_TEXT, .tolerance = tolerance_s
#define TIMELESS	SIGN_NO_TOLERANCE

/* One header that is a prefix and a signature over the body alone. */
#define BODY(header, prefix, alg, code)					\
	HEADER(header), .content = "%b", KIND(prefix, alg, code),	\
	TEXT(TIMELESS)

/* Stripe's: "t=<time>,v1=<hex>[,v1=<hex>]" over time and body. */
#define TIMED(header, ttag, tag, between)				\
	HEADER(header), .content = "%t.%b", .list = between, .sep = '=', \
	.time_tag = ttag, KIND(tag, HMAC_SHA256, HEX), TEXT(300)

static const struct sign_scheme table[] = {
	[SCHEME_STANDARD] = {
		.name = "standard_webhooks", .also = "standard",
		.names = {
			{ "webhook-id", "webhook-timestamp",
			    "webhook-signature" },
			{ "svix-id", "svix-timestamp", "svix-signature" },
		},
		.content = "%i.%t.%b",
		.list = " ",
		.sep = ',',
		.kind = {
			{ "v1", SCHEME_HMAC_SHA256, SCHEME_BASE64, NULL },
			{ "v1a", SCHEME_ED25519, SCHEME_BASE64, NULL },
		},
		.secret = SCHEME_SECRET_WH,
		.tolerance = 300,
		.id = "webhook-id svix-id", .type = ".type",
	},
	[SCHEME_LEGACY] = {	/* what hook-sub -L adds */
		.name = "hookutils_legacy", .also = "legacy",
		.names = { { "x-webhook-id", NULL, "x-webhook-signature" } },
		.content = "%t.%b",
		.list = ", ", .sep = '=',
		.time_tag = "t",
		KIND("v1", HMAC_SHA256, HEX),
		TEXT(300),
		.id = "x-webhook-id", .type = ".type",
	},
	{
		.name = "adyen_header",
		HEADER("hmacsignature"),
		.content = "%b",
		KIND("", HMAC_SHA256, BASE64),
		.secret = SCHEME_SECRET_HEX,
		.tolerance = TIMELESS,
		.type = ".type .eventType",
	},
	{
		.name = "adyen_notification_item", .also = "adyen",
		HEADER(".additionalData.hmacSignature"),
		.content = "%a",
		KIND("", HMAC_SHA256, BASE64),
		.secret = SCHEME_SECRET_HEX,
		.tolerance = TIMELESS,
		.check = scheme_adyen_check,
		.make = scheme_adyen_make,
	},
	{
		.name = "bitbucket_jira", .also = "bitbucket jira",
		BODY("x-hub-signature", "sha256=", HMAC_SHA256, HEX),
		.id = "x-atlassian-webhook-identifier x-request-uuid",
		.type = "x-event-key .webhookEvent",
	},
	{
		.name = "calendly",
		TIMED("calendly-webhook-signature", "t", "v1", ","),
		.type = ".event",
	},
	{
		.name = "cloudflare_stream", .also = "cloudflare",
		TIMED("webhook-signature", "time", "sig1", ","),
	},
	{
		.name = "coinbase_cdp_hook0", .also = "coinbase hook0",
		HEADER("x-hook0-signature"),
		.content = "%t.%b", .made = 1,
		.list = ",", .sep = '=',
		.time_tag = "t", .names_tag = "h",
		.kind = {
			{ "v0", SCHEME_HMAC_SHA256, SCHEME_HEX, NULL },
			{ "v1", SCHEME_HMAC_SHA256, SCHEME_HEX,
			    "%t.%h.%v.%b" },
		},
		TEXT(300),
		.id = "x-event-id", .type = "x-event-type .eventType",
	},
	{
		.name = "discord",
		.names = { { NULL, "x-signature-timestamp",
		    "x-signature-ed25519" } },
		.content = "%t%b",
		KIND("", ED25519, HEX),
		.secret = SCHEME_SECRET_ED25519,
		.tolerance = 300,
		.id = ".id", .type = ".event.type .type",
	},
	{
		.name = "dropbox",
		BODY("x-dropbox-signature", "", HMAC_SHA256, HEX),
		.anew = 1,	/* it only says whose files changed */
	},
	{
		.name = "gitea_forgejo", .also = "gitea forgejo",
		.names = {
			{ NULL, NULL, "x-gitea-signature" },
			{ NULL, NULL, "x-forgejo-signature" },
		},
		.content = "%b",
		KIND("", HMAC_SHA256, HEX),
		TEXT(TIMELESS),
		.id = "x-gitea-delivery x-forgejo-delivery",
		.type = "x-gitea-event x-forgejo-event",
	},
	{
		.name = "github",
		BODY("x-hub-signature-256", "sha256=", HMAC_SHA256, HEX),
		.id = "x-github-delivery", .type = "x-github-event",
	},
	{
		.name = "github_sha1_legacy", .also = "github_sha1",
		BODY("x-hub-signature", "sha1=", HMAC_SHA1, HEX),
		.id = "x-github-delivery", .type = "x-github-event",
	},
	{
		.name = "gitlab_token", .also = "gitlab",
		HEADER("x-gitlab-token"),
		.content = "",		/* the header is the secret */
		KIND("", TOKEN, AS_IS),
		TEXT(TIMELESS),
		.id = "idempotency-key", .type = "x-gitlab-event",
	},
	{
		.name = "hubspot_v1",
		HEADER("x-hubspot-signature"),
		.content = "%s%b",
		KIND("", SHA256, HEX),
		TEXT(TIMELESS),
	},
	{
		.name = "hubspot_v2",
		HEADER("x-hubspot-signature"),
		.content = "%s%m%u%b", .made = 1,
		KIND("", SHA256, HEX),
		TEXT(TIMELESS),
	},
	{
		.name = "hubspot_v3", .also = "hubspot",
		.names = { { NULL, "x-hubspot-request-timestamp",
		    "x-hubspot-signature-v3" } },
		.content = "%m%u%b%t", .made = 1,
		.clock = SCHEME_MS,
		KIND("", HMAC_SHA256, BASE64),
		TEXT(300),
		.url = scheme_url_hubspot,
	},
	{
		.name = "intercom",
		BODY("x-hub-signature", "sha1=", HMAC_SHA1, HEX),
		.id = ".id", .type = ".topic",
	},
	{
		.name = "klaviyo",
		.names = { { NULL, "klaviyo-timestamp",
		    "klaviyo-signature" } },
		.content = "%b%t",
		.clock = SCHEME_HTTP_DATE,
		KIND("", HMAC_SHA256, HEX),
		TEXT(300),
	},
	{
		.name = "launchdarkly",
		BODY("x-ld-signature", "", HMAC_SHA256, HEX),
		.id = "._id", .type = ".kind",
	},
	{
		.name = "lemonsqueezy",
		BODY("x-signature", "", HMAC_SHA256, HEX),
		.type = "x-event-name .meta.event_name",
	},
	{
		.name = "line",
		BODY("x-line-signature", "", HMAC_SHA256, BASE64),
	},
	{
		.name = "linear",
		.names = { { NULL, ".webhookTimestamp",
		    "linear-signature" } },
		.content = "%b",
		.clock = SCHEME_MS,
		KIND("", HMAC_SHA256, HEX),
		TEXT(60),
		.id = "linear-delivery", .type = "linear-event .type",
	},
	{
		.name = "mailgun",
		.names = { { ".signature.token", ".signature.timestamp",
		    ".signature.signature" } },
		.content = "%t%i",
		KIND("", HMAC_SHA256, HEX),
		TEXT(300),
		.id = ".signature.token", .type = ".event-data.event",
		.make = scheme_mailgun_make,
	},
	{
		.name = "meta_facebook_whatsapp",
		.also = "meta facebook whatsapp",
		BODY("x-hub-signature-256", "sha256=", HMAC_SHA256, HEX),
		.type = ".object",
	},
	{
		.name = "mux", TIMED("mux-signature", "t", "v1", ","),
		.id = ".id", .type = ".type",
	},
	{
		.name = "notion",
		BODY("x-notion-signature", "sha256=", HMAC_SHA256, HEX),
		.id = ".id", .type = ".type",
	},
	{
		.name = "paddle",
		HEADER("paddle-signature"),
		.content = "%t:%b",
		.list = ";", .sep = '=',
		.time_tag = "ts",
		KIND("h1", HMAC_SHA256, HEX),
		TEXT(300),
		.id = ".event_id", .type = ".event_type",
	},
	{
		.name = "pagerduty",
		BODY("x-pagerduty-signature", "v1", HMAC_SHA256, HEX),
		.list = ",", .sep = '=',
		.id = ".event.id", .type = ".event.event_type",
	},
	{
		.name = "paystack",
		BODY("x-paystack-signature", "", HMAC_SHA512, HEX),
		.type = ".event",
	},
	{
		.name = "razorpay",
		BODY("x-razorpay-signature", "", HMAC_SHA256, HEX),
		.id = "x-razorpay-event-id", .type = ".event",
	},
	{
		.name = "sendgrid",
		.names = { { NULL, "x-twilio-email-event-webhook-timestamp",
		    "x-twilio-email-event-webhook-signature" } },
		.content = "%t%b",
		KIND("", ECDSA_P256, BASE64),
		.secret = SCHEME_SECRET_P256,
		.tolerance = 300,
	},
	{
		.name = "sentry",
		BODY("sentry-hook-signature", "", HMAC_SHA256, HEX),
		.id = "request-id", .type = "sentry-hook-resource",
	},
	{
		.name = "shopify",
		BODY("x-shopify-hmac-sha256", "", HMAC_SHA256, BASE64),
		.id = "x-shopify-webhook-id", .type = "x-shopify-topic",
	},
	{
		.name = "slack",
		.names = { { NULL, "x-slack-request-timestamp",
		    "x-slack-signature" } },
		.content = "v0:%t:%b",
		KIND("v0=", HMAC_SHA256, HEX),
		TEXT(300),
		.id = ".event_id", .type = ".event.type .type",
	},
	{
		.name = "square",
		HEADER("x-square-hmacsha256-signature"),
		.content = "%u%b", .made = 1,
		KIND("", HMAC_SHA256, BASE64),
		TEXT(TIMELESS),
		.id = ".event_id", .type = ".type",
	},
	{
		.name = "stripe", TIMED("stripe-signature", "t", "v1", ","),
		.id = ".id", .type = ".type",
	},
	{
		.name = "twilio",
		HEADER("x-twilio-signature"),
		.content = "%u%f", .made = 1,
		KIND("", HMAC_SHA1, BASE64),
		TEXT(TIMELESS),
		.id = "i-twilio-idempotency-token",
		.url = scheme_url_port,
	},
	{
		.name = "twitch",
		.names = { { "twitch-eventsub-message-id",
		    "twitch-eventsub-message-timestamp",
		    "twitch-eventsub-message-signature" } },
		.content = "%i%t%b",
		.clock = SCHEME_RFC3339,
		KIND("sha256=", HMAC_SHA256, HEX),
		TEXT(600),
		.id = "twitch-eventsub-message-id",
		.type = "twitch-eventsub-subscription-type",
	},
	{
		.name = "typeform",
		BODY("typeform-signature", "sha256=", HMAC_SHA256, BASE64),
		.id = ".event_id", .type = ".event_type",
	},
	{
		.name = "woocommerce",
		BODY("x-wc-webhook-signature", "", HMAC_SHA256, BASE64),
		.id = "x-wc-webhook-delivery-id", .type = "x-wc-webhook-topic",
	},
	{
		.name = "workos",
		TIMED("workos-signature", "t", "v1", ", "),
		.clock = SCHEME_MS,
		.id = ".id", .type = ".event",
	},
	{
		.name = "xero",
		BODY("x-xero-signature", "", HMAC_SHA256, BASE64),
	},
	{
		.name = "zendesk",
		.names = { { NULL, "x-zendesk-webhook-signature-timestamp",
		    "x-zendesk-webhook-signature" } },
		.content = "%t%b",
		.clock = SCHEME_RFC3339,
		KIND("", HMAC_SHA256, BASE64),
		TEXT(300),
		.id = "x-zendesk-webhook-invocation-id", .type = ".type",
	},
	{
		.name = "zoom",
		.names = { { NULL, "x-zm-request-timestamp",
		    "x-zm-signature" } },
		.content = "v0:%t:%b",
		KIND("v0=", HMAC_SHA256, HEX),
		TEXT(300),
		.type = ".event",
	},
};

#define NELEM(a)	(sizeof(a) / sizeof((a)[0]))

static int	 same(const char *, const char *, size_t);

const struct sign_scheme *
sign_scheme(const char *name)
{
	const char	*also;
	size_t		 i, n;

	for (i = 0; i < NELEM(table); i++) {
		if (same(name, table[i].name, strlen(table[i].name)))
			return &table[i];
		also = table[i].also;
		for (; also != NULL && *also != '\0'; also += n) {
			also += strspn(also, " ");
			n = strcspn(also, " ");
			if (same(name, also, n))
				return &table[i];
		}
	}
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

/* Equal names, '-' being '_'? */
static int
same(const char *a, const char *b, size_t n)
{
	size_t	 i;

	for (i = 0; i < n && a[i] != '\0'; i++)
		if ((a[i] == '-' ? '_' : a[i]) != b[i])
			return 0;
	return i == n && n > 0 && a[i] == '\0';
}
