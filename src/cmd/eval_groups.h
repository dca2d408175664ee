/*
 * Metrics of groups of rows, by the text of a column.
 *
 * At most EVAL_GROUPS_MAX groups (RS_EDATA beyond).  After eval_groups_sort()
 * the largest group is first; equal ones are in bytewise order of their text.
 */
#ifndef CMD_EVAL_GROUPS_H
#define CMD_EVAL_GROUPS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "train/metric.h"

#define EVAL_GROUPS_MAX ((size_t)1 << 20)

struct eval_group {
	char    *text;             /* [n] and a NUL                                   */
	size_t   n;
	uint64_t hash, rows;
	struct metric *metric;
};

struct eval_groups {
	struct eval_group *group;  /* [n_groups]                                      */
	size_t n_groups, capacity;
	uint32_t *slot;            /* [n_slots] group + 1, 0 empty                    */
	size_t n_slots;            /* a power of two                                  */
	/* Set before the first row; borrowed: */
	const struct figure_list *figures;
	int    is_real;
};

void eval_groups_free(struct eval_groups *g);
/* Row b of the batch belongs to the group of this text. */
enum rs_status eval_groups_add(struct eval_groups *g, const char *text, size_t n,
	const struct batch *batch, size_t b, float logit);
void eval_groups_sort(struct eval_groups *g);

#endif
