/* The matrix product through OpenBLAS. */
#include "kernel/cpu/cpu_gemm.h"

#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

/* What openblas_get_parallel() returns. */
static const char *const build_name[] = { "serial", "pthread", "OpenMP" };
enum { N_BUILDS = 3, BUILD_OPENMP = 2 };

static char description[160];

/* Of builds that hold kernels for many processors; absent in others. */
extern void gotoblas_dynamic_init(void) __attribute__((weak));
extern void gotoblas_dynamic_quit(void) __attribute__((weak));

/* A processor younger than the library gets kernels of 2004 ("Prescott"), at a
 * fifth of the speed: name the newest kind it can run and let the library choose
 * again.  A choice of the user's (OPENBLAS_CORETYPE) stays. */
static void
choose_core(void)
{
	const char *const core = __builtin_cpu_supports("avx512vl") ? "SkylakeX"
	    : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? "Haswell" : NULL;

	if (core == NULL || gotoblas_dynamic_init == NULL || gotoblas_dynamic_quit == NULL
	    || strcmp(openblas_get_corename(), "Prescott") != 0
	    || setenv("OPENBLAS_CORETYPE", core, 0) != 0)
		return;
	gotoblas_dynamic_quit();
	gotoblas_dynamic_init();
}

void
gemm_cpu_start(void)
{
	const int build = openblas_get_parallel();
	char version[64] = "OpenBLAS";

	choose_core();
	openblas_set_num_threads(1);
	if (build == BUILD_OPENMP)
		log_warn("this OpenBLAS is an OpenMP build; several training threads will hardly be "
			"faster than one (Debian: install libopenblas0-pthread)");
	sscanf(openblas_get_config(), "%31s %31[^ ]", version, version + 32);
	snprintf(description, sizeof(description), "%s %s %s, 1 thread, %s build", version, version + 32,
		openblas_get_corename(), build >= 0 && build < N_BUILDS ? build_name[build] : "unknown");
}

const char *
gemm_cpu_description(void)
{
	return description;
}

/* One column of B: the library's matrix-vector product needs no packing. */
static void
gemv(const struct gemm_args *a)
{
	const int rows = (int)(a->transpose_a ? a->k : a->m), columns = (int)(a->transpose_a ? a->m : a->k);
	const int step = a->transpose_b ? 1 : (int)a->ldb;

	cblas_sgemv(CblasRowMajor, a->transpose_a ? CblasTrans : CblasNoTrans, rows, columns, a->alpha,
		a->a, (int)a->lda, a->b, step, a->beta, a->c, (int)a->ldc);
}

/* k = 1: C = alpha a b^T + beta C, one pass over C. */
static void
outer(const struct gemm_args *a)
{
	const size_t step_a = a->transpose_a ? 1 : a->lda, step_b = a->transpose_b ? a->ldb : 1;

	for (size_t i = 0; i < a->m; i++) {
		const float x = a->alpha * a->a[i * step_a];
		float *c = a->c + i * a->ldc;
		for (size_t j = 0; j < a->n; j++)
			c[j] = x * a->b[j * step_b] + (a->beta == 0 ? 0 : a->beta * c[j]);
	}
}

void
gemm_cpu(const struct gemm_args *a)
{
	if (a->k == 1) {
		outer(a);
		return;
	}
	if (a->n == 1) {
		gemv(a);
		return;
	}
	cblas_sgemm(CblasRowMajor, a->transpose_a ? CblasTrans : CblasNoTrans,
		a->transpose_b ? CblasTrans : CblasNoTrans, (int)a->m, (int)a->n, (int)a->k, a->alpha, a->a,
		(int)a->lda, a->b, (int)a->ldb, a->beta, a->c, (int)a->ldc);
}
