/*
 * How a kernel for the GPU is written, so that nvcc makes machine code of it and a C
 * compiler makes a function that tests run on the CPU, of the same text.
 *
 * A kernel NAME has a struct WORK, its arguments, and BODY(NAME, WORK) { ... }, what one
 * block of BODY_THREADS threads does: `w` the work, `block` its number, `shared` memory of
 * the block.  EACH_THREAD(t) { ... } is what each thread does; what one thread wrote,
 * another one may read only in an EACH_THREAD after a BARRIER().  All memory is behind
 * views; AT(view, i) is an element.  RUN() starts blocks, in no order.
 *
 * Emulated, views are checked, and where a GPU is emulated that their memory is its; shared
 * memory and scratch begin as NaN, a BARRIER() must be between two EACH_THREADs, and blocks
 * and threads run from first to last or from last to first: who depends on order shows.
 */
#ifndef KERNEL_CUDA_CUDA_BODY_H
#define KERNEL_CUDA_CUDA_BODY_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/kernel_table.h"
#ifdef __CUDACC__
/* Its functions are few lines each, and all are inline. */
#define inline inline __host__ __device__
#endif
#include "base/half.h"
#include "base/rng.h"
#undef inline
#ifdef __CUDACC__
#include "kernel/cuda/cuda_private.h"
#endif

#define BODY_THREADS 256u
#define BODY_TILE    1024u      /* elements of a block of ELEMENT_BODY            */
#define BODY_WARP    32u
#define BODY_CHUNKS  128u       /* most partial sums of a column                  */

struct view        { float *p;                size_t n; };
struct view_in     { const float *p;          size_t n; };
struct view_u32    { const uint32_t *p;       size_t n; };
struct view_brain  { uint16_t *p;             size_t n; };
struct view_index  { uint32_t *p;             size_t n; };
struct view_u8     { const uint8_t *p;        size_t n; };
struct view_rows   { const float *const *p;   size_t n; };
struct view_int    { int *p;                  size_t n; };
struct view_flag   { const int *p;            size_t n; };
struct view_double { double *p;               size_t n; };

static inline struct view_in
body_in(const float *p, size_t n)
{
	const struct view_in v = { p, n };

	return v;
}

static inline struct view
body_out(float *p, size_t n)
{
	const struct view v = { p, n };

	return v;
}

#ifdef __CUDACC__

#define SLOT(name)     name##_cuda
#define DEVICE         static __device__ __forceinline__
#define AT(view, i)    ((view).p[i])
#define BARRIER()      __syncthreads()
#define SCRATCH(n)     cuda_scratch(n)
#define EACH_THREAD(t) for (unsigned t = threadIdx.x, t##_once = 1; t##_once != 0; t##_once = 0)
#define BODY(name, work) \
	DEVICE void name##_body(const struct work *w, size_t block, struct view shared); \
	static __global__ void __launch_bounds__(BODY_THREADS) \
	name##_kernel(const __grid_constant__ struct work w) \
	{ \
		extern __shared__ float body_shared[]; \
		const struct view shared = { body_shared, 0 }; \
		name##_body(&w, blockIdx.x, shared); \
	} \
	DEVICE void name##_body(const struct work *w, size_t block, struct view shared)
#define RUN(name, n_blocks, n_shared, work) do { \
	const size_t blocks_ = (n_blocks); \
	if (blocks_ > 0 && cuda_is_well()) { \
		name##_kernel<<<(unsigned)blocks_, BODY_THREADS, (n_shared) * sizeof(float), \
			cuda_stream()>>>(work); \
		cuda_note(cudaGetLastError()); \
	} \
} while (0)

#else

/* Of tests/kernel/emulate.c. */
typedef void emulate_blocks(const void *work, size_t n_blocks, size_t n_shared);
void emulate_run(emulate_blocks *run, size_t n_blocks, size_t n_shared, const void *work,
	size_t bytes);
int emulate_start(void);       /* 0: something failed before, nothing is to run   */
void emulate_stop(void);
size_t emulate_index(const void *p, size_t i, size_t n, const char *file, int line);
size_t emulate_order(size_t k, size_t n);
struct view emulate_shared(size_t n);
unsigned emulate_each(const char *file, int line);
void emulate_barrier(void);
float *emulate_scratch(size_t n);
kernel_gemm gemm_column_emulated;
kernel_gemm_brain gemm_brain_column_emulated;

