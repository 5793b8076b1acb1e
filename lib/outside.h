/*
 * outside.h - how a request looked from outside, before our own proxies.
 *
 * X-Forwarded-* headers are anybody's to write, so they count only where the
 * connection comes from a listed proxy.
 */
#ifndef OUTSIDE_H
#define OUTSIDE_H

#include <sys/socket.h>

#include "addr.h"
#include "buf.h"
#include "http.h"

/*
 * Append the URL that the sender called: of public_url (NULL: not known) with
 * the request's query; else of what a listed proxy says; else of the request.
 */
int	 outside_url(const struct http_request *, const char *public_url,
	    const struct sockaddr_storage *peer, const struct addr_allow *,
	    struct buf *out) BUF_CHECKED;

/* The address it came from, as text; for logs. */
void	 outside_address(const struct http_request *,
	    const struct sockaddr_storage *peer, const struct addr_allow *,
	    char text[64]);

#endif /* OUTSIDE_H */
