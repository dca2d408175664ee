/* The products of a layer by oneDNN: primitives, packed weights, the memory they name. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "kernel/kernel.h"
#include "kernel/onednn/onednn_library.h"

#define DNNL onednn_library
#define CALL(name, ...) do { \
	const dnnl_status_t code_ = DNNL.dnnl_##name(__VA_ARGS__); \
	if (code_ != dnnl_success) \
		return onednn_fail(#name, code_); \
} while (0)

/* W or its transpose as the product wants it; reorder NULL: as it is. */
struct packed {
	dnnl_memory_desc_t desc;
	dnnl_memory_t plain, memory, scratch;   /* plain: of the caller's floats      */
	dnnl_primitive_t reorder;
	void *block, *scratch_block;
	size_t bytes;                           /* of both                            */
};

enum { PACKED_W, PACKED_WT, N_PACKED };

struct onednn_weight {
	struct narrow base;
	struct packed packed[N_PACKED];
	const float *weight;        /* of the caller, since it was last packed        */
	dnnl_stream_t stream;
};

/* c = act(a b + bias) + beta c */
enum { PRODUCT_Y, PRODUCT_DW, PRODUCT_DX, PRODUCT_DX_MORE, N_PRODUCTS };

enum { ARGS = 5 };

struct product {
	dnnl_primitive_t primitive;
	dnnl_memory_t a, b, bias, c, scratch;
};

struct onednn_lane {
	struct narrow_lane base;
	struct product product[N_PRODUCTS];
	dnnl_stream_t stream;
};

/* What a product is made of. */
struct recipe {
	dnnl_memory_desc_t a, b, bias, c;
	int has_bias, act, adds;
};

static dnnl_data_type_t
type_of(const struct narrow *w)
{
	return w->set == &onednn_layer_brain ? dnnl_bf16 : dnnl_f32;
}

/* A matrix whose elements lie `down` and `right` apart. */
static enum rs_status
describe(dnnl_memory_desc_t *out, dnnl_data_type_t type, size_t rows, size_t columns, size_t down,
	size_t right)
{
	const dnnl_dims_t dims = { (dnnl_dim_t)rows, (dnnl_dim_t)columns };
	const dnnl_dims_t strides = { (dnnl_dim_t)down, (dnnl_dim_t)right };

	CALL(memory_desc_init_by_strides, out, 2, dims, type, strides);
	return RS_OK;
}

static const dnnl_alg_kind_t act_kind[] = {
	[KERNEL_ACT_RELU] = dnnl_eltwise_relu, [KERNEL_ACT_TANH] = dnnl_eltwise_tanh,
	[KERNEL_ACT_SIGMOID] = dnnl_eltwise_logistic,
};

/* relu makes 0 of a NaN here.  The guard sees it all the same: what made it is in x or W, and
 * 0 times that is NaN in dW or dx. */
static enum rs_status
set_attributes(const struct recipe *r, dnnl_primitive_attr_t attr, dnnl_post_ops_t ops)
{
	CALL(primitive_attr_set_scratchpad_mode, attr, dnnl_scratchpad_mode_user);
	if (r->adds)
		CALL(post_ops_append_sum, ops, 1);
	if (r->act != KERNEL_ACT_NONE)
		CALL(post_ops_append_eltwise, ops, 1, act_kind[r->act], 0, 0);
	CALL(primitive_attr_set_post_ops, attr, ops);
	return RS_OK;
}

static enum rs_status
product_describe(const struct recipe *r, dnnl_primitive_desc_t *out)
{
	dnnl_primitive_attr_t attr = NULL;
	dnnl_post_ops_t ops = NULL;
	dnnl_matmul_desc_t desc;
	enum rs_status status;

	CALL(matmul_desc_init, &desc, &r->a, &r->b,
		r->has_bias ? &r->bias : NULL, &r->c);
	CALL(primitive_attr_create, &attr);
	dnnl_status_t code = DNNL.dnnl_post_ops_create(&ops);
	status = code != dnnl_success ? onednn_fail("post_ops_create", code)
		: set_attributes(r, attr, ops);
	if (status == RS_OK) {
		code = DNNL.dnnl_primitive_desc_create(out, &desc, attr, DNNL.engine, NULL);
		if (code != dnnl_success)
			status = onednn_fail("matmul", code);
	}
	if (ops != NULL)
		DNNL.dnnl_post_ops_destroy(ops);
	DNNL.dnnl_primitive_attr_destroy(attr);
	return status;
}

