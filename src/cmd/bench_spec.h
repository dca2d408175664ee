/*
 * What bench trains when no spec is given: a spec and rows for every model.
 *
 * Shapes are those of published CTR benchmarks: 26 categorical and 13 numeric
 * fields of dim 16, hidden 400,400,400, batch 4096; din adds a history of 50
 * items and categories that share the tables of C1 and C2; two_tower has 16
 * categorical and the numeric fields for the user, 10 for the item.
 */
#ifndef CMD_BENCH_SPEC_H
#define CMD_BENCH_SPEC_H

#include "base/memory.h"
#include "cmd/synth.h"

struct bench_spec {
	const char *model;             /* NULL: every model that has no row           */
	const struct synth_layout *layout;
	const char *text;              /* follows "[model]\ntype = NAME\n"            */
};

/* Always finds one. */
const struct bench_spec *bench_spec_find(const char *model);
/* Appends the spec; it reads "rows.tsv" beside it. */
enum rs_status bench_spec_write(const char *model, struct buffer *out);

#endif
