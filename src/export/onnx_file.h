/*
 * What the parts of the reader of ONNX files share.
 */
#ifndef EXPORT_ONNX_FILE_H
#define EXPORT_ONNX_FILE_H

#include "base/file.h"
#include "export/onnx.h"
#include "export/onnx.pb-c.h"

#define ONNX_FILE_DIM_MAX ((int64_t)1 << 40)

enum { ONNX_FLOAT = 1, ONNX_INT64 = 7 };

struct onnx_file {
	const char *path;              /* for messages, while it is read              */
	struct file_map map, data;     /* data: of the side file                      */
	Onnx__Model *model;
	struct program *program;
	const float **table;           /* [n initializers] rows, NULL: no table       */
	/* Names of values, and the L of lists. */
	char   **length;               /* [n_lengths] borrowed                        */
	size_t   n_lengths;
};

enum rs_status onnx_file_fail(const struct onnx_file *f, const char *what, const char *name);
/* The value of this name, 0: none. */
size_t onnx_file_value(const struct onnx_file *f, const char *name);
/* Whole numbers of an initializer. */
enum rs_status onnx_file_numbers(const struct onnx_file *f, const char *name, const int64_t **out,
	size_t *n);
enum rs_status onnx_nodes_add(struct onnx_file *f, const Onnx__Node *n);

/* Of a list of properties; NULL, UINT64_MAX: there is none. */
const char *onnx_sum_pair(Onnx__Pair *const *pair, size_t n, const char *key);
uint64_t onnx_sum_number(Onnx__Pair *const *pair, size_t n, const char *key);
/* The file; the file beside it. */
enum rs_status onnx_sum_check(const struct onnx_file *f);
enum rs_status onnx_sum_check_data(const struct onnx_file *f, const char *path);

#endif
