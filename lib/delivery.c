#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "delivery.h"
#include "lane.h"

static int
delivery_compare(const struct delivery *a, const struct delivery *b)
{
	return (a->id > b->id) - (a->id < b->id);
}

RB_GENERATE(deliveries, delivery, link, delivery_compare)

void
delivery_judge(struct delivery *d, enum retry_class class, const char *error,
    int abort)
{
	char	 status[64];

	snprintf(status, sizeof(status), "status %d%s", d->status,
	    class == RETRY_GONE ? ": gone, subscription disabled" :
	    abort ? ": webhook-delivery: abort" : "");
	if (error == NULL && class != RETRY_OK)
		error = status;
	if (error != NULL)
		d->error = strdup(error);
	d->outcome = class == RETRY_OK ? "delivered" :
	    class == RETRY_LATER ? "later" : "failed";
}

void
delivery_free(struct delivery *d)
{
	struct lane	*l = d->lane;

	if (l != NULL) {
		RB_REMOVE(deliveries, &l->all, d);
		l->out -= d->place == OUT;
		l->done -= d->place == DONE;
	}
	free(d->event_type);
	free(d->head);
	free(d->body);
	free(d->error);
	free(d->answer);
	buf_free(&d->text);
	free(d);
}
