/*
 * cgi.h - a request from the variables of CGI (RFC 3875), as a web server
 * hands it over.
 */
#ifndef CGI_H
#define CGI_H

#include <stddef.h>

#include "buf.h"
#include "sign.h"

/*
 * The headers: HTTP_WEBHOOK_ID is webhook-id, CONTENT_TYPE content-type.
 * Names are allocated, values are the environment's.  How many; -1 without
 * memory, or for more than max (errno E2BIG).
 */
int	 cgi_headers(struct sign_header *, size_t max);

/*
 * Append the URL as the server saw it: HTTPS (or REQUEST_SCHEME), HTTP_HOST
 * (or SERVER_NAME and SERVER_PORT), REQUEST_URI (or SCRIPT_NAME, PATH_INFO
 * and QUERY_STRING).  Forwarded headers are not believed.  1; 0 if the
 * variables do not tell; -1.
 */
int	 cgi_url(struct buf *) BUF_CHECKED;

#endif /* CGI_H */