static enum rs_status
memory_of(dnnl_memory_t *out, const dnnl_memory_desc_t *desc)
{
	CALL(memory_create, out, desc, DNNL.engine, DNNL_MEMORY_NONE);
	return RS_OK;
}

/* ---- products ----------------------------------------------------------- */

static void
product_close(struct product *p)
{
	const dnnl_memory_t memory[] = { p->a, p->b, p->bias, p->c, p->scratch };

	for (size_t i = 0; i < sizeof(memory) / sizeof(memory[0]); i++)
		if (memory[i] != NULL)
			DNNL.dnnl_memory_destroy(memory[i]);
	if (p->primitive != NULL)
		DNNL.dnnl_primitive_destroy(p->primitive);
}

static enum rs_status
product_fill(struct product *p, const struct recipe *r, const_dnnl_primitive_desc_t desc,
	size_t *scratch_bytes)
{
	const dnnl_memory_desc_t *scratch =
		DNNL.dnnl_primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0);
	const size_t bytes = DNNL.dnnl_memory_desc_get_size(scratch);

	*scratch_bytes = bytes > *scratch_bytes ? bytes : *scratch_bytes;
	CALL(primitive_create, &p->primitive, desc);
	RS_TRY(memory_of(&p->a, &r->a));
	RS_TRY(memory_of(&p->b, &r->b));
	if (r->has_bias)
		RS_TRY(memory_of(&p->bias, &r->bias));
	RS_TRY(memory_of(&p->c, &r->c));
	return memory_of(&p->scratch, scratch);
}

static enum rs_status
product_open(struct product *p, const struct recipe *r, size_t *scratch_bytes)
{
	dnnl_primitive_desc_t desc;
	enum rs_status status;

	RS_TRY(product_describe(r, &desc));
	status = product_fill(p, r, desc, scratch_bytes);
	DNNL.dnnl_primitive_desc_destroy(desc);
	return status;
}

/* Where the matrices of a product are. */
struct places { const void *a, *b, *bias; float *c; void *scratch; };

static int
put(dnnl_memory_t memory, const void *at)
{
	return memory == NULL || at == NULL
	    || DNNL.dnnl_memory_set_data_handle(memory, (void *)(uintptr_t)at) == dnnl_success;
}

/* n numbers of c are NaN when the library fails. */
static void
product_run(struct product *p, dnnl_stream_t stream, const struct places *at, size_t n)
{
	dnnl_exec_arg_t arg[ARGS] = {
		{ DNNL_ARG_SRC, p->a }, { DNNL_ARG_WEIGHTS, p->b }, { DNNL_ARG_DST, p->c },
		{ DNNL_ARG_SCRATCHPAD, p->scratch }, { DNNL_ARG_BIAS, p->bias },
	};
	const int n_args = p->bias != NULL ? ARGS : ARGS - 1;

	if (put(p->a, at->a) && put(p->b, at->b) && put(p->bias, at->bias) && put(p->c, at->c)
	    && put(p->scratch, at->scratch)
	    && DNNL.dnnl_primitive_execute(p->primitive, stream, n_args, arg) == dnnl_success)
		return;
	for (size_t i = 0; i < n; i++)
		at->c[i] = NAN;
}

/* ---- the weight --------------------------------------------------------- */

/* y = act(x W + bias), or dx = dz W^T (+ dx): what is multiplied for B rows.  The layout of b is
 * `layout`, or where that is NULL the library's own choice for just this product. */
static enum rs_status
recipe_by_weight(const struct narrow *w, size_t B, int which, const dnnl_memory_desc_t *layout,
	struct recipe *out)
{
	const struct narrow_shape *s = &w->shape;
	const size_t inner = which == PACKED_W ? s->n : s->H;
	const size_t outer = which == PACKED_W ? s->H : s->n;
	const dnnl_dims_t dims = { (dnnl_dim_t)inner, (dnnl_dim_t)outer };

