/*
 * The rows of tables on a GPU, and a step of them there; private to embed/.
 *
 * Tables whose steps differ in nothing but their rows are a group: their rows lie behind each
 * other, each a lookup_local's row of floats to the byte, and a step of all of them is a sort and
 * two launches.  A group whose occurrences have the rows of the group before in the same order
 * (vectors and first-order weights of the same fields) takes its order.
 *
 * In a step device_rows_begin() comes first, from one thread, then device_rows_put() once a table,
 * from any thread, then device_rows_step().  What the gradients point at is on the GPU and stays.
 */
#ifndef EMBED_DEVICE_ROWS_H
#define EMBED_DEVICE_ROWS_H

#include "embed/lookup.h"
#include "kernel/gpu.h"

struct device_rows;

/* n: occurrences of all tables in a step that room is made for; with more it grows. */
struct device_rows_options {
	struct gpu_memory *gpu;
	const struct lookup_table *table;
	size_t n_tables, n;
};

/* What these take of the GPU's memory. */
enum rs_status device_rows_bytes(const struct device_rows_options *o, size_t *out);
enum rs_status device_rows_open(const struct device_rows_options *o, struct device_rows **out);
void device_rows_close(struct device_rows *d);
/* Memory of the host. */
size_t device_rows_here(const struct device_rows *d);

/* Where rows of a table are on the GPU, *stride floats apart. */
const float *device_rows_at(const struct device_rows *d, size_t table, size_t *stride);
/* All rows, from or to the tables of a lookup_local. */
enum rs_status device_rows_upload(struct device_rows *d, const struct lookup *home);
enum rs_status device_rows_download(struct device_rows *d, const struct lookup *home);

/* n [n_tables] occurrences. */
enum rs_status device_rows_begin(struct device_rows *d, const size_t *n);
void device_rows_put(struct device_rows *d, size_t table, const struct lookup_push *const *push,
	size_t n_push);
enum rs_status device_rows_step(struct device_rows *d, double rate_factor);

#endif
