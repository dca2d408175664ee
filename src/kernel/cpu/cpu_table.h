/*
 * The vector kernels.  The files cpu_*.c of this folder are compiled once a
 * level, with KERNEL_LEVEL set to the level's name, and export NAME_LEVEL for
 * every row of CPU_TABLE; every other slot is that of ref.  Sums are in float
 * here; for one level and shape they are always added in the same order.
 */
#ifndef KERNEL_CPU_CPU_TABLE_H
#define KERNEL_CPU_CPU_TABLE_H

#include "kernel/kernel_table.h"

#define CPU_TABLE(ROW) \
	ROW(gemm) ROW(bias_act_forward) ROW(bias_act_backward) ROW(act_forward) ROW(act_backward) \
	ROW(dice_forward) ROW(dice_backward) ROW(add) ROW(scale) ROW(fill) \
	ROW(copy_rows) ROW(add_rows) ROW(sum_into) ROW(finite) \
	ROW(bag_forward) ROW(bag_linear_forward) ROW(numeric_forward) ROW(numeric_backward) \
	ROW(numeric_linear_forward) ROW(numeric_linear_backward) ROW(fm2_forward) ROW(fm2_backward) \
	ROW(cross_v1_forward) ROW(cross_v1_backward) ROW(cross_v2_forward) ROW(cross_v2_backward) \
	ROW(dots_forward) ROW(dots_backward) \
	ROW(batch_norm_forward) ROW(batch_norm_apply) ROW(batch_norm_backward) \
	ROW(attention_expand) ROW(attention_fold) ROW(segment_add) ROW(segment_sum) \
	ROW(segment_pool_forward) ROW(segment_pool_backward) \
	ROW(dropout) ROW(dropout_backward) \
	ROW(l2_normalize_forward) ROW(l2_normalize_backward) \
	ROW(dot_rows_forward) ROW(dot_rows_backward) \
	ROW(softmax_row) ROW(pick_forward) ROW(pick_backward) \
	ROW(dense_sgd) ROW(dense_momentum) ROW(dense_adagrad) ROW(dense_adam) ROW(dense_adamw) \
	ROW(row_sgd) ROW(row_adagrad) ROW(row_rowwise_adagrad) ROW(row_adam) ROW(row_sum)

extern const struct kernel_set kernel_cpu_avx512, kernel_cpu_avx2, kernel_cpu_baseline;

/* y = bfloat16 nearest to x, half_brain_of(); the same bits at every level. */
typedef void cpu_round(size_t n, const float *x, uint16_t *y);
cpu_round cpu_round_avx512, cpu_round_avx2, cpu_round_baseline;

#ifdef KERNEL_LEVEL
#define CPU_JOIN_(name, level) name##_##level
#define CPU_JOIN(name, level) CPU_JOIN_(name, level)
#define CPU(name) CPU_JOIN(name, KERNEL_LEVEL)
#define CPU_TEXT_(level) "cpu-" #level
#define CPU_TEXT(level) CPU_TEXT_(level)

#define ROW(name) kernel_##name CPU(name);
CPU_TABLE(ROW)
#undef ROW

/* The product in g->scratch; 0: the library is to make it, as it is empty, or has no scratch, or
 * this level has none. */
int CPU(panels)(const struct gemm_args *g);

/* The same for an operand of which many numbers are 0; 0 also if they are too few. */
int CPU(zeros)(const struct gemm_args *g);
#endif

#endif
