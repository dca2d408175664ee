/*
 * Which items of the catalogue the rows of some files are about, by group.
 *
 * Lists of numbers, one after the other: those of group g are number[begin[g]] ..
 * number[begin[g+1]-1], ascending, each once.  Rows of other groups, and items that
 * are not in the catalogue, are passed over.
 */
#ifndef TRAIN_SEEN_H
#define TRAIN_SEEN_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "data/catalogue.h"
#include "train/groups.h"

struct seen {
	size_t   *begin;           /* [n_groups+1]                                    */
	uint32_t *number;
	size_t    n_groups;
};

struct seen_source {
	const struct schema *schema;
	const struct text_list *files;
	const struct catalogue *catalogue;
};

/* One pass over the files.  every: groups that are not there yet are added. */
enum rs_status seen_read(const struct seen_source *from, struct groups *groups, int every,
	struct seen *out);
void seen_free(struct seen *s);

/* A growing list of (group, value), which seen_sort() makes such lists of. */
struct seen_pair { uint32_t group, value; };
struct seen_pairs { struct seen_pair *item; size_t n, capacity; };

enum rs_status seen_add(struct seen_pairs *p, uint32_t group, uint32_t value);
enum rs_status seen_sort(const struct seen_pairs *p, size_t n_groups, struct seen *out);

#endif
