/*
 * The tables of a lookup_local, private to embed/.
 */
#ifndef EMBED_LOCAL_H
#define EMBED_LOCAL_H

#include "embed/lookup.h"
#include "embed/table.h"

struct table *local_table(const struct lookup *l, size_t table);

#endif
