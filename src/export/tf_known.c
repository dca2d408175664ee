/* A binary search in nodes of TensorFlow. */
#include "export/tf_known.h"

#include <stdlib.h>

#include "export/tf_node.h"

struct known { int64_t hash, row; };

static int
compare(const void *a, const void *b)
{
	const int64_t x = ((const struct known *)a)->hash, y = ((const struct known *)b)->hash;

	return (x > y) - (x < y);
}

/* Hashes in order and the rows they stand for; at least one, which is none. */
static enum rs_status
make_arrays(const uint64_t *id, uint64_t n, struct known *known, int64_t *hash, int64_t *row)
{
	known[n] = (struct known){ .hash = -1, .row = (int64_t)n };
	for (uint64_t i = 0; i < n; i++)
		known[i] = (struct known){ .hash = (int64_t)(id[i] % TF_KNOWN_BUCKETS),
			.row = (int64_t)i };
	qsort(known, n + 1, sizeof(*known), compare);
	for (uint64_t i = 0; i <= n; i++) {
		if (i > 0 && known[i].hash == known[i - 1].hash)
			return rs_fail(RS_ESPEC, "export: two ids of an exact table are one in "
				"the 63 bits that TensorFlow has for them");
		hash[i] = known[i].hash;
		row[i] = known[i].row;
	}
	return RS_OK;
}

static const char *
gather(struct tf_graph *g, const char *from, const char *at)
{
	Tf__Node *const n = tf_node_make(g, "GatherV2", 0, (const char *[TF_INPUTS]){ from, at,
		tf_node_scalar(g, TF_INT32, 0) });

	tf_graph_type(g, n, "Tparams", TF_INT64);
	tf_graph_type(g, n, "Tindices", TF_INT64);
	tf_graph_type(g, n, "Taxis", TF_INT32);
	return tf_node_name(n);
}

static const char *
search(struct tf_graph *g, const char *sorted, const char *flat)
{
	Tf__Node *const n = tf_node_make(g, "LowerBound", TF_INT64, (const char *[TF_INPUTS]){
		tf_node_expand(g, TF_INT64, sorted, 0), tf_node_expand(g, TF_INT64, flat, 0) });

	tf_graph_type(g, n, "out_type", TF_INT64);
	return tf_node_binary(g, "Reshape", TF_INT64, tf_node_name(n),
		tf_graph_int32(g, (const int64_t []){ -1 }, 1, 0));
}

static const char *
shape_of(struct tf_graph *g, const char *a)
{
	Tf__Node *const n = tf_node_make(g, "Shape", TF_INT64, (const char *[TF_INPUTS]){ a });

	tf_graph_type(g, n, "out_type", TF_INT32);
	return tf_node_name(n);
}

enum rs_status
tf_known_rows(struct tf_graph *g, const uint64_t *id, uint64_t n, const char *hash,
	const char **out)
{
	const int64_t dim[] = { (int64_t)n + 1 };
	int64_t *const hashes = tf_graph_make(g, (n + 1) * sizeof(*hashes));
	int64_t *const rows = tf_graph_make(g, (n + 1) * sizeof(*rows));
	struct known *const known = calloc(n + 1, sizeof(*known));

	if (hashes == NULL || rows == NULL || known == NULL) {
		free(known);
		return rs_fail(RS_ERESOURCE, "out of memory");
	}
	const enum rs_status status = make_arrays(id, n, known, hashes, rows);
	free(known);
	RS_TRY(status);
	const char *const sorted = tf_graph_const(g, tf_node_new(g), TF_INT64, dim, 1, hashes);
	const char *const row = tf_graph_const(g, tf_node_new(g), TF_INT64, dim, 1, rows);
	const char *const flat = tf_node_binary(g, "Reshape", TF_INT64, hash,
		tf_graph_int32(g, (const int64_t []){ -1 }, 1, 0));
	const char *const at = tf_node_binary(g, "Minimum", TF_INT64, search(g, sorted, flat),
		tf_node_scalar(g, TF_INT64, (double)n));
	const char *const is_known = tf_node_binary(g, "Equal", TF_INT64, gather(g, sorted, at),
		flat);
	*out = tf_node_binary(g, "Reshape", TF_INT64, tf_node_choose(g, TF_INT64, is_known,
		gather(g, row, at), tf_node_scalar(g, TF_INT64, (double)n)), shape_of(g, hash));
	return RS_OK;
}
