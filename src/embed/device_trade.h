/*
 * Rows of tables that are spread over GPUs, on their way to where they are looked at, and their
 * gradients on the way back; private to embed/.
 *
 * Every occurrence of a step is an entry: a copy of its row, made by the GPU that has it and kept
 * until the commit by the GPU that looks at it.  Entries lie by group of tables, then by the other
 * GPU, then by piece, use and place in that: so what two GPUs have for each other is a run of each
 * group, on both sides in the same order, and gradients go back where rows came from.  Each GPU
 * then sums and steps its rows as one that has all, and in the order of pieces: who looks at
 * which piece changes no bit.
 * An id that occurs again is sent again: to find it would take the host longer than the way.
 *
 * In a fetch device_trade_count() comes first, once a use, then device_trade_place(), then
 * device_trade_fill(), once a use, then device_trade_bring().  Count and fill are for any thread.
 */
#ifndef EMBED_DEVICE_TRADE_H
#define EMBED_DEVICE_TRADE_H

#include "embed/device_rows.h"
#include "embed/lookup_device.h"
#include "kernel/gpu_mesh.h"

struct device_trade;

/* What it takes of each GPU besides the rows. */
size_t device_trade_bytes(const struct lookup_device_options *o);
/* rows [places of o->gpu] is borrowed. */
enum rs_status device_trade_open(const struct lookup_device_options *o,
	struct device_rows *const *rows, struct device_trade **out);
void device_trade_close(struct device_trade *t);
/* Memory of the host. */
size_t device_trade_here(const struct device_trade *t);

/* RS_EDATA: there is no such row. */
enum rs_status device_trade_count(struct device_trade *t, const struct lookup_fetch *f,
	const struct lookup *home, size_t use);
enum rs_status device_trade_place(struct device_trade *t, const struct lookup_fetch *f);
void device_trade_fill(struct device_trade *t, const struct lookup_fetch *f, size_t use);
enum rs_status device_trade_bring(struct device_trade *t);

/* Of a piece of what was fetched, any thread. */
enum rs_status device_trade_pull(struct device_trade *t, const struct lookup_pull *p);
enum rs_status device_trade_push(struct device_trade *t, const struct lookup_push *p);
/* The step of all rows, with what was pushed. */
enum rs_status device_trade_step(struct device_trade *t, double rate_factor);

#endif
