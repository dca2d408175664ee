/*
 * dense.bin: the dense parameters of a version with their optimizer state.
 * Little-endian, in this order:
 *
 *     char magic[8]  "RSDENSE1"
 *     u64  n_params, P, step, skipped_steps, has_state (0 or 1), 0
 *     n_params times: char name[64]; u64 offset, rows, columns
 *     f32  weight[P];  with state: f32 m[P], v[P]
 */
#ifndef TRAIN_DENSE_FILE_H
#define TRAIN_DENSE_FILE_H

#include "base/file.h"
#include "base/status.h"
#include "train/model.h"

struct dense_head {
	char     magic[8];
	uint64_t n_params, P, step, skipped_steps, has_state, zero;
};

struct dense_param {
	char     name[64];
	uint64_t offset, rows, columns;
};

/* The parts of a mapped file; pointers into it may be unaligned. */
struct dense_view {
	struct dense_head head;
	const char *param;         /* [n_params] struct dense_param                   */
	const char *weight;        /* [P] f32, then m and v                           */
};

/* Checks a mapped file; the view is valid as long as the map. */
enum rs_status dense_file_view(const struct file_map *map, const char *path,
	struct dense_view *out);
/* Parameter i < n_params; RS_EDATA when it lies outside of the file. */
enum rs_status dense_file_param(const struct dense_view *v, size_t i, const char *path,
	struct dense_param *out);

enum rs_status dense_file_write(const struct model *m, struct file_writer *w);
/* Parameters are matched by name; RS_ESPEC names the first of m that the file
 * lacks or has in another shape.  Takes the step counters as well.
 * *had_state (may be NULL): the file carries optimizer state. */
enum rs_status dense_file_load(struct model *m, const char *path, int with_state, int *had_state);

#endif
