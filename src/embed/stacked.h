/*
 * Hash stacks (data/hash_stack.h) in front of a lookup: the rows of tables of several rounds.
 *
 * An occurrence of such a table is its id in a batch.  To the lookup it is `rounds` ids; what is
 * pulled of it is their sum, in memory of the slot, and its gradient goes to each of them.  The
 * id for "missing" has one row: in the other rounds it is pulled and not added, and pushed with
 * a factor of 0.  lookup_table.scales_rounds divides the sum, and so the gradient, by the root
 * of the number of rows.  Tables of one round pass unchanged, and a NULL stacked passes all.
 *
 * Threads and order of calls are those of the lookup (embed/lookup.h), but stacked_use() comes
 * before fetch, from one thread, between two barriers.
 */
#ifndef EMBED_STACKED_H
#define EMBED_STACKED_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "embed/lookup.h"

struct stacked;

/* *out is NULL when no table has several rounds.  The tables are borrowed. */
enum rs_status stacked_open(const struct lookup_table *table, size_t n_tables, size_t n_slots,
	size_t n_inputs, struct stacked **out);
void stacked_close(struct stacked *s);
/* use [n]: those of stacked tables become the ids of all rounds, valid until the next call. */
enum rs_status stacked_use(struct stacked *s, struct lookup_use *use, size_t n);
/* As the operations of the lookup.  A stage of the caller has places for 2 n_inputs inputs. */
enum rs_status stacked_pull(struct stacked *s, struct lookup *l, const struct lookup_pull *p);
enum rs_status stacked_push(struct stacked *s, struct lookup *l, const struct lookup_push *p);
/* 1 when all rows of the id were trained: a value that was has no other. */
int stacked_touched(const struct stacked *s, const struct lookup *l, size_t table, uint64_t id);
/* The row that an id of a batch has in a round of a table of several; "missing": in all. */
uint64_t stacked_row(const struct lookup_table *t, uint64_t id, size_t round);
/* Bytes that an occurrence takes in a slot. */
size_t stacked_bytes(const struct lookup_table *t);

#endif