	memset(out, 0, sizeof(*out));
	RS_TRY(describe(&out->a, type_of(w), B, inner, inner, 1));
	RS_TRY(describe(&out->c, dnnl_f32, B, outer, outer, 1));
	RS_TRY(describe(&out->bias, dnnl_f32, 1, outer, outer, 1));
	out->has_bias = which == PACKED_W && s->has_bias;
	out->act = which == PACKED_W ? s->act : KERNEL_ACT_NONE;
	out->adds = which == PACKED_WT;
	if (layout != NULL)
		out->b = *layout;
	else
		CALL(memory_desc_init_by_tag, &out->b, 2, dims, type_of(w), dnnl_format_tag_any);
	return RS_OK;
}

static void
packed_close(struct packed *p)
{
	const dnnl_memory_t memory[] = { p->plain, p->memory, p->scratch };

	for (size_t i = 0; i < sizeof(memory) / sizeof(memory[0]); i++)
		if (memory[i] != NULL)
			DNNL.dnnl_memory_destroy(memory[i]);
	if (p->reorder != NULL)
		DNNL.dnnl_primitive_destroy(p->reorder);
	free(p->block);
	free(p->scratch_block);
}

static enum rs_status
reorder_describe(const dnnl_memory_desc_t *from, const dnnl_memory_desc_t *to,
	dnnl_primitive_desc_t *out)
{
	dnnl_primitive_attr_t attr;
	dnnl_status_t code;

	CALL(primitive_attr_create, &attr);
	code = DNNL.dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user);
	if (code == dnnl_success)
		code = DNNL.dnnl_reorder_primitive_desc_create(
			out, from, DNNL.engine, to, DNNL.engine, attr);
	DNNL.dnnl_primitive_attr_destroy(attr);
	return code == dnnl_success ? RS_OK : onednn_fail("reorder", code);
}

static enum rs_status
packed_fill(struct packed *p, const dnnl_memory_desc_t *plain, const_dnnl_primitive_desc_t desc)
{
	const dnnl_memory_desc_t *scratch =
		DNNL.dnnl_primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0);
	const size_t bytes = DNNL.dnnl_memory_desc_get_size(&p->desc) + 1;
	const size_t scratch_bytes = DNNL.dnnl_memory_desc_get_size(scratch) + 1;

	CALL(primitive_create, &p->reorder, desc);
	RS_TRY(memory_alloc(bytes, 1, &p->block));
	RS_TRY(memory_alloc(scratch_bytes, 1, &p->scratch_block));
	p->bytes = bytes + scratch_bytes;
	RS_TRY(memory_of(&p->plain, plain));
	CALL(memory_create, &p->memory, &p->desc, DNNL.engine, p->block);
	CALL(memory_create, &p->scratch, scratch, DNNL.engine, p->scratch_block);
	return RS_OK;
}

/* Rows one after the other: a library that wants no better has its own way with a transpose, too,
 * which takes less time than making it. */
static enum rs_status
is_as_any_matrix(const dnnl_memory_desc_t *desc, const dnnl_dims_t dims, int *out)
{
	dnnl_memory_desc_t rows;

	RS_TRY(describe(&rows, dnnl_f32, (size_t)dims[0], (size_t)dims[1], (size_t)dims[1], 1));
	*out = DNNL.dnnl_memory_desc_equal(desc, &rows);
	return RS_OK;
}

static enum rs_status
packed_open(const struct narrow *w, int which, struct packed *p)
{
	const size_t n = w->shape.n, H = w->shape.H;
	dnnl_memory_desc_t plain;
	dnnl_primitive_desc_t desc;
	enum rs_status status;
	struct recipe r;
	int is_plain;

	if (which == PACKED_W)
		RS_TRY(describe(&plain, dnnl_f32, n, H, H, 1));
	else
		RS_TRY(describe(&plain, dnnl_f32, H, n, 1, H));
	RS_TRY(recipe_by_weight(w, w->shape.B, which, NULL, &r));
	RS_TRY(product_describe(&r, &desc));
	p->desc = *DNNL.dnnl_primitive_desc_query_md(desc, dnnl_query_weights_md, 0);
	DNNL.dnnl_primitive_desc_destroy(desc);
	if (w->element == 0) {
		RS_TRY(is_as_any_matrix(&p->desc, plain.dims, &is_plain));
		if (is_plain) {
			p->desc = plain;
			return RS_OK;
		}
	}
	RS_TRY(reorder_describe(&plain, &p->desc, &desc));
	status = packed_fill(p, &plain, desc);
	DNNL.dnnl_primitive_desc_destroy(desc);
	return status;
}

