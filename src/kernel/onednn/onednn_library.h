/* The functions of the library that are called; for onednn*.c only. */
#ifndef KERNEL_ONEDNN_ONEDNN_LIBRARY_H
#define KERNEL_ONEDNN_ONEDNN_LIBRARY_H

#include <oneapi/dnnl/dnnl.h>

#include "base/status.h"
#include "kernel/narrow.h"

#define ONEDNN_TABLE(ROW) \
	ROW(dnnl_version) ROW(dnnl_get_effective_cpu_isa) \
	ROW(dnnl_engine_create) ROW(dnnl_stream_create) ROW(dnnl_stream_destroy) \
	ROW(dnnl_memory_desc_init_by_strides) ROW(dnnl_memory_desc_init_by_tag) \
	ROW(dnnl_memory_desc_equal) ROW(dnnl_memory_desc_get_size) ROW(dnnl_memory_create) ROW(dnnl_memory_destroy) \
	ROW(dnnl_memory_set_data_handle) ROW(dnnl_matmul_desc_init) \
	ROW(dnnl_reorder_primitive_desc_create) ROW(dnnl_primitive_desc_create) \
	ROW(dnnl_primitive_desc_destroy) ROW(dnnl_primitive_desc_query_md) \
	ROW(dnnl_primitive_attr_create) ROW(dnnl_primitive_attr_destroy) \
	ROW(dnnl_primitive_attr_set_scratchpad_mode) ROW(dnnl_primitive_attr_set_post_ops) \
	ROW(dnnl_post_ops_create) ROW(dnnl_post_ops_destroy) ROW(dnnl_post_ops_append_sum) \
	ROW(dnnl_post_ops_append_eltwise) \
	ROW(dnnl_primitive_create) ROW(dnnl_primitive_execute) ROW(dnnl_primitive_destroy)

struct onednn_library {
#define ROW(name) __typeof__(name) *name;
	ONEDNN_TABLE(ROW)
#undef ROW
	void (*set_threads)(int);   /* of OpenMP, in the calling thread; NULL: it has none */
	dnnl_engine_t engine;
};

extern struct onednn_library onednn_library;
/* Fills it. */
enum rs_status onednn_load(void);
/* From here on products that this thread makes or runs are of one thread. */
void onednn_one_thread(void);
/* A failure of the call, with the library's code. */
enum rs_status onednn_fail(const char *call, dnnl_status_t code);

extern const struct narrow_set onednn_layer_brain, onednn_layer_whole,
	onednn_layer_plain;

#endif
