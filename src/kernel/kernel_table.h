/*
 * The kernels: each once, with its formula and shapes.  `ref` is plain C,
 * complete, and the specification (sums in double); `cpu` overrides slots with
 * OpenBLAS and vector code, compiled for AVX-512, AVX2 and baseline and picked
 * at run time.  A kernel never allocates and touches only what its arguments
 * name.  Backward kernels ADD into dx unless the row says "writes".
 * Matrices are row-major; ld is the distance between rows in floats.
 */
#ifndef KERNEL_KERNEL_TABLE_H
#define KERNEL_KERNEL_TABLE_H

#include <stddef.h>
#include <stdint.h>

enum kernel_activation {           /* same order as enum activation of the spec   */
	KERNEL_ACT_NONE, KERNEL_ACT_RELU, KERNEL_ACT_PRELU, KERNEL_ACT_DICE,
	KERNEL_ACT_TANH, KERNEL_ACT_SIGMOID, KERNEL_ACT_GELU
};

#define KERNEL_GEMM_SCRATCH ((size_t)(256 << 10))   /* floats                     */

/* C[m,n] = alpha op(A) op(B) + beta C */
struct gemm_args {
	int    transpose_a, transpose_b;
	size_t m, n, k;
	float  alpha, beta;
	const float *a; size_t lda;
	const float *b; size_t ldb;
	float *c;       size_t ldc;
	int    is_tf32;             /* a GPU may take 10 bits of the mantissa of A and B */
	float *scratch;             /* [KERNEL_GEMM_SCRATCH], aligned to 64 bytes, for the
	                               cpu's own products, which AVX2 has; what a zero would
	                               multiply they may pass over.  NULL: OpenBLAS's  */
};

enum kernel_combiner {             /* same order as enum combiner of the spec     */
	KERNEL_SUM, KERNEL_MEAN, KERNEL_SQRTN, KERNEL_MAX, KERNEL_LAST
};

/* Bags: row b pools occurrences offset[b]-offset[0] .. offset[b+1]-offset[0];
 * offset NULL: one each.  scale is the factor of each occurrence, NULL: 1. */
struct bag_args {
	size_t B, D;
	const float *const *row;    /* [N] borrowed embedding rows                   */
	const uint32_t *offset;     /* [B+1] or NULL                                 */
	const float *scale;         /* [N] or NULL                                   */
	float *y; size_t ldy;       /* [B,D]                                         */
};

/* Positions [begin,end) of the histories of B rows: those of row b are
 * offset[b]-offset[0] .. offset[b+1]-offset[0].  Arrays by position start at
 * position begin, arrays by row at row 0. */
struct segment_args {
	size_t B, begin, end;
	const uint32_t *offset;     /* [B+1] or NULL: one each                       */
};

/* K numeric columns: x[b*ldx+k], missing likewise or NULL (none is missing). */
struct numeric_args {
	size_t B, K, D;
	const float   *x;
	const uint8_t *missing;
	size_t ldx;
};

/* Constants of one optimizer step; rate already scheduled. */
struct optimizer_args {
	float rate, momentum, beta1, beta2, epsilon, weight_decay;
	float correction1, correction2;   /* 1 - beta^t (dense Adam)                 */
};

/* Constants of one row-optimizer step. */
struct row_args {
	size_t D;
	float  rate, epsilon, beta1, beta2, l1, l2;
	float  ftrl_beta, ftrl_l1, ftrl_l2, ftrl_power;
};

/* What a step does to the rows of a table: n occurrences, that at place i is of row[i] and has
 * the gradient scale[i] grad[i][0..D). */
#define KERNEL_ROWS_CHUNK 64       /* of one row, that are summed on the way      */
#define KERNEL_ROWS_TILE 4096
#define KERNEL_ROWS_DIGITS 32
struct rows_args {
	size_t n, n_rows, stride;   /* stride: floats of a row, its slots behind D    */
	uint32_t *row;              /* [n] below n_rows                               */
	uint32_t *place;            /* [n]                                            */
	uint32_t *scratch;          /* [kernel_rows_scratch(n)]                       */
	const float *const *grad;   /* [n]                                            */
	const float *scale;         /* [n] or NULL: 1                                 */
	float *partial;             /* [n / KERNEL_ROWS_CHUNK + 1,D]                  */
	float *table;               /* [n_rows,stride]                                */
	struct row_args args;
};

