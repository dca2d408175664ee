/*
 * Entries of an exact table by ranges of ids, to be taken elsewhere and back
 * (struct lookup_entries), private to embed/.  No commit is under way.
 */
#ifndef EMBED_ENTRIES_H
#define EMBED_ENTRIES_H

#include "base/status.h"
#include "embed/lookup.h"
#include "embed/table.h"

enum rs_status entries_get(const struct table *t, struct lookup_entries *e);
enum rs_status entries_put(struct table *t, const struct lookup_entries *e);

#endif
