/*
 * receive.h - what hook-receive answers, and what it keeps.
 *
 * Whether a name is that of a source is told to nobody who can't sign for it:
 * both get the same 401.
 */
#ifndef RECEIVE_H
#define RECEIVE_H

#include "addr.h"
#include "intake.h"
#include "serve.h"
#include "sources.h"

struct receive {
	struct sources		 sources;
	struct intake		 intake;
	struct addr_allow	 proxies;	/* X-Forwarded-* counts */
	size_t			 max_body;	/* bytes, unpacked too */
	const char		*offers;	/* folder of offer.h, or NULL */
};

/* For struct serve_conf, with a struct receive as its arg. */
void	 receive_take(void *, struct serve_request *);
void	 receive_refused(void *, const struct sockaddr_storage *,
	    const struct http_error *);

/* For struct intake, likewise. */
void	 receive_done(void *, struct intake_message *, enum intake_outcome);

#endif /* RECEIVE_H */
