/*
 * facts.h - the table of schemes in words, for those who list it.
 */
#ifndef FACTS_H
#define FACTS_H

#include "buf.h"
#include "sign.h"

/* Append all schemes: aligned columns with a heading; a JSON object a line. */
int	 facts_table(struct buf *) BUF_CHECKED;
int	 facts_json(struct buf *) BUF_CHECKED;

#endif /* FACTS_H */