/* Another row and place, counts of digits by tile, and sums of these. */
static inline size_t
kernel_rows_scratch(size_t n)
{
	return 2 * n + KERNEL_ROWS_DIGITS * (n / KERNEL_ROWS_TILE + 1) + 256;
}

#define KERNEL_TABLE(ROW) \
	/* dense arithmetic */ \
	ROW(gemm,                (const struct gemm_args *a)) \
	/* y[b,:] = the bfloat16 nearest to x[b,:], half_brain_of() */ \
	ROW(round_rows,          (size_t B, size_t n, const float *x, size_t ldx, uint16_t *y, \
		size_t ldy)) \
	/* the product of shape with op(A), op(B) of bfloat16, sums of floats; a, b stand for \
	 * shape->a, shape->b, which are not looked at */ \
	ROW(gemm_brain,          (const struct gemm_args *shape, const uint16_t *a, \
		const uint16_t *b)) \
	/* y[b,h] = act(y[b,h] + bias[h]); none relu tanh sigmoid; bias NULL: 0 */ \
	ROW(bias_act_forward,    (size_t B, size_t H, float *y, const float *bias, int act)) \
	/* dz = dy * act'(.) from the OUTPUT y (relu tanh sigmoid none), writes dz (may be dy); \
	 * dbias[h] += sum_b dz, dbias may be NULL */ \
	ROW(bias_act_backward,   (size_t B, size_t H, const float *y, const float *dy, int act, \
		float *dz, float *dbias)) \
	/* activations from their input z (all but dice): y = act(z) ; \
	 * dz += dy act'(z), dslope += (prelu) */ \
	ROW(act_forward,         (size_t B, size_t H, const float *z, int act, const float *slope, \
		float *y)) \
	ROW(act_backward,        (size_t B, size_t H, const float *z, const float *dy, int act, \
		const float *slope, float *dz, float *dslope)) \
	/* Dice, Zhou 2018 eq. (3): y = z (p + (1-p) alpha[h]), p = sigmoid(zhat), \
	 * zhat = batch-normalised z; dz += the direct part, dzhat WRITTEN, dalpha += */ \
	ROW(dice_forward,        (size_t B, size_t H, const float *z, const float *zhat, \
		const float *alpha, float *y)) \
	ROW(dice_backward,       (size_t B, size_t H, const float *z, const float *zhat, \
		const float *alpha, const float *dy, float *dz, float *dzhat, float *dalpha)) \
	ROW(add,                 (size_t n, float *y, const float *x))                  /* y += x */ \
	ROW(scale,               (size_t n, float *y, float factor))                    /* y *= f */ \
	ROW(fill,                (size_t n, float *y, float value))                     /* y = v */ \
	/* y[b,:] = x[b,:] ; y[b,:] += x[b,:] */ \
	ROW(copy_rows,           (size_t B, size_t n, const float *x, size_t ldx, float *y, \
		size_t ldy)) \
	ROW(add_rows,            (size_t B, size_t n, const float *x, size_t ldx, float *y, \
		size_t ldy)) \
	/* *y = scale sum_i a_i b_i; b NULL: 1 */ \
	ROW(dot,                 (size_t n, const float *a, const float *b, float scale, float *y)) \
	/* embeddings */ \
	/* scale[i] = weight[i] x {1, 1/sum of weights, 1/sqrt(sum of squares), 1, 1/sum of \
	 * weights} over the bag of i; weight NULL: 1 */ \
	ROW(bag_scale,           (size_t B, const uint32_t *offset, const float *weight, \
		int combiner, float *scale)) \
	/* y[b,:] = sum over the bag of scale row[:]; an empty bag gives 0 */ \
	ROW(bag_forward,         (const struct bag_args *a)) \
	/* y[b,d] = max over the bag of scale row[d]; backward WRITES grad [N,D]: dy where the \
	 * first maximum was, else 0 */ \
	ROW(bag_max_forward,     (const struct bag_args *a)) \
	ROW(bag_max_backward,    (const struct bag_args *a, const float *dy, size_t lddy, \
		float *grad)) \
	/* y[b] += sum over the bag of scale row[0]  (first-order weights, D = 1) */ \
	ROW(bag_linear_forward,  (const struct bag_args *a)) \
	/* pairs inside a bag, x = a->y its sum: y[b] += 1/2 sum_d (x^2 - sum_i (scale_i row_i)^2); \
	 * backward adds dy[b] x into dx, WRITES grad_i = -dy[b] scale_i row_i, scale_i to come */ \
	ROW(bag_pairs_forward,   (const struct bag_args *a, float *y)) \
	ROW(bag_pairs_backward,  (const struct bag_args *a, const float *dy, float *dx, \
		size_t lddx, float *grad)) \
	/* grad_i += dy[b,:] for each i of the bag */ \
	ROW(bag_add,             (const struct bag_args *a, const float *dy, size_t lddy, \
		float *grad)) \
	/* histories: i a position, b its row.  The attention unit, Zhou 2018: \
	 * x[i,:] = [k_i, k_i * q_b], x [n,2D], k [n,D], q [B,D]; fold is its backward: \
	 * dk_i += dx_i[0..D) + q_b * dx_i[D..2D), dq_b += sum_i k_i * dx_i[D..2D) */ \
	ROW(attention_expand,    (const struct segment_args *s, size_t D, const float *q, \
		const float *k, float *x)) \
	ROW(attention_fold,      (const struct segment_args *s, size_t D, const float *q, \
		const float *k, const float *dx, float *dk, float *dq)) \
	/* of its weight w [4,n], n = D H: u [2,n] = w0 + w2, w3 ; v [n] = w1 - w2 ; and of their \
	 * gradients: dw = du0, dv, du0 - dv, du1 */ \
	ROW(attention_split,     (size_t n, const float *w, float *u, float *v)) \
	ROW(attention_join,      (size_t n, const float *du, const float *dv, float *dw)) \
	/* z[i,:] += t[b,:] ; t[b,:] += sum_i z[i,:] */ \
	ROW(segment_add,         (const struct segment_args *s, size_t H, const float *t, float *z)) \
	ROW(segment_sum,         (const struct segment_args *s, size_t H, const float *z, float *t)) \
	/* y_i = e^a_i / sum over the row of e^a ; da_i += y_i (dy_i - sum over the row of y dy); \
	 * whole rows only */ \
	ROW(segment_softmax_forward,  (const struct segment_args *s, const float *a, float *y)) \
	ROW(segment_softmax_backward, (const struct segment_args *s, const float *y, \
		const float *dy, float *da)) \
	/* y[b,:] = sum_i a_i k_i, 0 for an empty history; da_i += dy_b . k_i, \
	 * dk_i = beta dk_i + a_i dy_b; whole rows only */ \
	ROW(segment_pool_forward,  (const struct segment_args *s, size_t D, const float *a, \
		const float *k, float *y)) \
	ROW(segment_pool_backward, (const struct segment_args *s, size_t D, const float *a, \
		const float *k, const float *dy, float beta, float *da, float *dk)) \
	/* numeric fields: y[b,k,:] = x[b,k] V[k,:], or U[k,:] where missing; V, U [K,D] */ \
	ROW(numeric_forward,     (const struct numeric_args *a, const float *v, const float *u, \
		float *y, size_t ldy)) \
	ROW(numeric_backward,    (const struct numeric_args *a, const float *dy, size_t lddy, \
		float *dv, float *du)) \
	/* their first-order weights (D = 1): y[b] += sum_k x[b,k] w[k], or u[k] where missing */ \
	ROW(numeric_linear_forward,  (const struct numeric_args *a, const float *w, const float *u, \
		float *y)) \
	ROW(numeric_linear_backward, (const struct numeric_args *a, const float *dy, float *dw, \
		float *du)) \
	/* FM second order, Rendle 2010: s[b,:] = sum_f x[b,f,:] (kept for backward), \
	 * y[b] = 1/2 sum_d (s^2 - sum_f x^2) ; dx[b,f,:] += dy[b] (s[b,:] - x[b,f,:]) */ \
	ROW(fm2_forward,         (size_t B, size_t F, size_t D, const float *x, size_t ldx, \
		float *s, float *y)) \
	ROW(fm2_backward,        (size_t B, size_t F, size_t D, const float *x, size_t ldx, \
		const float *s, const float *dy, float *dx, size_t lddx)) \
	/* cross layer v1, Wang 2017 eq. (3): s[b] = <x[b,:], w> (kept), y = x0 s + bias + x ; \
	 * dx0 += dy s, dx += dy + w <dy, x0>, dw += sum_b x <dy, x0>, dbias += sum_b dy; \
	 * dx may be dx0 */ \
	ROW(cross_v1_forward,    (size_t B, size_t H, const float *x0, const float *x, \
		const float *w, const float *bias, float *s, float *y)) \
	ROW(cross_v1_backward,   (size_t B, size_t H, const float *x0, const float *x, \
		const float *w, const float *s, const float *dy, float *dx0, float *dx, float *dw, \
		float *dbias)) \
	/* cross layer v2, Wang 2021 eq. (1), around its product z: y = x0 (z + bias) + x ; \
	 * dx0 += dy (z + bias), dx += dy, dbias += sum_b dz, dz = dy x0 WRITTEN (may be dy); \
	 * dx may be dx0 */ \
	ROW(cross_v2_forward,    (size_t B, size_t H, const float *x0, const float *x, \
		const float *z, const float *bias, float *y)) \
	ROW(cross_v2_backward,   (size_t B, size_t H, const float *x0, const float *z, \
		const float *bias, const float *dy, float *dz, float *dx0, float *dx, \
		float *dbias)) \
	/* gate over E experts of R units: p[b,:] = softmax(logit[b,:]) (kept), \
	 * y[b,e,:] = p[b,e] t[b,e,:] ; dlogit +=, dt += */ \
	ROW(gate_forward,        (size_t B, size_t E, size_t R, const float *t, const float *logit, \
		float *p, float *y)) \
	ROW(gate_backward,       (size_t B, size_t E, size_t R, const float *t, const float *p, \
		const float *dy, float *dt, float *dlogit)) \
	/* pairwise dots, Naumov 2019: y[b, i(i-1)/2 + j] = <x[b,i,:], x[b,j,:]>, j < i < F */ \
	ROW(dots_forward,        (size_t B, size_t F, size_t D, const float *x, float *y)) \
	ROW(dots_backward,       (size_t B, size_t F, size_t D, const float *x, const float *dy, \
		float *dx)) \
	/* losses: scale multiplies the gradient; *loss += sum_b weight * l ; p may be NULL */ \
	ROW(logloss,             (size_t B, const float *z, const float *label, \
		const float *weight, float scale, float *dz, float *p, double *loss)) \
	ROW(mse,                 (size_t B, const float *z, const float *label, \
		const float *weight, float scale, float *dz, double *loss)) \
	/* batch norm over the slot: xhat = (x-mean)/sqrt(var+eps), y = gamma xhat + beta \
	 * (NULL: 1, 0); y NULL: xhat only; \
	 * backward adds into dx and WRITES dgamma, dbeta (never NULL) */ \
	ROW(batch_norm_forward,  (size_t B, size_t H, const float *x, const float *gamma, \
		const float *beta, float epsilon, float *xhat, float *y, float *mean, float *var, \
		float *rstd)) \
	ROW(batch_norm_apply,    (size_t B, size_t H, const float *x, const float *gamma, \
		const float *beta, const float *mean, const float *var, float epsilon, float *y)) \
	ROW(batch_norm_backward, (size_t B, size_t H, const float *xhat, const float *rstd, \
		const float *gamma, const float *dy, float *dx, float *dgamma, float *dbeta)) \
	/* inverted dropout; unit (row0+b, h) is kept when rng_u64(key, (row0+b)*H+h) >> 40 is at \
	 * least p 2^24; the mask is recomputed backward */ \
	ROW(dropout,             (size_t B, size_t H, uint64_t key, uint64_t row0, float p, \
		const float *x, float *y)) \
	ROW(dropout_backward,    (size_t B, size_t H, uint64_t key, uint64_t row0, float p, \
		const float *dy, float *dx)) \
	/* y[b,:] = x[b,:] inverse[b], inverse = 1 / |x[b,:]|, 0 for a row of zeros; \
	 * dx[b,:] += inverse (dy - y (y.dy)) */ \
	ROW(l2_normalize_forward,  (size_t B, size_t D, const float *x, float *y, \
		float *inverse)) \
	ROW(l2_normalize_backward, (size_t B, size_t D, const float *y, const float *inverse, \
		const float *dy, float *dx)) \
	/* y[b] = scale u[b,:].v[b,:] ; du += scale dy[b] v, dv += scale dy[b] u */ \
	ROW(dot_rows_forward,    (size_t B, size_t D, const float *u, const float *v, \
		float scale, float *y)) \
	ROW(dot_rows_backward,   (size_t B, size_t D, const float *u, const float *v, \
		float scale, const float *dy, float *du, float *dv)) \
	/* one row of a softmax: s[j] += bias[j] (NULL: 0), *max = the largest of them and of \
	 * *max as it came, s[j] = e^(s[j] - *max), *sum = sum of s */ \
	ROW(softmax_row,         (size_t n, float *s, const float *bias, float *max, \
		float *sum)) \
	/* rows index[k] of V [.,D] against one vector u: z[k] = scale u.v ; \
	 * du += scale sum_k dz[k] v, dv[index[k]] += scale dz[k] u, in order */ \
	ROW(pick_forward,        (size_t n, size_t D, const float *u, const float *v, \
		const uint32_t *index, float scale, float *z)) \
	ROW(pick_backward,       (size_t n, size_t D, const float *u, const float *v, \
		const uint32_t *index, float scale, const float *dz, float *du, float *dv)) \
	/* reduction and guard: returns through *bad 1 when any |x| is NaN, Inf or above 2^100 */ \
	ROW(sum_into,            (size_t n, float *y, const float *x, int *bad))        /* y += x, \
		checked */ \
	ROW(finite,              (size_t n, const float *x, int *bad)) \
	/* *y = NaN where *bad is not 0, so that who sums y on sees it */ \
	ROW(spoil,               (float *y, const int *bad)) \
	/* dense optimizers over a flat range */ \
	ROW(dense_sgd,           (size_t n, float *w, const float *g, float *m, float *v, \
		const struct optimizer_args *a)) \
	ROW(dense_momentum,      (size_t n, float *w, const float *g, float *m, float *v, \
		const struct optimizer_args *a)) \
	ROW(dense_adagrad,       (size_t n, float *w, const float *g, float *m, float *v, \
		const struct optimizer_args *a)) \
	ROW(dense_adam,          (size_t n, float *w, const float *g, float *m, float *v, \
		const struct optimizer_args *a)) \
	ROW(dense_adamw,         (size_t n, float *w, const float *g, float *m, float *v, \
		const struct optimizer_args *a)) \
	/* row optimizers: one row, g [D] merged, slots beside the weights (embed/row_optimizer.h) */ \
	ROW(row_sgd,             (float *w, float *slot, const float *g, const struct row_args *a)) \
	ROW(row_adagrad,         (float *w, float *slot, const float *g, const struct row_args *a)) \
	ROW(row_rowwise_adagrad, (float *w, float *slot, const float *g, const struct row_args *a)) \
	ROW(row_adam,            (float *w, float *slot, const float *g, const struct row_args *a)) \
	ROW(row_ftrl,            (float *w, float *slot, const float *g, const struct row_args *a)) \
	/* g[D] = sum_i scale[i] * grad[i][:] in order; scale NULL: 1 */ \
	ROW(row_sum,             (size_t D, size_t n, const float *const *grad, const float *scale, \
		float *g)) \
	/* many rows at once: row is sorted, place[k] says where the k-th was, equal ones in order */ \
	ROW(rows_sort,           (const struct rows_args *a)) \
	/* then: the occurrences of each row are summed, and its optimizer runs once */ \
	ROW(rows_sgd,            (const struct rows_args *a)) \
	ROW(rows_adagrad,        (const struct rows_args *a)) \
	ROW(rows_rowwise_adagrad, (const struct rows_args *a)) \
	ROW(rows_adam,           (const struct rows_args *a)) \
	ROW(rows_ftrl,           (const struct rows_args *a))

#define ROW(name, arguments) typedef void kernel_##name arguments;
KERNEL_TABLE(ROW)
#undef ROW

struct kernel_set {
	const char *name;          /* "ref", "cpu-avx512", ...                        */
#define ROW(name, arguments) kernel_##name *name;
	KERNEL_TABLE(ROW)
#undef ROW
};

#endif
