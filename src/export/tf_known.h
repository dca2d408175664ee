/*
 * Ids of exact tables in a graph of TensorFlow, which has hashes of 63 bits: they are searched
 * among those of the ids known.
 */
#ifndef EXPORT_TF_KNOWN_H
#define EXPORT_TF_KNOWN_H

#include <stdint.h>

#include "export/tf_graph.h"

/* The divisor of the hashes, as StringToHashBucketFast and SparseCross take it. */
#define TF_KNOWN_BUCKETS INT64_MAX

/* Rows, of the shape of hash: that of a hash among those of id [n], which rise, else n.
 * RS_ESPEC: two ids have one hash. */
enum rs_status tf_known_rows(struct tf_graph *g, const uint64_t *id, uint64_t n,
	const char *hash, const char **out);

#endif