#define SLOT(name)     name##_emulated
#define DEVICE         static inline
#define AT(view, i)    ((view).p[emulate_index((view).p, (i), (view).n, __FILE__, __LINE__)])
#define BARRIER()      emulate_barrier()
#define SCRATCH(n)     emulate_scratch(n)
#define EACH_THREAD(t) \
	for (unsigned t##_k = emulate_each(__FILE__, __LINE__), t; t##_k < BODY_THREADS && \
		(t = (unsigned)emulate_order(t##_k, BODY_THREADS), 1); t##_k++)
#define BODY(name, work) \
	static void name##_body(const struct work *w, size_t block, struct view shared); \
	static void name##_blocks(const void *w, size_t n_blocks, size_t n_shared) \
	{ \
		for (size_t k = 0; k < n_blocks; k++) \
			name##_body(w, emulate_order(k, n_blocks), emulate_shared(n_shared)); \
	} \
	static void name##_body(const struct work *w, size_t block, struct view shared)
#define RUN(name, n_blocks, n_shared, work) \
	emulate_run(name##_blocks, (n_blocks), (n_shared), &(work), sizeof(work))

#endif

#define ROW(name, arguments) kernel_##name SLOT(name);
KERNEL_TABLE(ROW)
#undef ROW

/* i / n and i % n: 32 bits, where they are enough, cost a third of 64. */
DEVICE size_t
body_div(size_t i, size_t n)
{
	return (i | n) >> 32 == 0 ? (uint32_t)i / (uint32_t)n : i / n;
}

DEVICE size_t
body_mod(size_t i, size_t n)
{
	return (i | n) >> 32 == 0 ? (uint32_t)i % (uint32_t)n : i % n;
}

DEVICE float
body_sigmoid(float z)
{
	const float small = expf(-fabsf(z));

	return (z >= 0 ? 1 : small) / (1 + small);
}

/* --- one thread an element ------------------------------------------------------------- */

/*
 * NAME_at(w, i) for each i below w->n; a thread has four, BODY_THREADS apart, so that warps
 * read whole lines and loads are in flight together.
 */
#define ELEMENT_BODY(name, work) \
	BODY(name, work) \
	{ \
		(void)shared; \
		EACH_THREAD(t) \
			for (size_t i = block * BODY_TILE + t; i < (block + 1) * BODY_TILE \
				&& i < w->n; i += BODY_THREADS) \
				name##_at(w, i); \
	}
#define ELEMENT_RUN(name, work) RUN(name, body_count((work).n, BODY_TILE), 0, work)

static inline size_t
body_count(size_t n, size_t per_block)
{
	return (n + per_block - 1) / per_block;
}

/* Floats of B rows of n that are ld apart. */
static inline size_t
body_extent(size_t B, size_t ld, size_t n)
{
	return B == 0 ? 0 : (B - 1) * ld + n;
}

/* Occurrences behind offset [B+1], and rows that index [n] reaches, for the lengths of views:
 * both may lie on the GPU, where views have none. */
#ifdef __CUDACC__
#define body_occurrences(B, offset) 0
#define body_reach(n, index)        0
#else
static inline size_t
body_occurrences(size_t B, const uint32_t *offset)
{
	size_t n = B;

	if (offset != NULL && emulate_start()) {
		n = offset[B] - offset[0];
		emulate_stop();
	}
	return n;
}

static inline size_t
body_reach(size_t n, const uint32_t *index)
{
	size_t reach = 0;

	if (!emulate_start())
		return 0;
	for (size_t k = 0; k < n; k++)
		reach = index[k] >= reach ? index[k] + (size_t)1 : reach;
	emulate_stop();
	return reach;
}
#endif

/* The least power of two that is not below n, at most a warp. */
static inline size_t
body_lanes(size_t n)
{
	size_t lanes = 1;

	while (lanes < n && lanes < BODY_WARP)
		lanes *= 2;
	return lanes;
}

/* --- sums of columns ------------------------------------------------------------------- */

/*
 * NAME_at(w, b, h, sum) for each row b and column h of w->grid, adding to two sums, which go
 * into partial [2,n_chunks,H] when there is one.  A block has `width` columns of one chunk of
 * the rows; `BODY_THREADS / width` threads share a column and are added from first to last.
 * What is added in which order depends on B and H alone.
 */
struct column_grid {
	size_t B, H, width, n_chunks, rows;    /* of a chunk                               */
	struct view partial;
};

static inline struct column_grid
column_grid_of(size_t B, size_t H, float *partial)
{
	const size_t width = body_lanes(H), wanted = body_count(B, 128);
	const size_t n_chunks = wanted == 0 ? 1 : wanted > BODY_CHUNKS ? BODY_CHUNKS : wanted;
	const struct column_grid g = {
		.B = B, .H = H, .width = width, .n_chunks = n_chunks,
		.rows = body_count(B, n_chunks),
		.partial = { partial, 2 * n_chunks * H },
	};

	return g;
}

/* Floats of partial that any number of rows may need. */
static inline size_t
column_partial(size_t H)
{
	return 2 * BODY_CHUNKS * H;
}

/* The sums of the threads of column c, which are w->grid.width apart. */
DEVICE float
column_total(struct view shared, size_t from, size_t c, size_t width)
{
	float total = 0;

	for (size_t k = c; k < BODY_THREADS; k += width)
		total += AT(shared, from + k);
	return total;
}

DEVICE void
column_store(const struct column_grid *g, size_t chunk, size_t c, size_t h, struct view shared)
{
	if (g->partial.p == NULL || c >= g->width || h >= g->H)
		return;
	AT(g->partial, chunk * g->H + h) = column_total(shared, 0, c, g->width);
	AT(g->partial, (g->n_chunks + chunk) * g->H + h) =
		column_total(shared, BODY_THREADS, c, g->width);
}

#define COLUMN_BODY(name, work) \
	BODY(name, work) \
	{ \
		const struct column_grid *const g = &w->grid; \
		const size_t tiles = (g->H + g->width - 1) / g->width; \
		const size_t first = block % tiles * g->width, chunk = block / tiles; \
		const size_t end = (chunk + 1) * g->rows < g->B ? (chunk + 1) * g->rows : g->B; \
		EACH_THREAD(t) { \
			const size_t h = first + t % g->width; \
			float sum[2] = { 0, 0 }; \
			if (h < g->H) \
				for (size_t b = chunk * g->rows + t / g->width; b < end; \
					b += BODY_THREADS / g->width) \
					name##_at(w, b, h, sum); \
			AT(shared, t) = sum[0]; \
			AT(shared, BODY_THREADS + t) = sum[1]; \
		} \
		BARRIER(); \
		EACH_THREAD(t) \
			column_store(g, chunk, t, first + t, shared); \
	}
#define COLUMN_RUN(name, work) \
	RUN(name, body_count((work).grid.H, (work).grid.width) * (work).grid.n_chunks, \
		2 * BODY_THREADS, work)

/* The sums of column c of a block of column_finish, over chunks. */
struct column_finish_work {
	struct column_grid grid;
	struct view out[2];            /* [H] or NULL                                     */
	struct view_double loss;       /* [H] or NULL: sum 0                              */
	int is_added;                  /* to what out and loss hold                       */
};

DEVICE float
column_chunks(const struct column_grid *g, size_t which, size_t first, size_t step, size_t h)
{
	float sum = 0;

	for (size_t chunk = first; chunk < g->n_chunks && h < g->H; chunk += step)
		sum += AT(g->partial, (which * g->n_chunks + chunk) * g->H + h);
	return sum;
}

/* Reads 8 bytes a chunk and column, a hundredth of what made them. */
BODY(column_finish, column_finish_work)
{
	const struct column_grid *const g = &w->grid;
	const size_t first = block * g->width;

	EACH_THREAD(t)
		for (size_t which = 0; which < 2; which++)
			AT(shared, which * BODY_THREADS + t) = column_chunks(g, which,
				t / g->width, BODY_THREADS / g->width, first + t % g->width);
	BARRIER();
	EACH_THREAD(t) {
		const size_t h = first + t;
		for (size_t which = 0; which < 2 && t < g->width && h < g->H; which++) {
			const float sum = column_total(shared, which * BODY_THREADS, t, g->width);
			if (w->out[which].p != NULL)
				AT(w->out[which], h) = sum
					+ (w->is_added ? AT(w->out[which], h) : 0);
			if (which == 0 && w->loss.p != NULL)
				AT(w->loss, h) += sum;
		}
	}
}

/* out0, out1 [H] may be NULL. */
static inline void
column_end(const struct column_grid *g, float *out0, float *out1, int is_added)
{
	const struct column_finish_work w = {
		.grid = *g, .out = { { out0, g->H }, { out1, g->H } }, .loss = { NULL, 0 },
		.is_added = is_added,
	};

	RUN(column_finish, body_count(g->H, g->width), 2 * BODY_THREADS, w);
}

/* --- sums of rows ---------------------------------------------------------------------- */

/*
 * For each row r of w->grid: NAME_term(w, r, i, sum) for each i below its width, adding to two
 * sums, then NAME_end(w, r, i, total) for each i again.  `lanes` threads share a row and are
 * added from first to last.  What both read comes from the cache the second time.
 */
struct row_grid { size_t rows, width, lanes; };

static inline struct row_grid
row_grid_of(size_t rows, size_t width)
{
	const struct row_grid g = { rows, width, body_lanes(width) };

	return g;
}

DEVICE float
row_total(struct view shared, size_t from, size_t lanes)
{
	float total = 0;

	for (size_t k = 0; k < lanes; k++)
		total += AT(shared, from + k);
	return total;
}

#define ROW_BODY(name, work) \
	BODY(name, work) \
	{ \
		const struct row_grid *const g = &w->grid; \
		const size_t first = block * (BODY_THREADS / g->lanes); \
		EACH_THREAD(t) { \
			const size_t r = first + t / g->lanes; \
			float sum[2] = { 0, 0 }; \
			if (r < g->rows) \
				for (size_t i = t % g->lanes; i < g->width; i += g->lanes) \
					name##_term(w, r, i, sum); \
			AT(shared, t) = sum[0]; \
			AT(shared, BODY_THREADS + t) = sum[1]; \
		} \
		BARRIER(); \
		EACH_THREAD(t) { \
			const size_t r = first + t / g->lanes, from = t / g->lanes * g->lanes; \
			const float total[2] = { \
				row_total(shared, from, g->lanes), \
				row_total(shared, BODY_THREADS + from, g->lanes) \
			}; \
			if (r < g->rows) \
				for (size_t i = t % g->lanes; i < g->width; i += g->lanes) \
					name##_end(w, r, i, total); \
		} \
	}
#define ROW_RUN(name, work) \
	RUN(name, body_count((work).grid.rows, BODY_THREADS / (work).grid.lanes), \
		2 * BODY_THREADS, work)

#endif
