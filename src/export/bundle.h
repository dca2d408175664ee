/*
 * TensorBundle: PREFIX.index and PREFIX.data-00000-of-00001, the variables of a SavedModel.
 *
 * Tensors of floats are given in ascending order of their names, each as any number of
 * pieces; the index is a sorted table of blocks that are not compressed.  The reader checks
 * the CRC of every block and tensor.
 */
#ifndef EXPORT_BUNDLE_H
#define EXPORT_BUNDLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct bundle_writer;

enum rs_status bundle_writer_open(const char *prefix, struct bundle_writer **out);
/* Bytes of one tensor are added until the next begins. */
enum rs_status bundle_writer_begin(struct bundle_writer *w, const char *name, const int64_t *dim,
	size_t rank);
enum rs_status bundle_writer_add(struct bundle_writer *w, const float *x, size_t n);
/* Both files become complete. */
enum rs_status bundle_writer_commit(struct bundle_writer *w);
void bundle_writer_close(struct bundle_writer *w);

struct bundle;

enum rs_status bundle_open(const char *prefix, struct bundle **out);
void bundle_close(struct bundle *b);
/* Floats of a tensor whose shape must be this; borrowed. */
enum rs_status bundle_find(const struct bundle *b, const char *name, const int64_t *dim,
	size_t rank, const float **out);

#endif