static void
weight_close(struct narrow *w)
{
	struct onednn_weight *o = (struct onednn_weight *)w;

	if (o == NULL)
		return;
	for (size_t i = 0; i < N_PACKED; i++)
		packed_close(&o->packed[i]);
	if (o->stream != NULL)
		DNNL.dnnl_stream_destroy(o->stream);
	free(o);
}

static enum rs_status
weight_fill(struct onednn_weight *o)
{
	onednn_one_thread();
	CALL(stream_create, &o->stream, DNNL.engine, dnnl_stream_default_flags);
	for (int i = 0; i < N_PACKED; i++) {
		RS_TRY(packed_open(&o->base, i, &o->packed[i]));
		o->base.bytes += o->packed[i].bytes;
	}
	return RS_OK;
}

static enum rs_status
weight_open(const struct narrow_set *set, const struct narrow_shape *shape, struct narrow **out)
{
	struct onednn_weight *o;
	enum rs_status status;

	RS_TRY(memory_alloc(1, sizeof(*o), &o));
	o->base = (struct narrow){ .set = set, .shape = *shape,
		.element = set == &onednn_layer_plain ? 0 : set == &onednn_layer_brain
			? sizeof(uint16_t) : sizeof(float) };
	status = weight_fill(o);
	if (status != RS_OK)
		weight_close(&o->base);
	else
		*out = &o->base;
	return status;
}

static void
weight_pack(struct narrow *w, const float *weight)
{
	struct onednn_weight *o = (struct onednn_weight *)w;

	o->weight = weight;
	onednn_one_thread();
	for (size_t i = 0; i < N_PACKED; i++) {
		struct packed *p = &o->packed[i];
		const dnnl_exec_arg_t arg[] = { { DNNL_ARG_FROM, p->plain },
			{ DNNL_ARG_TO, p->memory }, { DNNL_ARG_SCRATCHPAD, p->scratch } };

		if (p->reorder == NULL)
			continue;
		if (!put(p->plain, weight)
		    || DNNL.dnnl_primitive_execute(p->reorder, o->stream, 3, arg) != dnnl_success)
			memset(p->block, 0xff, DNNL.dnnl_memory_desc_get_size(&p->desc));
	}
}

/* ---- a lane ------------------------------------------------------------- */

static void
lane_close(struct narrow_lane *l)
{
	struct onednn_lane *o = (struct onednn_lane *)l;

	if (o == NULL)
		return;
	for (size_t i = 0; i < N_PRODUCTS; i++)
		product_close(&o->product[i]);
	if (o->stream != NULL)
		DNNL.dnnl_stream_destroy(o->stream);
	free(o);
}

static enum rs_status
open_y(struct onednn_lane *o, const struct onednn_weight *w)
{
	struct recipe r;

	RS_TRY(recipe_by_weight(&w->base, o->base.B_max, PACKED_W, &w->packed[PACKED_W].desc, &r));
	return product_open(&o->product[PRODUCT_Y], &r, &o->base.scratch_bytes);
}

static enum rs_status
open_dx(struct onednn_lane *o, const struct onednn_weight *w, int which)
{
	struct recipe r;

	RS_TRY(recipe_by_weight(
		&w->base, o->base.B_max, PACKED_WT, &w->packed[PACKED_WT].desc, &r));
	r.adds = which == PRODUCT_DX_MORE;
	return product_open(&o->product[which], &r, &o->base.scratch_bytes);
}

static enum rs_status
open_dw(struct onednn_lane *o, const struct onednn_weight *w)
{
	const size_t n = w->base.shape.n, H = w->base.shape.H, B = o->base.B_max;
	struct recipe r = { .act = KERNEL_ACT_NONE };

	RS_TRY(describe(&r.a, type_of(&w->base), n, B, 1, n));
	RS_TRY(describe(&r.b, type_of(&w->base), B, H, H, 1));
	RS_TRY(describe(&r.c, dnnl_f32, n, H, H, 1));
	return product_open(&o->product[PRODUCT_DW], &r, &o->base.scratch_bytes);
}

