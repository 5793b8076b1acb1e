#include <stdlib.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "ca.h"

struct ca {
	STACK_OF(X509)	*all;
};

struct ca *
ca_read(const char *path)
{
	struct ca	*ca = calloc(1, sizeof(*ca));
	X509		*one;
	BIO		*in = BIO_new_file(path, "r");

	if (ca == NULL || in == NULL ||
	    (ca->all = sk_X509_new_null()) == NULL)
		goto fail;
	while ((one = PEM_read_bio_X509(in, NULL, NULL, NULL)) != NULL)
		if (sk_X509_push(ca->all, one) == 0) {
			X509_free(one);
			goto fail;
		}
	/* The end of the file is an error too: no line that begins one. */
	if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE ||
	    sk_X509_num(ca->all) == 0)
		goto fail;
	ERR_clear_error();
	BIO_free(in);
	return ca;
fail:
	ERR_clear_error();
	BIO_free(in);
	ca_free(ca);
	return NULL;
}

void
ca_free(struct ca *ca)
{
	if (ca == NULL)
		return;
	sk_X509_pop_free(ca->all, X509_free);
	free(ca);
}

int
ca_add(const struct ca *ca, void *ssl_ctx)
{
	X509_STORE	*store = SSL_CTX_get_cert_store(ssl_ctx);
	int		 i;

	for (i = 0; i < sk_X509_num(ca->all); i++)
		if (X509_STORE_add_cert(store, sk_X509_value(ca->all, i)) != 1)
			return -1;
	return 0;
}
