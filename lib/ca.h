/*
 * ca.h - certificates of HOOK_CA_FILE, trusted as well as the system's.
 */
#ifndef CA_H
#define CA_H

struct ca;

/* All certificates in a PEM file; NULL if there is none to be read. */
struct ca *ca_read(const char *path);
void	 ca_free(struct ca *);

/* Add them to what an SSL_CTX trusts; -1 on failure. */
int	 ca_add(const struct ca *, void *ssl_ctx);

#endif /* CA_H */