static enum rs_status
lane_fill(struct onednn_lane *o)
{
	const struct onednn_weight *w = (const struct onednn_weight *)o->base.narrow;

	onednn_one_thread();
	CALL(stream_create, &o->stream, DNNL.engine, dnnl_stream_default_flags);
	RS_TRY(open_y(o, w));
	RS_TRY(open_dw(o, w));
	RS_TRY(open_dx(o, w, PRODUCT_DX));
	return open_dx(o, w, PRODUCT_DX_MORE);
}

static enum rs_status
lane_open(struct narrow *w, size_t B_max, struct narrow_lane **out)
{
	struct onednn_lane *o;
	enum rs_status status;

	RS_TRY(memory_alloc(1, sizeof(*o), &o));
	o->base = (struct narrow_lane){ .narrow = w, .B_max = B_max };
	status = lane_fill(o);
	if (status != RS_OK)
		lane_close(&o->base);
	else
		*out = &o->base;
	return status;
}

/* B rows of x rounded and zeros below, as the product is always of B_max rows; x NULL: they are. */
static void
round_rows(const struct narrow_lane *l, size_t B, size_t width, const float *x, void *to)
{
	const size_t element = l->narrow->element, n = B * width;

	if (x == NULL)
		return;
	if (element == sizeof(float))
		memcpy(to, x, n * element);
	else
		kernel_round(n, x, to);
	memset((char *)to + n * element, 0, (l->B_max - B) * width * element);
}

/* W or its transpose, packed or where it is. */
static const void *
weight_of(const struct narrow *w, int which)
{
	const struct onednn_weight *const o = (const struct onednn_weight *)w;

	return o->packed[which].reorder != NULL ? o->packed[which].block : (const void *)o->weight;
}

static void
lane_forward(struct narrow_lane *l, const struct narrow_forward *f)
{
	const struct narrow_shape *s = &l->narrow->shape;
	const int is_rounded = l->narrow->element > 0;
	struct onednn_lane *o = (struct onednn_lane *)l;

	onednn_one_thread();
	if (is_rounded)
		round_rows(l, f->B, s->n, f->x, f->kept);
	product_run(&o->product[PRODUCT_Y], o->stream,
		&(struct places){ .a = is_rounded ? f->kept : f->x,
			.b = weight_of(l->narrow, PACKED_W), .bias = f->bias, .c = f->y,
			.scratch = f->scratch },
		f->B * s->H);
}

static void
lane_backward(struct narrow_lane *l, const struct narrow_backward *b)
{
	const struct narrow_shape *s = &l->narrow->shape;
	const int is_rounded = l->narrow->element > 0;
	const void *const dz = is_rounded ? b->rounded : b->dz;
	struct onednn_lane *o = (struct onednn_lane *)l;

	onednn_one_thread();
	if (is_rounded)
		round_rows(l, b->B, s->H, b->dz, b->rounded);
	product_run(&o->product[PRODUCT_DW], o->stream,
		&(struct places){ .a = is_rounded ? b->kept : b->x, .b = dz, .c = b->dw,
			.scratch = b->scratch },
		s->n * s->H);
	product_run(&o->product[b->beta == 0 ? PRODUCT_DX : PRODUCT_DX_MORE], o->stream,
		&(struct places){ .a = dz, .b = weight_of(l->narrow, PACKED_WT), .c = b->dx,
			.scratch = b->scratch },
		b->B * s->n);
}

#define LAYER \
	.open = weight_open, .close = weight_close, .pack = weight_pack, .lane_open = lane_open, \
	.lane_close = lane_close, .forward = lane_forward, .backward = lane_backward

const struct narrow_set onednn_layer_brain = { .name = "bf16 by oneDNN", LAYER };
const struct narrow_set onednn_layer_whole = { .name = "four bytes by oneDNN", LAYER };
const struct narrow_set onednn_layer_plain = { .name = "fp32 by oneDNN", LAYER };
