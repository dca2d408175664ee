/*
 * The rows of tables on a GPU, and a step of them there; private to embed/.
 *
 * Where they are spread over GPUs each has a part of each table: as many rows, beside each other.
 * Tables whose steps differ in nothing but their rows are a group: their rows lie behind each
 * other, each a lookup_local's row of floats to the byte, and a step of all of them is a sort and
 * two launches.  A group whose occurrences have the rows of the group before in the same order
 * (vectors and first-order weights of the same fields) takes its order.
 *
 * In a step device_rows_begin() comes first, from one thread, then device_rows_put() once a table,
 * from any thread; or device_rows_begin_groups(), and what device_rows_group() says is written.
 * Then device_rows_start() and device_rows_wait().  What the gradients point at is on the GPU and
 * stays.
 */
#ifndef EMBED_DEVICE_ROWS_H
#define EMBED_DEVICE_ROWS_H

#include "embed/lookup.h"
#include "kernel/gpu.h"

struct device_rows;

/* n: occurrences of all tables in a step that room is made for; with more it grows. */
struct device_rows_options {
	struct gpu_memory *gpu;
	size_t part, n_parts;       /* part: the place of the GPU, too                */
	const struct lookup_table *table;
	size_t n_tables, n;
};

/* Where the rows of a table are; those of a group have the same distance. */
struct device_rows_table {
	size_t group, D, stride;
	size_t n;                   /* rows of a part; the last ones may have fewer   */
	size_t first;               /* row of the group                               */
	float *rows;                /* on the GPU, stride floats apart                */
};

/* The occurrences of a group in a step, here; rows of the group. */
struct device_rows_group {
	size_t n;
	uint32_t *row;              /* [n]                                            */
	const float **grad;         /* [n]                                            */
};

/* What these take of the GPU's memory. */
enum rs_status device_rows_bytes(const struct device_rows_options *o, size_t *out);
enum rs_status device_rows_open(const struct device_rows_options *o, struct device_rows **out);
void device_rows_close(struct device_rows *d);
/* Memory of the host. */
size_t device_rows_here(const struct device_rows *d);

struct device_rows_table device_rows_table(const struct device_rows *d, size_t table);
size_t device_rows_n_groups(const struct device_rows *d);
/* All rows of the part, from or to the tables of a lookup_local. */
enum rs_status device_rows_upload(struct device_rows *d, const struct lookup *home);
enum rs_status device_rows_download(struct device_rows *d, const struct lookup *home);

/* n [n_tables], [n_groups] occurrences. */
enum rs_status device_rows_begin(struct device_rows *d, const size_t *n);
enum rs_status device_rows_begin_groups(struct device_rows *d, const size_t *n);
struct device_rows_group device_rows_group(const struct device_rows *d, size_t group);
void device_rows_put(struct device_rows *d, size_t table, const struct lookup_push *const *push,
	size_t n_push);
void device_rows_start(struct device_rows *d, double rate_factor);
enum rs_status device_rows_wait(struct device_rows *d);

#endif
